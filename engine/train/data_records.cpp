#include "train/data_records.h"

#include <algorithm>

#include "chat/text.h"

namespace lapidary::train {
namespace {

uint64_t breaks_in(std::string_view text) {
    return uint64_t(std::ranges::count(text, '\n'));
}

bool is_blank_line(std::string_view line) {
    return std::ranges::all_of(line, chat::is_blank);
}

std::string_view without_break(std::string_view line) {
    if (line.ends_with('\n')) line.remove_suffix(1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

// How long the line is that the text begins with, its end included.
size_t line_length(std::string_view text) {
    const size_t end = text.find('\n');
    return end == std::string_view::npos ? text.size() : end + 1;
}

}  // namespace

std::string_view LineReader::take_line() {
    const std::string_view line = rest_.substr(0, line_length(rest_));
    rest_.remove_prefix(line.size());
    if (line.ends_with('\n')) ++line_;
    return line;
}

std::optional<Record> LineReader::next() {
    while (!rest_.empty()) {
        const uint64_t line = line_;
        std::string_view text = take_line();
        if (is_blank_line(text)) continue;
        if (!with_breaks_) return Record{line, without_break(text)};
        while (!rest_.empty() && is_blank_line(rest_.substr(0, line_length(rest_)))) {
            text = {text.data(), text.size() + take_line().size()};
        }
        return Record{line, text};
    }
    return std::nullopt;
}

std::optional<Record> ParagraphReader::next() {
    auto first = lines_.next();
    if (!first) return std::nullopt;
    Record paragraph = *first;
    const auto offset = [&](std::string_view part) { return size_t(part.data() - text_.data()); };
    const size_t begin = offset(first->text);
    size_t end = begin + first->text.size();
    // Blank lines stay with the line before them: a line that has any ends the paragraph.
    while (breaks_in(first->text) < 2) {
        first = lines_.next();
        if (!first) break;
        end = offset(first->text) + first->text.size();
    }
    paragraph.text = text_.substr(begin, end - begin);
    paragraph.text = chat::trim(paragraph.text);
    return paragraph;
}

void ItemReader::take(size_t bytes) {
    line_ += breaks_in(rest_.substr(0, bytes));
    rest_.remove_prefix(bytes);
}

void ItemReader::skip_blank() {
    size_t blank = 0;
    while (blank < rest_.size() && chat::is_blank(rest_[blank])) ++blank;
    take(blank);
}

Result<Record> ItemReader::stop(std::string_view why) {
    at_ = At::end;
    return fail(Code::bad_file, "{}", why);
}

std::optional<Result<Record>> ItemReader::next() {
    if (at_ == At::end) return std::nullopt;
    skip_blank();
    if (at_ == At::start) {
        if (!rest_.starts_with('[')) return stop("a JSON list begins with '['");
        take(1);
        at_ = At::item;
        skip_blank();
    }
    if (rest_.starts_with(']')) {
        take(1);
        skip_blank();
        if (!rest_.empty()) return stop("something follows the end of the list");
        at_ = At::end;
        return std::nullopt;
    }
    size_t depth = 0;
    bool in_string = false;
    size_t size = 0;
    for (; size < rest_.size(); ++size) {
        const char c = rest_[size];
        if (in_string) {
            if (c == '\\') ++size;
            if (c == '"') in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            ++depth;
        } else if (depth > 0 && (c == '}' || c == ']')) {
            --depth;
        } else if (depth == 0 && (c == ',' || c == ']')) {
            break;
        }
    }
    if (size >= rest_.size())
        return stop("the list is never closed: its ']' is missing, or a quote or brace before it");
    const Record item{line_, chat::trim(rest_.substr(0, size))};
    take(rest_[size] == ',' ? size + 1 : size);
    return item;
}

void CsvReader::take(size_t bytes) {
    line_ += breaks_in(rest_.substr(0, bytes));
    rest_.remove_prefix(bytes);
}

void CsvReader::skip_line() {
    take(line_length(rest_));
}

// The next field and nothing behind it.
Result<std::string> CsvReader::field(std::string_view& rest) const {
    std::string out;
    if (!rest.starts_with('"')) {
        const char ends[] = {separator_, '\n', '\0'};
        const std::string_view text = rest.substr(0, rest.find_first_of(ends));
        rest.remove_prefix(text.size());
        // The break may have two characters; the first then looks like the field's last.
        const bool last = rest.empty() || rest.starts_with('\n');
        return std::string(last && text.ends_with('\r') ? text.substr(0, text.size() - 1) : text);
    }
    rest.remove_prefix(1);
    while (true) {
        const size_t quote = rest.find('"');
        if (quote == std::string_view::npos) {
            return fail(Code::bad_file, "a quoted field is never closed: its second '\"' is missing");
        }
        if (out.size() + quote > kMaxRecordBytes) {
            return fail(Code::limit, "a quoted field is longer than {}: is a quote missing?",
                        format_bytes(kMaxRecordBytes));
        }
        out += rest.substr(0, quote);
        rest.remove_prefix(quote + 1);
        if (!rest.starts_with('"')) break;
        out += '"';
        rest.remove_prefix(1);
    }
    if (rest.starts_with("\r\n")) rest.remove_prefix(1);
    if (!rest.empty() && rest[0] != separator_ && rest[0] != '\n') {
        return fail(Code::bad_file, "something follows the end of a quoted field: a quote inside one is written twice");
    }
    return out;
}

std::optional<Result<CsvRow>> CsvReader::next() {
    while (!rest_.empty() && is_blank_line(rest_.substr(0, line_length(rest_))) && separator_ != '\t') skip_line();
    while (rest_.starts_with('\n') || rest_.starts_with("\r\n")) skip_line();
    if (rest_.empty()) return std::nullopt;
    row_line_ = line_;
    CsvRow row{.line = line_, .fields = {}};
    std::string_view rest = rest_;
    while (true) {
        if (row.fields.size() == kMaxColumns) {
            skip_line();
            return fail(Code::limit, "there are more than {} columns", kMaxColumns);
        }
        auto value = field(rest);
        if (!value) {
            // Where the field should have ended nobody knows: the next line is the best place to go on.
            skip_line();
            return std::unexpected(std::move(value).error());
        }
        row.fields.push_back(*std::move(value));
        const bool more = rest.starts_with(separator_);
        if (!rest.empty()) rest.remove_prefix(1);
        if (!more) break;
        if (rest.empty()) {
            row.fields.emplace_back();
            break;
        }
    }
    take(rest_.size() - rest.size());
    return row;
}

}  // namespace lapidary::train

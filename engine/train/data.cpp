#include "train/data.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "base/utf8.h"
#include "chat/text.h"
#include "tokenizer/utf8_stream.h"
#include "train/data_records.h"
#include "train/data_rows.h"

namespace lapidary::train {
namespace {

using chat::Json;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::array<char, 3> kSeparators = {',', ';', '\t'};
constexpr std::array<std::pair<std::string_view, DataFormat>, 5> kFormats = {{
    {"auto", DataFormat::automatic},
    {"jsonl", DataFormat::jsonl},
    {"json", DataFormat::json},
    {"csv", DataFormat::csv},
    {"text", DataFormat::text},
}};

// Offset of the first byte that is not UTF-8, or the size of the text.
size_t valid_prefix(std::string_view text) {
    size_t at = 0;
    while (at < text.size()) {
        const size_t length = valid_character(text.substr(at, 4));
        if (length == 0) break;
        at += length;
    }
    return at;
}

// The columns of a table's header, in small letters and without blanks; none when it cannot be read.
std::vector<std::string> columns_of(std::string_view text, char separator) {
    CsvReader reader(text, separator);
    auto header = reader.next();
    if (!header || !*header) return {};
    for (std::string& column : (*header)->fields) column = chat::ascii_lower(chat::trim(column));
    return std::move((*header)->fields);
}

char separator_of(std::string_view text) {
    for (const char separator : kSeparators) {
        if (is_known_row(columns_of(text, separator))) return separator;
    }
    return kSeparators.front();
}

class Builder {
  public:
    Builder(const tokenizer::Tokenizer& tokenizer, const DataOptions& options)
        : tokenizer_(tokenizer), options_(options) {}

    DataSet& set() { return set_; }
    // There is no room for more.
    [[nodiscard]] bool full() const { return full_; }

    void error(uint64_t line, std::string message) {
        ++set_.error_count;
        if (set_.errors.size() < kMaxKeptErrors) set_.errors.push_back({line, std::move(message)});
    }

    // False, and an error, when the record cannot be used as it is.
    bool check(const Record& record) {
        if (record.text.size() > kMaxRecordBytes) {
            error(record.line, format("it is {} long; {} is the most", format_bytes(record.text.size()),
                                      format_bytes(kMaxRecordBytes)));
            return false;
        }
        const size_t valid = valid_prefix(record.text);
        if (valid == record.text.size()) return true;
        const std::string_view good = record.text.substr(0, valid);
        const auto line = record.line + uint64_t(std::ranges::count(good, '\n'));
        error(line,
              format("it is not UTF-8 from byte {} on: save the file as UTF-8", valid - (good.rfind('\n') + 1) + 1));
        return false;
    }

    void add_json(const Record& record) {
        if (!check(record)) return;
        auto row = chat::parse_json(record.text, "the line");
        if (!row && record.text.starts_with('{') && !record.text.ends_with('}')) {
            return error(record.line, "the line is not valid JSON: an object begins and ends on the same line");
        }
        if (!row) return error(record.line, row.error().message);
        add_row(record.line, *row);
    }

    void add_row(uint64_t line, const Json& row) {
        auto made = examples_from_row(row, tokenizer_, {.longest = options_.longest, .size = options_.size});
        if (!made) return error(line, made.error().message);
        for (Example& example : made->examples) add(line, std::move(example));
        if (!made->question.empty() && set_.questions.size() < kMaxQuestions) {
            set_.questions.push_back(std::move(made->question));
        }
    }

    void add_text(const Record& record) {
        if (!check(record)) return;
        for (Example& example : examples_from_text(record.text, 1, tokenizer_, options_.longest)) {
            add(record.line, std::move(example));
        }
    }

    void add(uint64_t line, Example example) {
        if (full_) return;
        if (example.tokens.size() < 2) return;
        if (set_.examples.size() == kMaxDataExamples || set_.tokens + example.tokens.size() > kMaxDataTokens) {
            full_ = true;
            return error(line, format("from here on everything is left out: {} examples or {} tokens are the most",
                                      kMaxDataExamples, kMaxDataTokens));
        }
        set_.tokens += example.tokens.size();
        set_.learnt_tokens += uint64_t(std::ranges::count_if(example.weights, [](float w) { return w > 0; }));
        set_.longest = std::max(set_.longest, uint32_t(example.tokens.size()));
        set_.examples.push_back(std::move(example));
        set_.lines.push_back(line);
    }

  private:
    const tokenizer::Tokenizer& tokenizer_;
    const DataOptions& options_;
    DataSet set_;
    bool full_ = false;
};

Task<Status> read_lines(std::string_view text, Builder& builder, const Breathe& breathe) {
    LineReader lines(text);
    while (const auto record = lines.next()) {
        builder.add_json({record->line, chat::trim(record->text)});
        if (builder.full()) break;
        CO_TRY(co_await breathe());
    }
    co_return Status{};
}

Task<Status> read_items(std::string_view text, Builder& builder, const Breathe& breathe) {
    ItemReader items(text);
    while (const auto record = items.next()) {
        if (*record) {
            builder.add_json(**record);
        } else {
            builder.error(items.line(), record->error().message);
        }
        if (builder.full()) break;
        CO_TRY(co_await breathe());
    }
    co_return Status{};
}

// A row of a table as the object it would be on a line of its own.
Result<Json> object_from(const std::vector<std::string>& columns, const std::vector<std::string>& fields) {
    if (fields.size() != columns.size()) {
        return fail(Code::bad_file, "there are {} fields; the header names {}", fields.size(), columns.size());
    }
    Json row = Json::object();
    for (size_t i = 0; i < columns.size(); ++i) {
        const std::string& column = columns[i];
        const std::string& value = fields[i];
        if (column == "messages" || column == "tools") {
            if (!value.empty()) row[column] = TRY(chat::parse_json(value, format("the column '{}'", column)));
        } else if (column == "weight") {
            if (chat::trim(value).empty()) continue;
            const std::string digits(chat::trim(value));
            char* end = nullptr;
            const double number = std::strtod(digits.c_str(), &end);
            row[column] = *end == '\0' ? Json(number) : Json(digits);
        } else {
            row[column] = value;
        }
    }
    return row;
}

Task<Status> read_rows(std::string_view text, Builder& builder, const Breathe& breathe) {
    const char separator = separator_of(text);
    const std::vector<std::string> columns = columns_of(text, separator);
    if (!is_known_row(columns)) {
        builder.error(1,
                      "the header names no columns to learn from: 'prompt' and 'completion', 'instruction' and "
                      "'output', 'messages', or 'text' are expected");
        co_return Status{};
    }
    CsvReader reader(text, separator);
    reader.next();  // the header
    while (auto row = reader.next()) {
        if (!*row) {
            builder.error(reader.line(), row->error().message);
        } else if (std::ranges::all_of((*row)->fields,
                                       [&](const auto& field) { return builder.check({(*row)->line, field}); })) {
            const auto object = object_from(columns, (*row)->fields);
            if (object) {
                builder.add_row((*row)->line, *object);
            } else {
                builder.error((*row)->line, object.error().message);
            }
        }
        if (builder.full()) break;
        CO_TRY(co_await breathe());
    }
    co_return Status{};
}

Task<Status> read_paragraphs(std::string_view text, Builder& builder, const Breathe& breathe) {
    ParagraphReader paragraphs(text);
    while (const auto record = paragraphs.next()) {
        builder.add_text(*record);
        if (builder.full()) break;
        CO_TRY(co_await breathe());
    }
    co_return Status{};
}

Task<Status> read_stream(std::string_view text, const tokenizer::Tokenizer& tokenizer, uint32_t longest,
                         Builder& builder, const Breathe& breathe) {
    const size_t most = longest - 1;  // beside the beginning token
    std::vector<int32_t> tokens;
    uint64_t begin = 1;
    LineReader lines(text, true);
    while (const auto record = lines.next()) {
        if (!builder.check(*record)) continue;
        if (tokens.empty()) begin = record->line;
        const auto ids = tokenizer.encode(record->text, {.add_bos = false, .parse_special = false});
        tokens.insert(tokens.end(), ids.begin(), ids.end());
        size_t used = 0;
        for (; tokens.size() - used >= most; used += most) {
            const auto from = tokens.begin() + ptrdiff_t(used);
            builder.add(begin, example_from_tokens({from, from + ptrdiff_t(most)}, 1, tokenizer));
            begin = record->line;
        }
        tokens.erase(tokens.begin(), tokens.begin() + ptrdiff_t(used));
        if (builder.full()) co_return Status{};
        CO_TRY(co_await breathe());
    }
    if (!tokens.empty()) builder.add(begin, example_from_tokens(std::move(tokens), 1, tokenizer));
    co_return Status{};
}

}  // namespace

std::string_view name_of(DataFormat format) {
    for (const auto& [name, known] : kFormats) {
        if (known == format) return name;
    }
    return "text";
}

Result<DataFormat> data_format_from(std::string_view name) {
    for (const auto& [known, format] : kFormats) {
        if (known == name) return format;
    }
    return fail(Code::invalid_argument, "'format' must be 'auto', 'jsonl', 'json', 'csv' or 'text'");
}

Result<TextSplit> text_split_from(std::string_view name) {
    if (name == "paragraphs") return TextSplit::paragraphs;
    if (name == "stream") return TextSplit::stream;
    return fail(Code::invalid_argument, "'split' must be 'paragraphs' or 'stream'");
}

DataFormat recognise_format(std::string_view text) {
    const auto blank = [&] {
        while (!text.empty() && chat::is_blank(text.front())) text.remove_prefix(1);
    };
    blank();
    const std::string_view whole = text;
    if (text.starts_with('{')) return DataFormat::jsonl;
    if (text.starts_with('[')) {
        text.remove_prefix(1);
        blank();
        if (text.starts_with('{')) return DataFormat::json;
    }
    for (const char separator : kSeparators) {
        // A single word at the top of a file need not be a header.
        const std::vector<std::string> columns = columns_of(whole, separator);
        if (columns.size() > 1 && is_known_row(columns)) return DataFormat::csv;
    }
    return DataFormat::text;
}

Task<Result<DataSet>> read_data(std::span<const uint8_t> file, const tokenizer::Tokenizer& tokenizer,
                                DataOptions options, Breathe breathe) {
    std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    if (text.size() > kMaxDataBytes) {
        co_return fail(Code::limit, "the file has {}; {} is the most", format_bytes(text.size()),
                       format_bytes(kMaxDataBytes));
    }
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
        co_return fail(Code::bad_file, "the file is UTF-16: save it as UTF-8");
    }
    if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
    if (chat::trim(text.substr(0, 4096)).empty() && chat::trim(text).empty()) {
        co_return fail(Code::invalid_argument, "the file is empty");
    }
    if (text.substr(0, 4096).contains('\0')) {
        co_return fail(Code::bad_file, "the file is not a text: JSONL, JSON, CSV and plain text can be read");
    }
    options.longest = std::clamp<uint32_t>(options.longest, 2, kMaxExampleTokens);
    Builder builder(tokenizer, options);
    DataSet& set = builder.set();
    set.format = options.format == DataFormat::automatic ? recognise_format(text) : options.format;
    switch (set.format) {
        case DataFormat::automatic:
        case DataFormat::jsonl: CO_TRY(co_await read_lines(text, builder, breathe)); break;
        case DataFormat::json: CO_TRY(co_await read_items(text, builder, breathe)); break;
        case DataFormat::csv: CO_TRY(co_await read_rows(text, builder, breathe)); break;
        case DataFormat::text:
            if (options.split == TextSplit::stream) {
                CO_TRY(co_await read_stream(text, tokenizer, options.longest, builder, breathe));
            } else {
                CO_TRY(co_await read_paragraphs(text, builder, breathe));
            }
            break;
    }
    co_return std::move(set);
}

std::vector<PreviewToken> preview(const tokenizer::Tokenizer& tokenizer, const Example& example, size_t most) {
    std::vector<PreviewToken> out;
    tokenizer::Utf8Stream characters;
    const size_t count = std::min(most, example.tokens.size());
    for (size_t i = 0; i < count; ++i) {
        std::string bytes;
        tokenizer.append_piece(example.tokens[i], true, bytes);
        out.push_back({characters.feed(bytes), i == 0 ? 0 : example.weights[i - 1]});
    }
    if (!out.empty()) out.back().text += characters.finish();
    return out;
}

}  // namespace lapidary::train

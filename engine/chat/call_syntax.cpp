#include "chat/call_syntax.h"

#include <algorithm>

#include "chat/markers.h"
#include "chat/text.h"

namespace lapidary::chat {
namespace {

std::string_view without_blanks_at_end(std::string_view text) {
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

// One attempt at one text. In the repairing attempt the end of the text closes what is still open.
class Reader {
  public:
    Reader(std::string_view text, std::span<const size_t> quotes, const Json& properties, bool repair)
        : text_(text), quotes_(quotes), properties_(properties), repair_(repair) {}

    Result<Json> run(size_t start) {
        at_ = start;
        Json arguments = TRY(dict(0));
        skip_blanks();
        if (at_ != text_.size()) return wrong("the end of the call");
        return arguments;
    }

  private:
    std::unexpected<Error> wrong(std::string_view expected) const {
        return fail(Code::invalid_argument, "the call cannot be read at byte {}: {} is expected", at_, expected);
    }

    [[nodiscard]] bool at_end() const { return at_ >= text_.size(); }
    [[nodiscard]] bool at(char c) const { return !at_end() && text_[at_] == c; }
    void skip_blanks() {
        while (!at_end() && is_blank(text_[at_])) ++at_;
    }

    // Where the next real <|"|> stands, or the end of the text.
    [[nodiscard]] size_t next_quote() const {
        const auto it = std::ranges::lower_bound(quotes_, at_);
        return it == quotes_.end() ? text_.size() : *it;
    }
    [[nodiscard]] bool at_quote() const { return !at_end() && next_quote() == at_; }

    // The end of a container: its closer, or the end of the text if that may be repaired.
    bool close(char closer) {
        if (at(closer)) {
            ++at_;
            return true;
        }
        return at_end() && repair_;
    }

    Result<Json> dict(size_t depth) {
        ++at_;  // the brace
        Json object = Json::object();
        while (true) {
            skip_blanks();
            if (close('}')) return object;
            if (object.size() == kMaxJsonMembers) {
                return fail(Code::limit, "the call has an object with more than {} members", kMaxJsonMembers);
            }
            const std::string key = TRY(this->key(depth));
            skip_blanks();
            if (!at(':')) return wrong("':'");
            ++at_;
            skip_blanks();
            object[key] = depth == 0 ? TRY(argument(key)) : TRY(value(depth + 1));
            skip_blanks();
            if (close('}')) return object;
            if (!at(',')) return wrong("',' or '}'");
            ++at_;
        }
    }

    Result<Json> list(size_t depth) {
        ++at_;  // the bracket
        Json array = Json::array();
        while (true) {
            skip_blanks();
            if (close(']')) return array;
            array.push_back(TRY(value(depth + 1)));
            skip_blanks();
            if (close(']')) return array;
            if (!at(',')) return wrong("',' or ']'");
            ++at_;
        }
    }

    Result<std::string> key(size_t depth) {
        if (at_quote()) return quoted_text(depth + 1);
        if (at('"')) return double_quoted();
        if (at('\'')) {
            const size_t end = text_.find('\'', at_ + 1);
            if (end == std::string_view::npos) return wrong("a closing quote");
            std::string key(text_.substr(at_ + 1, end - at_ - 1));
            at_ = end + 1;
            return key;
        }
        const size_t end = std::min(text_.find_first_of(":}", at_), text_.size());
        const std::string_view key = without_blanks_at_end(text_.substr(at_, end - at_));
        if (key.empty() || next_quote() < end) return wrong("the name of an argument");
        at_ = end;
        return std::string(key);
    }

    // An argument of the call itself: the only place where a schema is known.
    Result<Json> argument(const std::string& key) {
        const size_t start = at_;
        auto parsed = value(1);
        if (!repair_ || !is_text(properties_, key)) return parsed;
        if (parsed) {
            skip_blanks();
            if (at_end() || at(',') || at('}')) return parsed;
        }
        // What should have been quoted goes to the end, less the brace of the call. If something further on looks
        // like another argument, nobody can tell where this one ends.
        at_ = start;
        std::string_view raw = without_blanks_at_end(text_.substr(start));
        if (next_quote() != text_.size() || has_argument(raw)) return wrong("a quoted text");
        if (raw.ends_with('}')) raw.remove_suffix(1);
        at_ = start + raw.size();
        return Json(without_blanks_at_end(raw));
    }

    // Whether ",KEY:" with a key of the schema occurs.
    [[nodiscard]] bool has_argument(std::string_view text) const {
        for (size_t comma = text.find(','); comma != std::string_view::npos; comma = text.find(',', comma + 1)) {
            const size_t end = text.find_first_of(",:", comma + 1);
            if (end == std::string_view::npos || text[end] != ':') continue;
            const std::string key(trim(text.substr(comma + 1, end - comma - 1)));
            if (properties_.is_object() && properties_.contains(key)) return true;
        }
        return false;
    }

    Result<Json> value(size_t depth) {
        if (at_quote()) return Json(TRY(quoted_text(depth)));
        if (at('"')) return Json(TRY(double_quoted()));
        if (at('\'')) return Json(TRY(single_quoted()));
        if (at('{') || at('[')) {
            if (depth >= kMaxCallDepth) return fail(Code::limit, "the call nests deeper than {} levels", kMaxCallDepth);
            return at('{') ? dict(depth) : list(depth);
        }
        return bare();
    }

    // <|"|>text<|"|>, where `depth` containers are open around it.
    Result<std::string> quoted_text(size_t depth) {
        at_ += kQuote.size();
        const size_t end = next_quote();
        if (end != text_.size()) {
            std::string text(text_.substr(at_, end - at_));
            at_ = end + kQuote.size();
            return text;
        }
        if (!repair_) return wrong("a closing <|\"|>");
        // The closing quote was forgotten: the text reaches up to the closers of what is open.
        std::string_view text = without_blanks_at_end(text_.substr(at_));
        for (size_t i = 0; i < depth && !text.empty() && is_closer(text.back()); ++i) {
            text = without_blanks_at_end(text.substr(0, text.size() - 1));
        }
        at_ += text.size();
        return std::string(text);
    }

    // A string as JSON writes it, escapes included.
    Result<std::string> double_quoted() {
        size_t end = at_ + 1;
        while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
        if (end >= text_.size()) return wrong("a closing '\"'");
        const Json text = Json::parse(text_.substr(at_, end + 1 - at_), nullptr, false);
        if (!text.is_string()) return wrong("a JSON string");
        at_ = end + 1;
        return std::string(string_of(text));
    }

    // 'text': ends at the first quote that something structural follows, so that 'it's' stays whole.
    Result<std::string> single_quoted() {
        for (size_t end = text_.find('\'', at_ + 1); end != std::string_view::npos; end = text_.find('\'', end + 1)) {
            size_t after = end + 1;
            while (after < text_.size() && is_blank(text_[after])) ++after;
            if (after < text_.size() && text_[after] != ',' && !is_closer(text_[after])) continue;
            std::string text(text_.substr(at_ + 1, end - at_ - 1));
            at_ = end + 1;
            return text;
        }
        return wrong("a closing \"'\"");
    }

    Result<Json> bare() {
        const size_t end = std::min({text_.find_first_of(",}] \t\r\n", at_), next_quote(), text_.size()});
        const std::string value = bare_text(text_.substr(at_, end - at_));
        if (value.empty()) return wrong("a value");
        at_ = end;
        return Json::parse(value, nullptr, false);
    }

    std::string_view text_;
    std::span<const size_t> quotes_;
    const Json& properties_;
    bool repair_;
    size_t at_ = 0;
};

}  // namespace

std::string bare_text(std::string_view word) {
    if (word == "null" || word == "None") return "null";
    if (word == "true" || word == "True") return "true";
    if (word == "false" || word == "False") return "false";
    const Json number = Json::parse(word, nullptr, false);
    return number.is_number() ? json_text(number) : std::string();
}

bool is_text(const Json& properties, const std::string& key) {
    return ascii_lower(string_of(member(member(properties, key.c_str()), "type"))) == "string";
}

Result<ParsedCall> parse_call(std::string_view text, std::span<const size_t> quotes, const CallOptions& options) {
    if (text.size() > kMaxCallBytes) {
        return fail(Code::limit, "the call is {}; at most {} are accepted", format_bytes(text.size()),
                    format_bytes(kMaxCallBytes));
    }
    size_t start = 0;
    while (start < text.size() && is_blank(text[start])) ++start;
    if (!text.substr(start).starts_with(kCallPrefix)) {
        return fail(Code::invalid_argument, "the call does not start with 'call:'");
    }
    start += kCallPrefix.size();
    const size_t brace = text.find('{', start);
    if (brace == std::string_view::npos) return fail(Code::invalid_argument, "the call has no arguments in braces");
    ParsedCall call;
    call.name = trim(text.substr(start, brace - start));
    if (!is_tool_name(call.name)) {
        return fail(Code::invalid_argument, "the call names no usable function: '{}'", printable(call.name));
    }

    const Json no_schema;
    const Json* parameters = &no_schema;
    for (const Tool& tool : options.tools) {
        if (tool.name == call.name) parameters = &tool.parameters;
    }
    const Json& properties = member(*parameters, "properties");
    auto arguments = Reader(text, quotes, properties, false).run(brace);
    if (!arguments && options.finished && arguments.error().code != Code::limit) {
        if (auto repaired = Reader(text, quotes, properties, true).run(brace)) {
            arguments = std::move(repaired);
            call.repaired = true;
        }
    }
    if (!arguments) return std::unexpected(std::move(arguments).error());
    call.arguments = *std::move(arguments);
    return call;
}

Result<ParsedCall> parse_call(std::string_view text, const CallOptions& options) {
    std::vector<size_t> quotes;
    for (size_t at = text.find(kQuote); at != std::string_view::npos; at = text.find(kQuote, at + kQuote.size())) {
        quotes.push_back(at);
    }
    return parse_call(text, quotes, options);
}

}  // namespace lapidary::chat

#include "tokenizer/gemma3_tokens.h"

#include <algorithm>
#include <array>

#include "tokenizer/characters.h"

namespace lapidary::tokenizer {
namespace {

// `</s>` too, though other models end their answers with it. Each has an opening and a closing form.
constexpr std::array<std::string_view, 35> kTags = {
    "table", "caption", "thead",      "tbody",  "tfoot", "tr",   "th", "td", "h1",  "h2",     "h3",    "h4",
    "h5",    "h6",      "blockquote", "strong", "em",    "b",    "i",  "u",  "s",   "sub",    "sup",   "code",
    "a",     "html",    "body",       "img",    "span",  "bbox", "ul", "li", "div", "iframe", "footer"};

bool is_tag(std::string_view text) {
    if (text.size() < 3 || !text.starts_with('<') || !text.ends_with('>')) return false;
    std::string_view name = text.substr(1, text.size() - 2);
    if (name.starts_with('/')) name.remove_prefix(1);
    return std::ranges::find(kTags, name) != kTags.end();
}

bool is_run(std::string_view text) {
    const auto only = [&](char c) { return text.find_first_not_of(c) == std::string_view::npos; };
    if (text.starts_with('\n')) return only('\n');
    if (text.starts_with('\t')) return only('\t');
    if (text.starts_with(' ')) return text.size() > 1 && only(' ');
    const size_t mark = kSpaceMark.size();
    if (text.size() <= mark || text.size() % mark != 0) return false;
    for (size_t at = 0; at < text.size(); at += mark) {
        if (text.substr(at, mark) != kSpaceMark) return false;
    }
    return true;
}

bool is_control(std::string_view text) {
    constexpr std::array<std::string_view, 6> kControl = {"<pad>",  "<eos>",           "<bos>",
                                                          "<mask>", "<start_of_turn>", "<end_of_turn>"};
    return std::ranges::find(kControl, text) != kControl.end();
}

// Of FunctionGemma, in the places of unused tokens.
bool is_call_marker(std::string_view text) {
    constexpr std::array<std::string_view, 7> kMarkers = {"<start_function_declaration>",
                                                          "<end_function_declaration>",
                                                          "<start_function_call>",
                                                          "<end_function_call>",
                                                          "<start_function_response>",
                                                          "<end_function_response>",
                                                          "<escape>"};
    return std::ranges::find(kMarkers, text) != kMarkers.end();
}

}  // namespace

bool is_whole_text(std::string_view text) {
    return is_run(text) || is_tag(text) || text == "[multimodal]";
}

TokenKind gemma3_kind(std::string_view text, TokenKind kind) {
    if (text == "<unk>") return TokenKind::unknown;
    if (is_control(text)) return TokenKind::control;
    if (is_whole_text(text) || is_call_marker(text)) return TokenKind::user_defined;
    if (kind != TokenKind::normal) return kind;
    const bool structure = text.starts_with("<unused") || text == "<start_of_image>" || text == "<end_of_image>" ||
                           text == "<image_soft_token>";
    return structure ? TokenKind::control : TokenKind::normal;
}

}  // namespace lapidary::tokenizer

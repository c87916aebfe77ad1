#include "tokenizer/utf8_stream.h"

#include <cstdint>

namespace lapidary::tokenizer {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Sequence {
    size_t size;  // of the character, or of the piece that cannot become one
    enum class State : uint8_t { complete, unfinished, wrong } state;
};

// How a character that begins with `first` goes on: how many bytes in all, and what the second may be (the
// others may be 80…BF). This is the table of well-formed sequences in the Unicode standard, chapter 3.
struct Form {
    size_t size;
    uint8_t low;
    uint8_t high;
};
Form form_of(uint8_t first) {
    if (first < 0x80) return {1, 0, 0};
    if (first < 0xC2) return {0, 0, 0};  // never begins a character
    if (first < 0xE0) return {2, 0x80, 0xBF};
    if (first == 0xE0) return {3, 0xA0, 0xBF};
    if (first == 0xED) return {3, 0x80, 0x9F};
    if (first < 0xF0) return {3, 0x80, 0xBF};
    if (first == 0xF0) return {4, 0x90, 0xBF};
    if (first < 0xF4) return {4, 0x80, 0xBF};
    if (first == 0xF4) return {4, 0x80, 0x8F};
    return {0, 0, 0};
}

Sequence first_sequence(std::string_view bytes) {
    using enum Sequence::State;
    const Form form = form_of(uint8_t(bytes[0]));
    if (form.size == 0) return {1, wrong};
    for (size_t i = 1; i < form.size; ++i) {
        if (i == bytes.size()) return {i, unfinished};
        const auto byte = uint8_t(bytes[i]);
        const uint8_t low = i == 1 ? form.low : 0x80;
        const uint8_t high = i == 1 ? form.high : 0xBF;
        if (byte < low || byte > high) return {i, wrong};
    }
    return {form.size, complete};
}

}  // namespace

std::string Utf8Stream::feed(std::string_view bytes) {
    pending_ += bytes;
    std::string_view rest = pending_;
    std::string out;
    while (!rest.empty()) {
        const Sequence sequence = first_sequence(rest);
        if (sequence.state == Sequence::State::unfinished) break;
        out += sequence.state == Sequence::State::complete ? rest.substr(0, sequence.size) : kReplacement;
        rest.remove_prefix(sequence.size);
    }
    pending_.erase(0, pending_.size() - rest.size());
    return out;
}

std::string Utf8Stream::finish() {
    std::string out(pending_.empty() ? std::string_view() : kReplacement);
    pending_.clear();
    return out;
}

}  // namespace lapidary::tokenizer

#include "tokenizer/scores.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lapidary::tokenizer {
namespace {

// Floats in the order of whole numbers, turned around.
uint32_t descending(float value) {
    const auto bits = std::bit_cast<uint32_t>(value + 0.0f);  // −0 is 0
    const uint32_t ascending = (bits & 0x80000000u) != 0 ? ~bits : bits | 0x80000000u;
    return ~ascending;
}

}  // namespace

Result<Scores> Scores::read(const gguf::Header& header, const Vocabulary& vocabulary) {
    constexpr std::string_view kKey = "tokenizer.ggml.scores";
    const gguf::Value* value = header.find(kKey);
    if (value == nullptr) return fail(Code::not_found, "the vocabulary is incomplete: the file has no {}", kKey);
    const auto array = value->as_array();
    if (!array || array->element_type() == gguf::ValueType::string) {
        return fail(Code::bad_file, "{} should be an array of numbers", kKey);
    }
    if (array->size() < vocabulary.size()) {
        return fail(Code::bad_file, "the vocabulary has {} tokens, but {} has {} elements", vocabulary.size(), kKey,
                    array->size());
    }
    Scores scores;
    scores.order_.reserve(vocabulary.size());
    for (uint32_t id = 0; id < vocabulary.size(); ++id) {
        const auto score = float(array->at(id).as_number().value_or(NAN));
        if (std::isnan(score)) return fail(Code::bad_file, "the score of token {} is not a number", id);
        scores.order_.push_back(descending(score));
        if (vocabulary.kind(id) != TokenKind::normal) continue;
        const std::string_view text = vocabulary.text(id);
        scores.longest_ = std::max(scores.longest_, text.size());
        uint32_t before = 0;
        for (size_t at = 0; at < text.size();) {
            const std::string_view character = text.substr(at, first_character(text.substr(at)));
            const uint32_t now = Joints::character_class(character);
            if (at > 0) scores.joints_.add(before, now);
            before = now;
            at += character.size();
        }
    }
    for (size_t i = 0; i < scores.ascii_.size(); ++i) {
        const char c = char(i);
        scores.ascii_[i] = token({&c, 1}, vocabulary);
    }
    return scores;
}

}  // namespace lapidary::tokenizer

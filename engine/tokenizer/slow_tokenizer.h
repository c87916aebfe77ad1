// For tests: the tokenizer once more, as slow and as obvious as can be. It shares no code with the real one.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "gguf/header.h"

namespace lapidary::tokenizer {

class SlowTokenizer {
  public:
    explicit SlowTokenizer(const gguf::Header& header) {
        const auto types = *header.find("tokenizer.ggml.token_type")->as_array();
        header.find("tokenizer.ggml.tokens")->as_array()->for_each_string([&](uint64_t id, std::string_view text) {
            ids_.emplace(text, int32_t(id));
            const auto type = types.at(id).as_integer();
            if (type == 2 || type == 3 || type == 4) special_.push_back({std::string(text), int32_t(id), type != 4});
        });
        const gguf::Value* merges = header.find("tokenizer.ggml.merges");
        if (merges != nullptr) {
            merges->as_array()->for_each_string(
                [&](uint64_t rank, std::string_view line) { ranks_.emplace(line, rank); });
        } else {
            const auto scores = *header.find("tokenizer.ggml.scores")->as_array();
            for (const auto& [text, id] : ids_) {
                if (types.at(uint64_t(id)).as_integer() == 1)
                    scores_.emplace(text, *scores.at(uint64_t(id)).as_number());
            }
        }
        std::ranges::stable_sort(special_, std::greater<>(), [](const Special& s) { return s.text.size(); });
    }

    // Without a beginning token.
    [[nodiscard]] std::vector<int32_t> encode(std::string_view text, bool parse_special) const {
        std::vector<Fragment> fragments = {{std::string(text), -1}};
        for (const Special& special : special_) {
            if (special.control && !parse_special) continue;
            std::vector<Fragment> next;
            for (const Fragment& fragment : fragments) {
                std::string rest = fragment.text;
                size_t at = fragment.id >= 0 ? std::string::npos : rest.find(special.text);
                while (at != std::string::npos) {
                    next.push_back({rest.substr(0, at), -1});
                    next.push_back({special.text, special.id});
                    rest = rest.substr(at + special.text.size());
                    at = rest.find(special.text);
                }
                next.push_back({rest, fragment.id});
            }
            fragments = std::move(next);
        }
        std::vector<int32_t> out;
        for (const Fragment& fragment : fragments) {
            if (fragment.id >= 0) {
                out.push_back(fragment.id);
            } else {
                encode_fragment(fragment.text, out);
            }
        }
        return out;
    }

  private:
    struct Special {
        std::string text;
        int32_t id;
        bool control;
    };
    struct Fragment {
        std::string text;
        int32_t id;
    };

    void encode_fragment(const std::string& text, std::vector<int32_t>& out) const {
        std::string run;
        const bool by_scores = !scores_.empty();
        for (size_t i = 0; i < text.size(); ++i) {
            if (!by_scores && i > 0 && (text[i] == '\n') != (text[i - 1] == '\n'))
                encode_run(std::exchange(run, ""), out);
            run += text[i] == ' ' ? "▁" : std::string(1, text[i]);
        }
        if (!run.empty()) encode_run(run, out);
    }

    void encode_run(const std::string& run, std::vector<int32_t>& out) const {
        if (scores_.empty() && run[0] == '\n' && ids_.contains(run)) {
            out.push_back(ids_.at(run));
            return;
        }
        std::vector<std::string> symbols;
        for (size_t i = 0; i < run.size(); i += symbols.back().size()) {
            const auto lead = uint8_t(run[i]);
            symbols.push_back(run.substr(i, lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1));
        }
        while (true) {
            size_t best = 0;
            double best_rank = HUGE_VAL;
            for (size_t i = 0; i + 1 < symbols.size(); ++i) {
                const double rank = rank_of(symbols[i], symbols[i + 1]);
                if (rank >= best_rank) continue;
                best = i;
                best_rank = rank;
            }
            if (best_rank == HUGE_VAL) break;
            symbols[best] += symbols[best + 1];
            symbols.erase(symbols.begin() + ptrdiff_t(best) + 1);
        }
        for (const std::string& symbol : symbols) {
            if (scores_.empty() ? ids_.contains(symbol) : scores_.contains(symbol)) {
                out.push_back(ids_.at(symbol));
                continue;
            }
            for (const char c : symbol) {
                constexpr std::string_view kDigits = "0123456789ABCDEF";
                out.push_back(ids_.at(std::string("<0x") + kDigits[uint8_t(c) >> 4] + kDigits[uint8_t(c) & 15] + ">"));
            }
        }
    }

    // Lower joins first.
    [[nodiscard]] double rank_of(const std::string& left, const std::string& right) const {
        if (!scores_.empty()) {
            const auto it = scores_.find(left + right);
            return it == scores_.end() ? HUGE_VAL : -it->second;
        }
        const auto it = ranks_.find(left + " " + right);
        return it == ranks_.end() ? HUGE_VAL : double(it->second);
    }

    std::unordered_map<std::string, int32_t> ids_;
    std::unordered_map<std::string, double> scores_;  // of ordinary tokens, in vocabularies without merges
    std::unordered_map<std::string, uint64_t> ranks_;
    std::vector<Special> special_;
};

}  // namespace lapidary::tokenizer

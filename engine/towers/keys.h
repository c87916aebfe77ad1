// Metadata of a tower, with errors that name the key.
#pragma once

#include <string>

#include "gguf/header.h"

namespace lapidary::towers {

class Keys {
  public:
    // prefix: such as "clip.vision."
    Keys(const gguf::Header& header, std::string prefix) : header_(header), prefix_(std::move(prefix)) {}

    [[nodiscard]] Result<uint32_t> integer(std::string_view key, int64_t low, int64_t high) const {
        const std::string full = prefix_ + std::string(key);
        if (header_.find(full) == nullptr) return fail(Code::bad_file, "the metadata key '{}' is missing", full);
        const auto value = header_.integer(full);
        if (!value || *value < low || *value > high) {
            return fail(Code::bad_file, "the metadata key '{}' is not a whole number between {} and {}", full, low,
                        high);
        }
        return uint32_t(*value);
    }

    [[nodiscard]] Result<uint32_t> integer_or(std::string_view key, int64_t low, int64_t high, uint32_t other) const {
        if (header_.find(prefix_ + std::string(key)) == nullptr) return other;
        return integer(key, low, high);
    }

    [[nodiscard]] Result<float> number_or(std::string_view key, double low, double high, float other) const {
        const std::string full = prefix_ + std::string(key);
        if (header_.find(full) == nullptr) return other;
        const auto value = header_.number(full);
        if (!value || !(*value >= low && *value <= high)) {
            return fail(Code::bad_file, "the metadata key '{}' is not a number between {} and {}", full, low, high);
        }
        return float(*value);
    }

  private:
    const gguf::Header& header_;
    std::string prefix_;
};

}  // namespace lapidary::towers

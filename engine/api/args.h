// The arguments of a call: a JSON object, read with errors that name the member.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "chat/json.h"

namespace lapidary::api {

using Json = chat::Json;

// JavaScript's numbers are doubles: sizes of files are exact up to 2⁵³.
inline constexpr int64_t kMaxFileBytes = int64_t{1} << 53;

// A member that is absent or null counts as not given.
class Args {
  public:
    explicit Args(Json object) : object_(std::move(object)) {}

    [[nodiscard]] const Json& member(const char* name) const { return chat::member(object_, name); }
    [[nodiscard]] bool has(const char* name) const { return !member(name).is_null(); }

    [[nodiscard]] Result<uint32_t> id(const char* name) const;
    [[nodiscard]] Result<std::string> string(const char* name) const;
    [[nodiscard]] Result<bool> boolean_or(const char* name, bool other) const;
    [[nodiscard]] Result<int64_t> integer_or(const char* name, int64_t low, int64_t high, int64_t other) const;
    [[nodiscard]] Result<float> number_or(const char* name, float other) const;
    [[nodiscard]] Result<std::vector<std::string>> strings(const char* name, size_t most) const;

  private:
    Json object_;
};

}  // namespace lapidary::api

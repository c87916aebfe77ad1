// What training on a fixture starts from and must give: tests/data/fixtures/NAME.lora.safetensors.
#pragma once

#include <optional>
#include <string>

#include "testing/files.h"
#include "train/gradcheck.h"

namespace lapidary::testing {

using LoraFixture = train::Fixture;

inline std::optional<LoraFixture> read_lora_fixture(const std::string& name) {
    const auto bytes = read_file("tests/data/fixtures/" + name + ".lora.safetensors");
    if (!bytes) return std::nullopt;
    auto fixture = train::read_fixture(*bytes);
    if (!fixture) return std::nullopt;
    return std::move(*fixture);
}

}  // namespace lapidary::testing

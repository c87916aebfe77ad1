// What training on a fixture starts from and must give: tests/data/fixtures/NAME.lora.safetensors.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "testing/files.h"
#include "testing/fixture_model.h"
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

// A test on each of the models that have such a file: its parameter is their name.
class LoraFixtureTest : public ::testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        auto loaded = load_model(std::string("tests/data/fixtures/") + GetParam() + ".gguf");
        ASSERT_TRUE(loaded) << loaded.error().message;
        model_ = std::make_unique<FixtureModel>(std::move(*loaded));
        auto fixture = read_lora_fixture(GetParam());
        ASSERT_TRUE(fixture);
        fixture_ = std::move(*fixture);
    }

    std::unique_ptr<FixtureModel> model_;
    LoraFixture fixture_;
};

}  // namespace lapidary::testing

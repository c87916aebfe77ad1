// A model of the repository, opened and loaded for the CPU.
#pragma once

#include <memory>
#include <string>

#include "gguf/file.h"
#include "model/config.h"
#include "model/weights.h"
#include "reference/forward.h"
#include "reference/weights.h"

namespace lapidary::testing {

struct FixtureModel {
    gguf::File file;
    std::shared_ptr<const model::Config> config;
    std::shared_ptr<const model::WeightTable> table;
    std::shared_ptr<const reference::Weights> weights;

    [[nodiscard]] std::unique_ptr<reference::Forward> runner(uint32_t context) const {
        return std::make_unique<reference::Forward>(config, table, weights, context);
    }
};

// path: below the repository, e.g. "tests/data/fixtures/tiny-e2b-q4km.gguf"
Result<FixtureModel> load_model(const std::string& path);

// Every way of looking a tensor up in a file.
model::TensorLookup lookup_in(const gguf::File& file);

}  // namespace lapidary::testing

#include "testing/fixture_model.h"

#include "testing/files.h"

namespace lapidary::testing {

model::TensorLookup lookup_in(const gguf::File& file) {
    return [&file](std::string_view name) -> const gguf::TensorInfo* {
        const gguf::FileTensor* tensor = file.find(name);
        return tensor == nullptr ? nullptr : &tensor->info;
    };
}

Result<FixtureModel> load_model(const std::string& path) {
    auto bytes = read_file(path);
    if (!bytes) return fail(Code::not_found, "there is no file '{}'", path);
    auto opened = gguf::File::open({std::make_shared<MemorySource>(std::move(*bytes))}, {}).run_now();
    auto file = TRY(*std::move(opened));
    auto config = std::make_shared<const model::Config>(TRY(model::read_config(file)));
    auto table = std::make_shared<const model::WeightTable>(TRY(model::find_weights(*config, lookup_in(file))));
    auto loaded = reference::Weights::load(file, *table, nullptr, {}).run_now();
    auto weights = TRY(*std::move(loaded));
    return FixtureModel{std::move(file), std::move(config), std::move(table), std::move(weights)};
}

}  // namespace lapidary::testing

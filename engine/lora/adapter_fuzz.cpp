// Arbitrary bytes through every reader of adapters:
//   build/asan/engine/adapter_fuzz -max_len=8192 -malloc_limit_mb=64 NEW_FINDINGS tests/data/fuzz/adapter
#include <cstdint>

#include "lora/module_pattern.h"
#include "lora/read.h"
#include "lora/safetensors.h"
#include "lora/write.h"
#include "testing/fuzz.h"

namespace lapidary::lora {
namespace {

using testing::check;

// A model nobody trained, with matrices so small that the fuzzer can write adapters for it.
model::WeightTable small_table() {
    const auto matrix = [](const char* name, uint64_t cols, uint64_t rows) {
        return model::Weight{.name = name, .type = TensorType::f32, .cols = cols, .rows = rows};
    };
    model::WeightTable table;
    table.token_embd = matrix("token_embd.weight", 4, 8);
    table.layers.resize(2);
    table.layers[0].attn_q = matrix("blk.0.attn_q.weight", 4, 4);
    table.layers[0].attn_k = matrix("blk.0.attn_k.weight", 4, 2);
    table.layers[1].attn_q = matrix("blk.1.attn_q.weight", 4, 4);
    table.layers[1].ffn_down = matrix("blk.1.ffn_down.weight", 6, 4);
    return table;
}

bool same(const Adapter& a, const Adapter& b) {
    if (a.updates.size() != b.updates.size()) return false;
    for (size_t i = 0; i < a.updates.size(); ++i) {
        if (a.updates[i].rank != b.updates[i].rank || a.updates[i].a != b.updates[i].a) return false;
    }
    return true;
}

// What was read fits the model, and comes back when it is written.
void fuzz_file(std::span<const uint8_t> file) {
    static const model::WeightTable table = small_table();
    const auto read = read_adapter(file, {.name = "n", .config = R"({"r":2,"lora_alpha":8})"}, table);
    if (!read) return;
    check(check_fits(read->adapter, table).has_value());
    for (const Update& update : read->adapter.updates) {
        for (const float value : update.a) check(value - value == 0);
        for (const float value : update.b) check(value - value == 0);
    }
    const auto zip = write_peft_zip(read->adapter, table, Dtype::f32);
    if (!zip) return;
    const auto again = read_adapter(*zip, {}, table);
    // For a tiny scale there may be no alpha that gives it. Then the file may be refused, but it must not read as another.
    if (again) check(same(again->adapter, read->adapter));
}

void fuzz_config(std::string_view config) {
    static const model::WeightTable table = small_table();
    SafeTensorsWriter writer;
    const uint64_t a[] = {2, 4};
    const uint64_t b[] = {4, 2};
    const std::vector<float> values(8, 0.5f);
    writer.add("base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight", a, values);
    writer.add("base_model.model.model.layers.0.self_attn.q_proj.lora_B.weight", b, values);
    const auto read = read_adapter(writer.file(), {.config = std::string(config)}, table);
    if (read) check(read->adapter.updates.size() == 1 && read->adapter.updates[0].scale > 0);
}

}  // namespace
}  // namespace lapidary::lora

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lapidary::lora;
    if (size < 1) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
    switch (data[0] % 4) {
        case 0: fuzz_config(text); break;
        case 1: (void)matches_module(text, "model.layers.12.self_attn.q_proj"); break;
        default: fuzz_file({data + 1, size - 1}); break;
    }
    return 0;
}

#include <cmath>
#include <map>

#include "gguf/writer.h"
#include "lora/write.h"
#include "quant/decode.h"
#include "quant/encode.h"

namespace lapidary::lora {
namespace {

struct Matrix {
    std::string name;
    TensorType type;
    uint64_t cols, rows;
    std::vector<float> values;
};

uint32_t file_type(TensorType type) {
    switch (type) {
        case TensorType::f16: return 1;
        case TensorType::q8_0: return 7;
        case TensorType::bf16: return 32;
        default: return 0;
    }
}

Status check_writable(const Adapter& adapter, const model::WeightTable& table) {
    TRY(check_fits(adapter, table));
    if (adapter.updates.empty()) return fail(Code::invalid_argument, "the adapter changes nothing");
    for (const Update& update : adapter.updates) {
        const bool tied = update.target == Target::output && !table.output.present();
        if (update.target == Target::token_embd || tied) {
            return fail(Code::unsupported, "the adapter changes '{}', which GGUF adapters cannot: write it for PEFT",
                        label_of(update));
        }
    }
    return {};
}

// The file has room for one alpha, which with an update's rank gives its scale. This is the alpha that fits most of the
// updates; what the others need beside it is multiplied into their B. Never 0: that would mean "no alpha".
float common_alpha(const Adapter& adapter) {
    std::map<float, size_t> counts;
    for (const Update& update : adapter.updates) {
        const bool own = adapter.alpha != 0 && adapter.alpha / float(update.rank) == update.scale;
        ++counts[own ? adapter.alpha : update.scale * float(update.rank)];
    }
    float best = 0;
    size_t most = 0;
    for (const auto& [alpha, count] : counts) {
        if (alpha == 0 || count <= most) continue;
        best = alpha;
        most = count;
    }
    return best == 0 ? 1 : best;
}

TensorType fitting(TensorType type, uint64_t cols) {
    return cols % tensor_type_info(type).block_elements == 0 ? type : TensorType::f16;
}

Status check_values(const Matrix& matrix, std::span<const uint8_t> bytes) {
    std::vector<float> back(matrix.values.size());
    quant::decode(matrix.type, bytes.data(), back);
    for (const float value : back) {
        if (!std::isfinite(value)) {
            return fail(Code::limit, "a value of '{}' is too large for {}: write F32", matrix.name,
                        tensor_type_name(matrix.type));
        }
    }
    return {};
}

}  // namespace

Result<Bytes> write_gguf(const Adapter& adapter, const model::WeightTable& table, TensorType type) {
    TRY(check_writable(adapter, table));
    if (type != TensorType::f32 && type != TensorType::f16 && type != TensorType::bf16 && type != TensorType::q8_0) {
        return fail(Code::unsupported, "adapters are written as F32, F16, BF16 or Q8_0, not as {}",
                    tensor_type_name(type));
    }
    const float alpha = common_alpha(adapter);
    std::vector<Matrix> matrices;
    for (const Update& update : adapter.updates) {
        const std::string base = label_of(update) + ".weight";
        matrices.push_back({base + ".lora_a", fitting(type, update.in), update.in, update.rank, update.a});
        Matrix b{base + ".lora_b", fitting(type, update.rank), update.rank, update.out, update.b};
        const float scale = alpha / float(update.rank);
        if (scale != update.scale) {
            for (float& value : b.values) value *= update.scale / scale;
        }
        matrices.push_back(std::move(b));
    }

    gguf::Writer writer;
    writer.set_string("general.architecture", table.architecture);
    writer.set_string("general.type", "adapter");
    writer.set_string("adapter.type", "lora");
    if (!adapter.name.empty()) writer.set_string("general.name", adapter.name);
    if (!adapter.base_model.empty()) {
        writer.set_u32("general.base_model.count", 1);
        writer.set_string("general.base_model.0.name", adapter.base_model);
    }
    writer.set_f32("adapter.lora.alpha", alpha);
    writer.set_u32("general.file_type", file_type(type));
    writer.set_u32("general.quantization_version", 2);
    for (const Matrix& matrix : matrices) writer.add_tensor(matrix.name, matrix.type, {matrix.cols, matrix.rows});
    const gguf::Layout layout = TRY(writer.layout());
    Bytes out(size_t(layout.file_size));
    std::ranges::copy(layout.header, out.begin());
    for (size_t i = 0; i < matrices.size(); ++i) {
        const auto place = std::span(out).subspan(size_t(layout.tensors[i].offset), size_t(layout.tensors[i].size));
        TRY(quant::encode_checked(matrices[i].type, matrices[i].values, place));
        if (matrices[i].type == TensorType::f16) TRY(check_values(matrices[i], place));
    }
    return out;
}

}  // namespace lapidary::lora

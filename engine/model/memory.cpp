#include "model/memory.h"

#include <algorithm>

namespace lapidary::model {
namespace {

uint64_t kv_bytes_where(const Config& config, uint64_t positions, KvFormat format, bool windowed) {
    uint64_t bytes = 0;
    // A model of embeddings remembers nothing: one layer's at a time, of whole texts.
    const bool one_layer = windowed && config.embedding.has_value();
    for (uint32_t i = 0; i < config.layers.size(); ++i) {
        if (!config.owns_kv(i)) continue;
        const LayerConfig& layer = config.layers[i];
        const bool rings = windowed && layer.sliding && !one_layer;
        const uint64_t kept = rings ? std::min<uint64_t>(positions, config.sliding_window) : positions;
        const KvRow row = kv_row(format, layer.head_dim);
        const uint64_t of_layer = 2 * kept * layer.kv_heads * (row.bytes + row.scale_bytes);
        bytes = one_layer ? std::max(bytes, of_layer) : bytes + of_layer;
    }
    return bytes;
}

}  // namespace

uint64_t weight_bytes(const WeightTable& table) {
    uint64_t bytes = 0;
    table.for_each([&](const Weight& weight) { bytes += weight.bytes(); });
    return bytes;
}

uint64_t weight_elements(const WeightTable& table) {
    uint64_t elements = 0;
    table.for_each([&](const Weight& weight) { elements += weight.elements(); });
    return elements;
}

uint64_t kv_bytes(const Config& config, uint64_t positions, KvFormat format) {
    return kv_bytes_where(config, positions, format, true);
}

uint64_t kv_bytes_unwindowed(const Config& config, uint64_t positions) {
    return kv_bytes_where(config, positions, KvFormat::f32, false);
}

}  // namespace lapidary::model

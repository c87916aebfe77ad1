#include "testing/tiny_projector.h"

#include <cmath>
#include <cstring>

#include "gguf/writer.h"

namespace lapidary::testing {

Bytes tiny_projector(uint32_t width) {
    constexpr uint32_t kWidth = 32;
    constexpr uint32_t kValues = 3 * 48 * 48;
    constexpr uint32_t kPositions = 64;
    gguf::Writer writer;
    writer.set_string("general.architecture", "clip");
    writer.set_bool("clip.has_vision_encoder", true);
    writer.set_bool("clip.has_audio_encoder", true);
    writer.set_string("clip.vision.projector_type", "gemma4uv");
    writer.set_string("clip.audio.projector_type", "gemma4ua");
    const auto add = [&](std::string_view name, std::initializer_list<uint64_t> ne) {
        writer.add_tensor(name, TensorType::f32, ne);
    };
    add("v.patch_norm.1.weight", {kValues});
    add("v.patch_norm.1.bias", {kValues});
    add("v.patch_embd.weight", {kValues, kWidth});
    add("v.patch_embd.bias", {kWidth});
    for (const std::string norm : {"v.patch_norm.2", "v.patch_norm.3"}) {
        add(norm + ".weight", {kWidth});
        add(norm + ".bias", {kWidth});
    }
    add("v.position_embd.weight", {kWidth, kPositions, 2});
    add("mm.input_projection.weight", {kWidth, width});
    add("mm.a.input_projection.weight", {640, width});
    const gguf::Layout layout = *writer.layout();
    Bytes out = layout.header;
    out.resize(size_t(layout.file_size));
    // Noise of the size that weights have.
    uint32_t state = 1;
    for (const ByteRange range : layout.tensors) {
        for (uint64_t at = range.offset; at < range.offset + range.size; at += sizeof(float)) {
            state = state * 1664525u + 1013904223u;
            const float value = 0.1f * (float(state >> 8) / float(1 << 23) - 1);
            std::memcpy(out.data() + at, &value, sizeof value);
        }
    }
    return out;
}

}  // namespace lapidary::testing

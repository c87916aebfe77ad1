// What turns images and sound into soft tokens, and how large everything in it is. A tower comes in a file of its own (an
// mmproj) or in the model's file.
#pragma once

#include <cstdint>

namespace lapidary::towers {

// As projector files call them.
enum class VisionKind : uint8_t {
    gemma4v,   // a transformer over patches, whose results are pooled
    gemma4uv,  // 12B: patches are embedded, and that is all
};
enum class AudioKind : uint8_t {
    gemma4a,   // a conformer over mel features
    gemma4ua,  // 12B: frames of the waveform are projected, and that is all
};

struct VisionConfig {
    VisionKind kind = VisionKind::gemma4v;
    uint32_t layers = 0;     // gemma4v, like the four that follow; gemma4uv has none
    uint32_t width = 0;      // of what a patch becomes; gemma4uv too
    uint32_t ffn = 0;        // width of the feed-forward network
    uint32_t heads = 0;      // of attention
    uint32_t head_dim = 0;   // width / heads: a multiple of 4, because halves of it are rotated by themselves
    uint32_t patch = 0;      // pixels on each side of a patch
    uint32_t pooling = 1;    // patches on each side that become one soft token
    uint32_t positions = 0;  // patches on each side that an image may have
    uint32_t output = 0;     // width of a soft token, the text model's own
    float norm_epsilon = 1e-6f;

    // Pixels on each side of what becomes one soft token: an image's sides are multiples of it.
    [[nodiscard]] uint32_t side() const { return patch * pooling; }
    [[nodiscard]] uint32_t patch_values() const { return 3 * patch * patch; }
};

struct AudioConfig {
    AudioKind kind = AudioKind::gemma4a;
    uint32_t layers = 0;  // gemma4a, like all that follow but the last two
    uint32_t width = 0;
    uint32_t ffn = 0;
    uint32_t heads = 0;
    uint32_t head_dim = 0;
    uint32_t mel_bins = 0;
    uint32_t channels[2] = {};   // what the two convolutions at the beginning make
    uint32_t kernel = 0;         // taps of the depthwise convolution
    uint32_t projected = 0;      // width between the last layer and the soft tokens
    uint32_t frame = 0;          // gemma4ua: samples that become one soft token
    uint32_t output = 0;         // width of a soft token, the text model's own
    float norm_epsilon = 1e-6f;  // whatever the file says: early ones are wrong
};

}  // namespace lapidary::towers

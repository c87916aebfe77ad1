#include "towers/work.h"

#include "towers/audio_forward.h"

namespace lapidary::towers {
namespace {

// Of each row that meets it.
double elements(const Linear& linear) {
    return double(linear.weight.elements());
}

}  // namespace

double operations_of_picture(const Vision& tower, uint32_t width, uint32_t height) {
    const VisionConfig& config = tower.config;
    const double patches = double(width / config.patch) * double(height / config.patch);
    const double tokens = patches / (double(config.pooling) * config.pooling);
    double out = patches * double(tower.table.patch_embd.weight.elements()) + tokens * elements(tower.table.projection);
    for (const VisionLayer& layer : tower.table.layers) {
        for (const Linear* linear : {&layer.q, &layer.k, &layer.v, &layer.out, &layer.gate, &layer.up, &layer.down}) {
            out += patches * elements(*linear);
        }
        out += 2 * patches * patches * config.width;
    }
    return 2 * out;
}

double operations_of_sound(const Audio& tower, uint64_t tokens) {
    const AudioTable& table = tower.table;
    const auto rows = double(tokens);
    double out = rows * double(table.projection.elements());
    if (tower.config.kind == AudioKind::gemma4ua) return 2 * out;
    // The convolutions leave half the moments and half the frequencies each.
    double places = rows * 2 * tower.config.mel_bins / 2;
    for (const AudioTable::Convolution& conv : table.conv) {
        out += places * double(conv.weight.elements());
        places /= 4;
    }
    out += rows * double(table.input_projection.elements() + table.output_projection.weight.elements());
    for (const AudioLayer& layer : table.layers) {
        for (const Linear* linear : {&layer.ffn1.up, &layer.ffn1.down, &layer.q, &layer.k, &layer.v, &layer.out,
                                     &layer.conv_pw1, &layer.conv_pw2, &layer.ffn2.up, &layer.ffn2.down}) {
            out += rows * elements(*linear);
        }
        out += 3 * rows * kPastFrames * tower.config.width;
    }
    return 2 * out;
}

}  // namespace lapidary::towers

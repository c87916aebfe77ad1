#include "api/open_media.h"

#include <algorithm>

#include "audio/mel.h"
#include "towers/audio_forward.h"

namespace lapidary::api {
namespace {

// What a conformer hears at a time: longer sounds are cut.
constexpr uint64_t kPieceSamples = uint64_t{30} * audio::kRate;

// Samples in a piece.
uint64_t piece_size(const towers::AudioConfig& config) {
    return config.kind == towers::AudioKind::gemma4a ? kPieceSamples : UINT64_MAX;
}

uint64_t tokens_of_piece(const towers::AudioConfig& config, uint64_t samples) {
    const bool mel = config.kind == towers::AudioKind::gemma4a;
    return towers::audio_tokens(config, mel ? audio::LogMel::frames(samples) : samples);
}

}  // namespace

uint32_t OpenProjector::width() const {
    return towers.vision ? towers.vision->config.output : towers.audio->config.output;
}

std::vector<towers::Weight> OpenProjector::weights() const {
    std::vector<towers::Weight> out;
    if (towers.vision) out = towers.vision->table.all;
    if (towers.audio) out.insert(out.end(), towers.audio->table.all.begin(), towers.audio->table.all.end());
    return out;
}

uint64_t sound_tokens(const towers::AudioConfig& config, uint64_t samples) {
    uint64_t tokens = 0;
    for (uint64_t at = 0; at < samples;) {
        const uint64_t piece = std::min(piece_size(config), samples - at);
        tokens += tokens_of_piece(config, piece);
        at += piece;
    }
    return tokens;
}

uint32_t pieces_of(const OpenMedia& media) {
    const auto& config = media.projector->towers.audio->config;
    const uint64_t samples = media.sound->samples->samples();
    uint32_t out = 0;
    for (uint64_t at = 0; at < samples; ++out) at += std::min(piece_size(config), samples - at);
    // A rest that is too short for a single frame is not heard.
    if (out > 1 && tokens_of_piece(config, samples % piece_size(config)) == 0 && samples % piece_size(config) != 0)
        --out;
    return out;
}

std::vector<float> piece_of(const OpenMedia& media, uint32_t piece) {
    const auto& config = media.projector->towers.audio->config;
    const audio::Resampled& heard = *media.sound->samples;
    const uint64_t first = piece * (config.kind == towers::AudioKind::gemma4a ? kPieceSamples : 0);
    std::vector<float> samples(size_t(std::min(piece_size(config), heard.samples() - first)));
    heard.read(first, samples);
    if (config.kind == towers::AudioKind::gemma4ua) return samples;
    static const audio::LogMel mel;
    return mel.features(samples);
}

}  // namespace lapidary::api

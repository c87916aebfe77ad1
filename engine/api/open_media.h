// Towers that are open, and the pictures and sounds that go through them.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/open_model.h"
#include "audio/resample.h"
#include "image/resize.h"
#include "infer/session.h"
#include "towers/gpu/gpu_audio.h"
#include "towers/gpu/gpu_vision.h"
#include "towers/projector.h"
#include "towers/vision_forward.h"

namespace lapidary::api {

struct OpenProjector {
    std::shared_ptr<OpenModel> file;  // that the towers lie in
    towers::Projector towers;
    towers::Activation activation = towers::Activation::gelu;
    std::string backend;
    uint64_t digest = 0;  // of what makes it another one

    kernels::Variant variant;  // of what it runs on the GPU

    // Null until something goes through it.
    std::shared_ptr<const reference::Weights> cpu_weights;
    std::shared_ptr<const towers::GpuVision> gpu_vision;
    std::shared_ptr<const towers::AudioForward> gpu_audio;

    [[nodiscard]] uint32_t width() const;  // of a soft token
    [[nodiscard]] std::vector<towers::Weight> weights() const;
};

// A sound as it was handed in: its samples are read from the bytes when they are wanted.
struct HeardSound {
    Bytes bytes;
    std::optional<audio::Resampled> samples;
};

// One picture, or one sound.
struct OpenMedia {
    std::shared_ptr<OpenProjector> projector;
    std::optional<image::Picture> picture;
    std::unique_ptr<HeardSound> sound;
    uint32_t tokens = 0;
    uint64_t digest = 0;
    infer::SoftPart::Rows soft;  // null until encoded

    [[nodiscard]] bool is_sound() const { return sound != nullptr; }
};

// What the tower gets, piece by piece: log-mel features, or samples. The first piece is number 0.
uint32_t pieces_of(const OpenMedia& media);
std::vector<float> piece_of(const OpenMedia& media, uint32_t piece);

// Tokens that a sound of so many samples becomes.
uint64_t sound_tokens(const towers::AudioConfig& config, uint64_t samples);

}  // namespace lapidary::api

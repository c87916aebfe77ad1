// A canvas of tokens on its way from noise to text: what goes into the layers, and what becomes of the logits (canvas/*.wgsl).
#pragma once

#include "base/checked.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// As the kernels read them (lib/canvas.wgsl).
inline constexpr uint32_t kCanvasGivenWords = 8;    // before the numbers
inline constexpr uint32_t kCanvasPlaceWords = 5;    // of a place
inline constexpr uint32_t kCanvasReportWords = 16;  // before the lists

// h = rms(x + signal)
struct CanvasInput {
    gpu::Tensor x;            // [rows, cols]
    gpu::Tensor signal = {};  // the same, or none
    gpu::Tensor h;
    uint32_t cols = 0;
    uint32_t rows = 0;
    float eps = 1e-6f;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::canvas_input::Binding;
        wgsl::canvas_input::Constants c{.kCols = cols};
        c.kSignal = signal.exists();
        c.kEps = eps;
        return Call<wgsl::canvas_input>(c).read(B::x, x).read(B::signal, signal).write(B::h, h).workgroups(rows);
    }
};

// Rows of a step's logits, which are in several buffers where one would be too large.
struct CanvasLogits {
    gpu::Tensor logits;  // [rows, vocabulary]
    uint32_t first_row = 0;
    uint32_t rows = 0;
};

// A tile of the probabilities of the step before.
struct CanvasProbabilities {
    gpu::Tensor given, places;
    CanvasLogits of;
    gpu::Tensor p;  // [all rows, tile]
    uint32_t vocabulary = 0;
    uint32_t first = 0;
    uint32_t tile = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::canvas_probabilities::Binding;
        wgsl::canvas_probabilities::Constants c{.kVocabulary = vocabulary, .kTile = tile};
        c.kFirst = first;
        c.kFirstRow = of.first_row;
        c.kStride = p.stride;
        return Call<wgsl::canvas_probabilities>(c)
            .read(B::given, given)
            .read(B::places, places)
            .read(B::logits, of.logits)
            .write(B::p, p)  // all parts of the logits together: every row is in one of them
            .workgroups(ceil_div(tile, 256), of.rows);
    }
};

struct CanvasPlaces {
    gpu::Tensor given;
    CanvasLogits of;
    gpu::Tensor places;  // [length, 5]
    gpu::Tensor tokens;  // [length, 2]
    uint32_t vocabulary = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::canvas_places::Binding;
        wgsl::canvas_places::Constants c{.kVocabulary = vocabulary};
        c.kFirstRow = of.first_row;
        return Call<wgsl::canvas_places>(c)
            .read(B::given, given)
            .read(B::logits, of.logits)
            .update(B::places, places)
            .update(B::tokens, tokens)
            .workgroups(of.rows);
    }
};

struct CanvasSettle {
    gpu::Tensor given, places, tokens;
    gpu::Tensor ids;     // [length]
    gpu::Tensor report;  // [16 + 4 · length]
    uint32_t length = 0;

    [[nodiscard]] Result<Dispatch> dispatch(const Target&) const {
        using B = wgsl::canvas_settle::Binding;
        return Call<wgsl::canvas_settle>({.kLength = length})
            .read(B::given, given)
            .read(B::places, places)
            .read(B::tokens, tokens)
            .update(B::ids, ids)
            .update(B::report, report)
            .workgroups(1);
    }
};

}  // namespace lapidary::kernels

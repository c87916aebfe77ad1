// A step of a canvas as one program: what goes in, all layers, the logits, and what becomes of the canvas.
#pragma once

#include "infer/canvas_tensors.h"
#include "infer/gpu_adapters.h"
#include "infer/session_tensors.h"

namespace lapidary::infer {

// Rows of the vocabulary whose probabilities are in memory together, for the sum of the embeddings they stand for. More of them
// take memory, fewer take dispatches.
inline constexpr uint32_t kVocabularyTile = 32768;

struct CanvasRecording {
    const GpuModel& model;
    const SessionTensors& session;
    const CanvasTensors& canvas;
    uint32_t context = 0;
    GpuAdapters* adapters = nullptr;
};

// `conditioned`: there was a step before, whose logits are still there.
void record_canvas_step(kernels::Program& program, const CanvasRecording& recording, bool conditioned);

}  // namespace lapidary::infer

// A model that writes by canvases, at the door: what it can be asked for, and what is told while it writes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "api/messages/canvas.h"
#include "api/messages/generate.h"
#include "infer/session.h"
#include "model/config.h"

namespace lapidary::api {

// The file's settings with what the call says instead. Refuses what such a model cannot keep to.
Result<CanvasSettings> canvas_settings(const SessionGenerateArgs& args, const model::DiffusionConfig& config);

// `text_of`: what tokens would add to the answer, and where what each adds ends.
DraftEvent draft_event(const infer::CanvasDraft& draft, const std::function<bool(int32_t)>& is_end,
                       const std::function<std::string(std::span<const int32_t>, std::vector<size_t>&)>& text_of);

// Those given, in place of the others; checked.
Result<CanvasSettings> with_settings(CanvasSettings settings, const DiffusionSettings& given);

// For inspect, and what a canvas takes beyond keys and values: the logits of all its tokens above all.
Json describe_diffusion(const model::DiffusionConfig& config);
uint64_t canvas_bytes(const model::Config& config);

Json canvas_stats(const infer::GenerateStats& stats);
CanvasMarginsMessage margins_message(const CanvasMargins& margins);

// Two steps of a canvas of noise: the second knows what the first one thought.
Task<Status> settle_two_steps(Runner& runner, Breathe breathe);

}  // namespace lapidary::api

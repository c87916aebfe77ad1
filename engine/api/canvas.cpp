#include "api/canvas.h"

#include <algorithm>
#include <cmath>

#include "chat/json.h"
#include "infer/canvas_program.h"

namespace lapidary::api {
namespace {

Status refuse_what_needs_an_order(const SessionGenerateArgs& args) {
    const auto refuse = [](const char* member) {
        return fail(
            Code::unsupported,
            "'{}' asks for something about each token before the next one is chosen; this model settles a canvas "
            "of tokens together and cannot promise that",
            member);
    };
    const std::string_view form = chat::string_of(chat::member(args.response_format, "type"));
    if (!args.response_format.is_null() && form != "text") return refuse("response_format");
    const std::string_view choice = chat::string_of(args.tool_choice);
    if (!args.tool_choice.is_null() && choice != "auto") return refuse("tool_choice");
    if (args.logprobs) return refuse("logprobs");
    const Sampling& s = args.sampling;
    if (s.repeat_penalty != 1) return refuse("repeat_penalty");
    if (s.presence_penalty != 0) return refuse("presence_penalty");
    if (s.frequency_penalty != 0) return refuse("frequency_penalty");
    if (!s.logit_bias.is_null() && !s.logit_bias.empty()) return refuse("logit_bias");
    return {};
}

size_t utf16_units(std::string_view text) {
    size_t units = 0;
    for (const char c : text) {
        const auto byte = uint8_t(c);
        if ((byte & 0xC0) != 0x80) units += byte >= 0xF0 ? 2 : 1;
    }
    return units;
}

}  // namespace

Result<CanvasSettings> with_settings(CanvasSettings out, const DiffusionSettings& given) {
    if (given.steps) out.max_steps = uint32_t(*given.steps);
    if (given.t_min) out.t_min = float(*given.t_min);
    if (given.t_max) out.t_max = float(*given.t_max);
    if (given.entropy_bound) out.entropy_bound = float(*given.entropy_bound);
    if (given.stability_threshold) out.stability_threshold = uint32_t(*given.stability_threshold);
    if (given.confidence_threshold) out.confidence_threshold = float(*given.confidence_threshold);
    TRY(check(out));
    return out;
}

Result<CanvasSettings> canvas_settings(const SessionGenerateArgs& args, const model::DiffusionConfig& config) {
    TRY(refuse_what_needs_an_order(args));
    DiffusionSettings given;
    if (!args.diffusion.is_null()) {
        if (!args.diffusion.is_object()) return fail(Code::invalid_argument, "'diffusion' must be an object");
        TRY(read_message(args.diffusion, given));
    }
    return with_settings(config.settings, given);
}

DraftEvent draft_event(const infer::CanvasDraft& draft, const std::function<bool(int32_t)>& is_end,
                       const std::function<std::string(std::span<const int32_t>, std::vector<size_t>&)>& text_of) {
    size_t count = 0;
    while (count < draft.tokens.size() && !is_end(draft.tokens[count])) ++count;
    std::vector<size_t> ends;
    DraftEvent out{.tokens = int64_t(draft.tokens.size()), .step = draft.step, .steps = draft.max_steps};
    out.text = text_of(draft.tokens.first(count), ends);
    for (const uint8_t accepted : draft.accept) out.settled += accepted;
    size_t at = 0;
    int64_t units = 0;
    for (size_t i = 0; i < count; ++i) {
        const auto length = int64_t(utf16_units(std::string_view(out.text).substr(at, ends[i] - at)));
        at = ends[i];
        if (draft.accept[i] != 0 && length > 0) {
            if (!out.firm.empty() && out.firm.back() == units) {
                out.firm.back() += length;
            } else {
                out.firm.insert(out.firm.end(), {units, units + length});
            }
        }
        units += length;
    }
    return out;
}

Json describe_diffusion(const model::DiffusionConfig& config) {
    const CanvasSettings& s = config.settings;
    // As people write them: 0.4, not what is nearest to it in 32 bits.
    const auto short_of = [](float value) { return std::round(double(value) * 1e6) / 1e6; };
    return {{"canvas_length", config.canvas},
            {"steps", s.max_steps},
            {"t_min", short_of(s.t_min)},
            {"t_max", short_of(s.t_max)},
            {"entropy_bound", short_of(s.entropy_bound)},
            {"stability_threshold", s.stability_threshold},
            {"confidence_threshold", short_of(s.confidence_threshold)}};
}

uint64_t canvas_bytes(const model::Config& config) {
    const uint64_t tile = std::min<uint64_t>(infer::kVocabularyTile, config.vocabulary);
    return uint64_t{config.diffusion->canvas} * (config.vocabulary + tile) * sizeof(float);
}

CanvasMarginsMessage margins_message(const CanvasMargins& margins) {
    const auto finite = [](float value) { return std::isfinite(value) ? std::optional(double(value)) : std::nullopt; };
    return {.argmax = finite(margins.argmax),
            .draw = finite(margins.draw),
            .acceptance = finite(margins.acceptance),
            .confidence = finite(margins.confidence)};
}

Json canvas_stats(const infer::GenerateStats& stats) {
    return written(CanvasStats{
        .canvases = stats.canvases, .steps = stats.canvas_steps, .margins = margins_message(stats.margins)});
}

}  // namespace lapidary::api

// What a model that writes by canvases takes and tells beyond what others do; and the two methods that look at one closely.
#pragma once

#include "api/messages/common.h"
#include "base/canvas_settings.h"

namespace lapidary::api {

struct DiffusionSettings {
    std::optional<int64_t> steps;
    std::optional<double> t_min;
    std::optional<double> t_max;
    std::optional<double> entropy_bound;
    std::optional<int64_t> stability_threshold;
    std::optional<double> confidence_threshold;
};
ARGUMENTS(
    DiffusionSettings, MEMBER(steps, "of a canvas, at most").between(1, kMaxCanvasSteps),
    MEMBER(t_min, "the temperature falls towards this …"), MEMBER(t_max, "… from this at the first step"),
    MEMBER(entropy_bound,
           "a step accepts the surest tokens until their entropies sum to more than this, in nats: more is faster "
           "and less careful"),
    MEMBER(stability_threshold, "a canvas is done early when so many steps before had the same most likely tokens …")
        .between(0, kMaxCanvasSteps),
    MEMBER(confidence_threshold, "… and the mean entropy is below this"));

struct DraftEvent {
    std::string type = "draft";
    std::string text;
    std::vector<int64_t> firm;
    int64_t settled = 0;
    int64_t tokens = 0;
    int64_t step = 0;
    int64_t steps = 0;
};
MESSAGE(DraftEvent, MEMBER(type, "").as("'draft'"),
        MEMBER(text, "what may follow what was told before; the next draft, or what is told then, takes its place"),
        MEMBER(firm, "where in the text accepted tokens are: start, end, start, end, … in UTF-16 units"),
        MEMBER(settled, "tokens of the canvas that were accepted"), MEMBER(tokens, "of a canvas"),
        MEMBER(step, "from 1"), MEMBER(steps, "there can be"));

struct CanvasMarginsMessage {
    std::optional<double> argmax;
    std::optional<double> draw;
    std::optional<double> acceptance;
    std::optional<double> confidence;
};
MESSAGE(CanvasMarginsMessage, MEMBER(argmax, "the most likely token's logit above the next one's"),
        MEMBER(draw, "a random number from either end of its token's interval"),
        MEMBER(acceptance, "a sum of entropies from the bound, in nats"),
        MEMBER(confidence, "the mean entropy from its threshold, in nats"));

struct CanvasStats {
    int64_t canvases = 0;
    int64_t steps = 0;
    CanvasMarginsMessage margins;
};
MESSAGE(CanvasStats, MEMBER(canvases, "that were settled"), MEMBER(steps, "of all of them"),
        MEMBER(margins,
               "how far the nearest decision was from being another: where an engine's error is smaller, it writes the "
               "same text"));

struct CanvasBench {
    int64_t length = 0;
    double step_ms = 0;
    std::optional<double> step_gpu_ms;
    double tokens_per_second_8 = 0;
    double tokens_per_second_16 = 0;
    double tokens_per_second_32 = 0;
    int64_t weight_bytes_per_step = 0;
    std::optional<int64_t> dispatches_per_step;
    std::optional<int64_t> submits_per_step;
};
MESSAGE(CanvasBench, MEMBER(length, "tokens of a canvas"), MEMBER(step_ms, "of one that is conditioned on another"),
        MEMBER(step_gpu_ms, "by the GPU's clock, if it has one"),
        MEMBER(tokens_per_second_8, "where a canvas takes 8 steps, and is then read"),
        MEMBER(tokens_per_second_16, "likewise"), MEMBER(tokens_per_second_32, "likewise"),
        MEMBER(weight_bytes_per_step, "if every expert is chosen by some token"),
        MEMBER(dispatches_per_step, "on the GPU"), MEMBER(submits_per_step, "on the GPU"));

struct SessionCanvasLogitsArgs {
    Id session = 0;
    Id sink = 0;
    int64_t canvases = 0;
    Json temperatures;
    std::vector<AdapterUse> adapters;
};
ARGUMENTS(SessionCanvasLogitsArgs, MEMBER(session, "its number"), MEMBER(sink, "where the rows of float32 go"),
          MEMBER(canvases, "how many canvases stand behind the prompt").between(1, 1 << 16),
          MEMBER(temperatures,
                 "by which the logits of each canvas but the last are divided before the next one sees them")
              .as("readonly number[]"),
          ADAPTERS);

struct SessionCanvasLogitsResult {
    int64_t rows = 0;
    int64_t vocabulary = 0;
};
MESSAGE(SessionCanvasLogitsResult, MEMBER(rows, "canvases · tokens of one"), MEMBER(vocabulary, "numbers in a row"));

struct SessionDiffuseArgs {
    Id session = 0;
    DiffusionSettings settings;
    std::vector<int64_t> end_tokens;
    std::vector<int64_t> first_step;
    std::vector<int64_t> canvas_in;
    std::vector<int64_t> noise;
    Json uniforms;
    std::vector<AdapterUse> adapters;
};
ARGUMENTS(SessionDiffuseArgs, MEMBER(session, "its number"), MEMBER(settings, "those that are not the file's"),
          MEMBER(end_tokens, "after one of them nothing more is written"),
          MEMBER(first_step, "of each canvas: where its start and its numbers begin in the lists"),
          MEMBER(canvas_in, "what each step began with; only that of a canvas's first is looked at"),
          MEMBER(noise, "tokens for the places of each step that are not accepted"),
          MEMBER(uniforms, "that draw the tokens of each step").as("readonly number[]"), ADAPTERS);

struct DiffuseStep {
    std::vector<int64_t> canvas_in;
    std::vector<int64_t> accept;
    std::vector<int64_t> argmax;
    std::vector<double> entropy;
};
MESSAGE(DiffuseStep, MEMBER(canvas_in, "what the step looked at"), MEMBER(accept, "1 where the token drawn stays"),
        MEMBER(argmax, "the most likely tokens"), MEMBER(entropy, "of each place, in nats"));

struct SessionDiffuseResult {
    std::vector<DiffuseStep> steps;
    std::vector<int64_t> output;
    CanvasMarginsMessage margins;
};
MESSAGE(SessionDiffuseResult, MEMBER(steps, "of all canvases, one after the other"),
        MEMBER(output, "all canvases, and the token for padding after one that ends"),
        MEMBER(margins, "as in CanvasStats"));

struct GpuSettleArgs {
    int64_t length = 0;
    int64_t vocabulary = 0;
    DiffusionSettings settings;
    Json temperatures;
    std::vector<int64_t> canvas;
    std::vector<int64_t> noise;
    Json uniforms;
};
ARGUMENTS(GpuSettleArgs, MEMBER(length, "of the canvas").between(2, 4096),
          MEMBER(vocabulary, "how many logits a place has").between(2, 1 << 20),
          MEMBER(settings, "those that are not the usual ones"),
          MEMBER(temperatures, "of each step").as("readonly number[]"), MEMBER(canvas, "what the first step looks at"),
          MEMBER(noise, "tokens for the places of each step that are not accepted"),
          MEMBER(uniforms, "that draw the tokens of each step").as("readonly number[]"));

struct GpuSettleResult {
    std::vector<DiffuseStep> steps;
    std::vector<int64_t> settled;
    std::vector<int64_t> canvas;
};
MESSAGE(GpuSettleResult, MEMBER(steps, "all that there are logits for"),
        MEMBER(settled, "of each step: 1 where the canvas was done"), MEMBER(canvas, "what a next step would look at"));

}  // namespace lapidary::api

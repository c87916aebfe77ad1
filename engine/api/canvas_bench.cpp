// session.bench of a model that writes by canvases: what a step takes, and how many tokens a second that makes.
#include "api/api.h"
#include "api/median.h"
#include "api/messages/canvas.h"
#include "api/messages/session.h"
#include "infer/canvas_settling.h"
#include "infer/gpu_runner.h"
#include "model/memory.h"

namespace lapidary::api {
namespace {

// Steps of a canvas that speeds are told for: how many it takes depends on the text.
constexpr uint32_t kFew = 8;
constexpr uint32_t kSome = 16;
constexpr uint32_t kMany = 32;

}  // namespace

Task<Status> settle_two_steps(Runner& runner, Breathe breathe) {
    CanvasRunner& canvas = *runner.canvas();
    const auto numbers = infer::canvas_numbers(7, 1, 0, canvas.length(), runner.vocabulary());
    const std::vector<int32_t> start(numbers.noise.begin(), numbers.noise.end());
    CO_TRY(canvas.begin(start));
    const CanvasStep step{.temperature = 0.8f, .uniforms = numbers.uniforms, .noise = numbers.noise};
    for (int i = 0; i < 2; ++i) CO_TRY(co_await canvas.step(step, CanvasView::outcome, breathe));
    co_return Status{};
}

Task<Result<Reply>> Api::bench_canvas(Call& call, OpenSession& open, const SessionBenchArgs& args) {
    Runner& runner = open.session->runner();
    CanvasRunner& canvas = *runner.canvas();
    const uint32_t length = canvas.length();
    const uint32_t vocabulary = runner.vocabulary();
    const auto depth = uint32_t(args.depth);
    const auto prompt = uint32_t(args.prompt);
    if (uint64_t{depth} + prompt + length > runner.context()) {
        co_return fail(Code::limit, "a context of {} tokens is too short for this", runner.context());
    }
    const auto any = [&](uint32_t of, uint32_t count) {
        std::vector<int32_t> out;
        for (uint32_t i = 0; out.size() < count; ++i) {
            const auto numbers = infer::canvas_numbers(7, of, i, length, vocabulary);
            for (const uint32_t id : numbers.noise) out.push_back(int32_t(id));
        }
        out.resize(count);
        return out;
    };
    const std::vector<int32_t> text = any(0, prompt);
    const auto numbers = infer::canvas_numbers(7, 1, 0, length, vocabulary);
    std::vector<double> reading;
    std::vector<double> steps;
    std::vector<double> gpu;
    std::vector<double> committing;
    const auto progress = progress_of(call);
    for (int64_t i = 0; i <= args.runs; ++i) {  // the first one warms up
        CO_TRY(call.cancel.check());
        open.session->reset();
        if (depth > 0) CO_TRY(co_await runner.run(any(2, depth), LogitsWanted::none, nullptr));
        double from = host_.now();
        CO_TRY(co_await runner.run(text, LogitsWanted::none, nullptr));
        reading.push_back(host_.now() - from);
        CO_TRY(canvas.begin(any(3, length)));
        // The first is not conditioned on anything, the second one's program is made with it.
        const CanvasStep step{.temperature = 0.8f, .uniforms = numbers.uniforms, .noise = numbers.noise};
        CO_TRY(co_await canvas.step(step, CanvasView::outcome, breathe_for(call)));
        if (i == 0) CO_TRY(co_await canvas.step(step, CanvasView::outcome, breathe_for(call)));
        from = host_.now();
        CO_TRY(co_await canvas.step(step, CanvasView::outcome, breathe_for(call)));
        steps.push_back(host_.now() - from);
        if (open.gpu != nullptr && device_->info().timestamps) {
            gpu.push_back(CO_TRY(co_await open.gpu->canvas()->time_step(1, call.cancel)));
        }
        const auto result = CO_TRY(co_await canvas.result());
        from = host_.now();
        CO_TRY(co_await runner.run(result, LogitsWanted::none, nullptr));
        committing.push_back(host_.now() - from);
        progress(uint64_t(i) + 1, uint64_t(args.runs) + 1);
    }
    open.session->reset();
    const auto typical = [](const std::vector<double>& ms) { return median({ms.begin() + 1, ms.end()}); };
    const double step_ms = typical(steps);
    const auto per_second = [&](uint32_t count) { return length * 1000 / (count * step_ms + typical(committing)); };
    const auto table = CO_TRY(open.model->weights());
    // The embedding's table is the head too, and read once more for what a step is conditioned on.
    const uint64_t weights = model::weight_bytes(*table) + table->token_embd.bytes();
    CanvasBench bench{.length = length,
                      .step_ms = step_ms,
                      .tokens_per_second_8 = per_second(kFew),
                      .tokens_per_second_16 = per_second(kSome),
                      .tokens_per_second_32 = per_second(kMany),
                      .weight_bytes_per_step = int64_t(weights)};
    SessionBenchResult out{.prefill_tps = prompt * 1000 / typical(reading),
                           .decode_tps = bench.tokens_per_second_16,
                           .prompt_tokens = prompt,
                           .decode_tokens = length,
                           .depth = depth,
                           .weight_bytes_per_token = bench.weight_bytes_per_step / length};
    if (open.gpu != nullptr) {
        if (!gpu.empty()) bench.step_gpu_ms = typical(gpu);
        bench.dispatches_per_step = int64_t(open.gpu->canvas()->dispatches());
        bench.submits_per_step = 1;
        out.gpu_bytes =
            BenchBytes{.weights = int64_t(open.model->gpu_weights->bytes()), .session = int64_t(open.gpu->bytes())};
        out.adapter = device_->info().adapter;
    }
    out.canvas = written(bench);
    co_return reply(out);
}

}  // namespace lapidary::api

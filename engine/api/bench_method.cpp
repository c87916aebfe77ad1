// session.bench: how fast a session reads and writes. session.profile: where the time of a written token goes.
#include <algorithm>
#include <vector>

#include "api/api.h"
#include "api/canvas.h"
#include "api/median.h"
#include "api/messages/session.h"
#include "base/edition.h"
#include "infer/gpu_runner.h"
#include "model/memory.h"
#include "sample/random.h"

namespace lapidary::api {
namespace {

// Weights a decoded token reads: everything but the embedding tables, of which it reads a row, and of the experts only
// those chosen. The head is read whole even when it is the embedding table.
uint64_t bytes_per_token(const model::Config& config, const model::WeightTable& table) {
    uint64_t bytes = model::weight_bytes(table) - table.per_layer_token_embd.bytes();
    if (table.output.present()) bytes -= table.token_embd.bytes();
    for (const model::LayerWeights& layer : table.layers) {
        for (const model::Weight* experts :
             {&layer.expert_gate_up, &layer.expert_gate, &layer.expert_up, &layer.expert_down}) {
            if (!experts->present()) continue;
            bytes -= experts->bytes() / config.experts.count * (config.experts.count - config.experts.used);
        }
    }
    return bytes;
}

// Something to read; what it says does not matter.
std::vector<int32_t> any_tokens(const model::Config& config, uint32_t count) {
    std::vector<int32_t> tokens(count);
    for (uint32_t i = 0; i < count; ++i) tokens[i] = int32_t(sample::uniform(7, i) * float(config.vocabulary));
    return tokens;
}

}  // namespace

Task<Result<Reply>> Api::session_bench(Call& call) {
    SessionBenchArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    const auto config = CO_TRY(open->model->config());
    CO_TRY(model::check_writes_text(*config));
    const auto prompt = uint32_t(args.prompt);
    const auto decode = uint32_t(args.decode);
    const auto depth = uint32_t(args.depth);
    const auto runs = uint32_t(args.runs);
    Runner& runner = open->session->runner();
    const bool by_canvas = has_everything() && config->diffusion;
    if (!by_canvas && uint64_t(depth) + std::max(prompt, 2 * decode) > runner.context()) {
        co_return fail(Code::limit, "a context of {} tokens is too short for this", runner.context());
    }
    if (has_everything() && config->diffusion) co_return co_await bench_canvas(call, *open, args);
    const std::vector<int32_t> tokens = any_tokens(*config, depth + prompt);
    const auto at_depth = [&]() -> Task<Status> {
        open->session->reset();
        if (depth > 0) CO_TRY(co_await runner.run(std::span(tokens).first(depth), LogitsWanted::none, nullptr));
        co_return Status{};
    };
    const std::span<const int32_t> text = std::span<const int32_t>(tokens).subspan(depth);
    const auto progress = progress_of(call);

    std::vector<double> prefill;
    std::vector<double> decoding;
    std::vector<double> gpu_ms;
    for (uint32_t i = 0; i <= runs; ++i) {  // the first one warms up
        CO_TRY(call.cancel.check());
        CO_TRY(co_await at_depth());
        double from = host_.now();
        CO_TRY(co_await runner.run(text, LogitsWanted::last, nullptr));
        prefill.push_back(host_.now() - from);
        CO_TRY(co_await at_depth());
        from = host_.now();
        if (open->gpu != nullptr) {
            CO_TRY(co_await open->gpu->decode_greedy(tokens[0], decode, call.cancel));
        } else {
            for (uint32_t n = 0; n < decode; ++n) {
                CO_TRY(co_await runner.run(text.first(1), LogitsWanted::last, breathe_for(call)));
            }
        }
        decoding.push_back(host_.now() - from);
        if (open->gpu != nullptr && device_->info().timestamps) {
            gpu_ms.push_back(CO_TRY(co_await open->gpu->time_decode(decode, call.cancel)));
        }
        progress(i + 1, runs + 1);
    }
    open->session->reset();
    const auto per_second = [&](std::vector<double> ms, uint32_t count) {
        ms.erase(ms.begin());
        return double(count) / median(std::move(ms)) * 1000;
    };
    SessionBenchResult out{
        .prefill_tps = per_second(prefill, prompt),
        .decode_tps = per_second(decoding, decode),
        .prompt_tokens = prompt,
        .decode_tokens = decode,
        .depth = depth,
        .weight_bytes_per_token = int64_t(bytes_per_token(*config, *CO_TRY(open->model->weights())))};
    if (open->gpu != nullptr) {
        if (!gpu_ms.empty()) out.decode_gpu_ms = median({gpu_ms.begin() + 1, gpu_ms.end()});
        out.dispatches_per_token = int64_t(open->gpu->decode_dispatches());
        out.submits_per_token = 1;
        out.gpu_bytes =
            BenchBytes{.weights = int64_t(open->model->gpu_weights->bytes()), .session = int64_t(open->gpu->bytes())};
        out.adapter = device_->info().adapter;
    }
    co_return reply(out);
}

// The GPU time of a token, by kernel and size.
Task<Result<Reply>> Api::session_profile(Call& call) {
    SessionProfileArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    if (open->gpu == nullptr) co_return fail(Code::unsupported, "only a session on the GPU has kernels to be timed");
    CO_TRY(check_between("depth", args.depth, 0, open->gpu->context() - 1));
    const auto depth = uint32_t(args.depth);
    const std::vector<int32_t> tokens = any_tokens(*CO_TRY(open->model->config()), depth);
    open->session->reset();
    if (depth > 0) CO_TRY(co_await open->gpu->run(tokens, LogitsWanted::none, nullptr));
    SessionProfileResult out;
    std::vector<infer::KernelTime> times;
    if (has_everything() && open->gpu->canvas() != nullptr) {
        CO_TRY(co_await settle_two_steps(*open->gpu, breathe_for(call)));
        times = CO_TRY(co_await open->gpu->canvas()->profile_step(call.cancel));
    } else {
        times = CO_TRY(co_await open->gpu->profile_decode(call.cancel));
    }
    for (const infer::KernelTime& time : times) {
        out.profile.push_back({.kernel = time.label, .dispatches = int64_t(time.dispatches), .ms = time.ms});
    }
    open->session->reset();
    co_return reply(out);
}

}  // namespace lapidary::api

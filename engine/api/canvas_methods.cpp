// session.canvas_logits, session.diffuse and gpu.settle: a model that writes by canvases, or its sampler alone, with everything
// given that is otherwise random.
#include <cstring>

#include "api/api.h"
#include "api/canvas.h"
#include "api/token_blob.h"
#include "infer/canvas_rule.h"
#include "infer/canvas_settling.h"

namespace lapidary::api {
namespace {

Result<CanvasRunner*> canvas_of(infer::Session& session) {
    CanvasRunner* const canvas = session.runner().canvas();
    if (canvas == nullptr) {
        return fail(Code::unsupported, "this model writes token by token: only a diffusion model has a canvas");
    }
    return canvas;
}

Result<std::vector<float>> number_list(const Json& list, const char* name) {
    std::vector<float> out;
    if (list.is_null()) return out;
    const auto refuse = [&] { return fail(Code::invalid_argument, "'{}' must be a list of numbers", name); };
    if (!list.is_array()) return refuse();
    for (const Json& item : list) {
        if (!item.is_number()) return refuse();
        out.push_back(item.get<float>());
    }
    return out;
}

Result<std::vector<int32_t>> known_tokens(const std::vector<int64_t>& list, const char* name, uint32_t vocabulary) {
    std::vector<int32_t> out;
    for (const int64_t id : list) {
        if (id < 0 || id >= int64_t(vocabulary)) {
            return fail(Code::invalid_argument, "'{}' must be a list of token ids from 0 to {}", name, vocabulary - 1);
        }
        out.push_back(int32_t(id));
    }
    return out;
}

template <class T>
std::vector<int64_t> wide(const std::vector<T>& values) {
    return {values.begin(), values.end()};
}

// What was given for all steps.
struct Replay {
    std::vector<int32_t> canvas_in, noise;
    std::vector<float> uniforms;
    uint32_t length = 0;

    [[nodiscard]] size_t steps() const { return uniforms.size() / length; }
    template <class T>
    std::vector<T> of(const auto& all, size_t step) const {
        const auto begin = all.begin() + ptrdiff_t(step * length);
        return {begin, begin + ptrdiff_t(length)};
    }
};

Result<Replay> replay_of(const SessionDiffuseArgs& args, uint32_t length, uint32_t vocabulary) {
    Replay out{.canvas_in = TRY(known_tokens(args.canvas_in, "canvas_in", vocabulary)),
               .noise = TRY(known_tokens(args.noise, "noise", vocabulary)),
               .uniforms = TRY(number_list(args.uniforms, "uniforms")),
               .length = length};
    const bool same = out.canvas_in.size() == out.noise.size() && out.noise.size() == out.uniforms.size();
    if (!same || out.noise.empty() || out.noise.size() % length != 0) {
        return fail(Code::invalid_argument,
                    "'canvas_in', 'noise' and 'uniforms' must have {} entries for each step: they have {}, {} and {}",
                    length, out.canvas_in.size(), out.noise.size(), out.uniforms.size());
    }
    for (const int64_t first : args.first_step) {
        if (first < 0 || first >= int64_t(out.steps())) {
            return fail(Code::invalid_argument, "'first_step' names step {}, and there are {}", first, out.steps());
        }
    }
    return out;
}

DiffuseStep step_of(const CanvasOutcome& outcome) {
    return {.canvas_in = wide(outcome.canvas_in),
            .accept = wide(outcome.accept),
            .argmax = wide(outcome.argmax),
            .entropy = {outcome.entropy.begin(), outcome.entropy.end()}};
}

}  // namespace

Task<Result<Reply>> Api::session_canvas_logits(Call& call) {
    SessionCanvasLogitsArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    CO_TRY(co_await use_adapters(args.adapters, *open));
    Runner& runner = open->session->runner();
    CanvasRunner& canvas = *CO_TRY(canvas_of(*open->session));
    const std::vector<int32_t> tokens = CO_TRY(from_blob(call.blob));
    const std::vector<float> temperatures = CO_TRY(number_list(args.temperatures, "temperatures"));
    const auto count = size_t(args.canvases);
    const size_t length = canvas.length();
    if (tokens.size() <= count * length) {
        co_return fail(Code::invalid_argument, "{} tokens are not a prompt and {} canvases of {} each", tokens.size(),
                       count, length);
    }
    if (temperatures.size() + 1 != count) {
        co_return fail(Code::invalid_argument, "{} canvases need {} temperatures, not {}", count, count - 1,
                       temperatures.size());
    }
    for (const float t : temperatures) {
        if (!(t > 0)) co_return fail(Code::invalid_argument, "'temperatures' must be above 0");
    }
    const auto all = std::span<const int32_t>(tokens);
    const auto prompt = all.first(tokens.size() - count * length);
    open->session->reset();
    HostSink sink(ops_, args.sink);
    const auto progress = progress_of(call);
    CO_TRY(co_await runner.run(prompt, LogitsWanted::none, breathe_for(call)));
    const std::vector<float> uniforms(length);
    const std::vector<uint32_t> noise(length);
    uint64_t written = 0;
    for (size_t i = 0; i < count; ++i) {
        const auto ids = all.subspan(prompt.size() + i * length, length);
        CO_TRY(i == 0 ? canvas.begin(ids) : canvas.replace(ids));
        CO_TRY(co_await canvas.step(
            {.temperature = i < temperatures.size() ? temperatures[i] : 1, .uniforms = uniforms, .noise = noise},
            CanvasView::outcome, breathe_for(call)));
        const std::vector<float> logits = CO_TRY(co_await canvas.logits());
        // A piece at a time: all rows of a large vocabulary are hundreds of megabytes.
        constexpr size_t kPiece = size_t{1} << 20;
        const auto bytes = std::as_bytes(std::span(logits));
        for (size_t at = 0; at < bytes.size(); at += kPiece) {
            const auto piece = bytes.subspan(at, std::min(kPiece, bytes.size() - at));
            Bytes copy(piece.size());
            std::memcpy(copy.data(), piece.data(), piece.size());
            CO_TRY(co_await sink.write(written, std::move(copy), call.cancel));
            written += piece.size();
        }
        progress(i + 1, count);
    }
    open->session->reset();
    co_return reply(SessionCanvasLogitsResult{.rows = int64_t(count * length), .vocabulary = runner.vocabulary()});
}

Task<Result<Reply>> Api::session_diffuse(Call& call) {
    SessionDiffuseArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    CO_TRY(co_await use_adapters(args.adapters, *open));
    Runner& runner = open->session->runner();
    CanvasRunner& canvas = *CO_TRY(canvas_of(*open->session));
    const auto config = CO_TRY(open->model->config());
    const CanvasSettings settings = CO_TRY(with_settings(config->diffusion->settings, args.settings));
    const Replay replay = CO_TRY(replay_of(args, canvas.length(), runner.vocabulary()));
    const std::vector<int32_t> ends = CO_TRY(known_tokens(args.end_tokens, "end_tokens", runner.vocabulary()));
    const std::vector<int32_t> prompt = CO_TRY(from_blob(call.blob));
    if (prompt.empty()) co_return fail(Code::invalid_argument, "there are no tokens");
    const int32_t pad = CO_TRY(open->model->tokenizer())->find("<pad>").value_or(0);

    open->session->reset();
    CO_TRY(co_await runner.run(prompt, LogitsWanted::none, breathe_for(call)));
    SessionDiffuseResult out;
    CanvasMargins margins;
    for (const int64_t first : args.first_step) {
        infer::CanvasSettling settling{
            .settings = settings,
            .start = replay.of<int32_t>(replay.canvas_in, size_t(first)),
            .numbers = [&](uint32_t step) -> Result<infer::CanvasNumbers> {
                const size_t at = size_t(first) + step - 1;
                if (at >= replay.steps()) {
                    return fail(Code::invalid_argument, "a canvas wants step {}, and numbers are given for {}", at,
                                replay.steps());
                }
                return infer::CanvasNumbers{.uniforms = replay.of<float>(replay.uniforms, at),
                                            .noise = replay.of<uint32_t>(replay.noise, at)};
            },
            .view = CanvasView::everything,
            .on_step = [&](uint32_t /*step*/, const CanvasOutcome& outcome) { out.steps.push_back(step_of(outcome)); }};
        auto settled = CO_TRY(co_await infer::settle_canvas(canvas, std::move(settling), breathe_for(call)));
        margins.include(settled.margins);
        const auto end = std::ranges::find_first_of(settled.tokens, ends);
        const bool ended = end != settled.tokens.end();
        if (ended) std::fill(end + 1, settled.tokens.end(), pad);
        out.output.insert(out.output.end(), settled.tokens.begin(), settled.tokens.end());
        if (ended) break;
        CO_TRY(co_await runner.run(settled.tokens, LogitsWanted::none, breathe_for(call)));
    }
    open->session->reset();
    out.margins = margins_message(margins);
    co_return reply(out);
}

Task<Result<Reply>> Api::gpu_settle(Call& call) {
    GpuSettleArgs args;
    CO_TRY(read_message(call.args, args));
    if (device_ == nullptr) co_return fail(Code::unsupported, "there is no WebGPU here");
    const auto length = uint32_t(args.length);
    const auto vocabulary = uint32_t(args.vocabulary);
    const std::vector<int32_t> start = CO_TRY(known_tokens(args.canvas, "canvas", vocabulary));
    const std::vector<float> temperatures = CO_TRY(number_list(args.temperatures, "temperatures"));
    const Replay given{.noise = CO_TRY(known_tokens(args.noise, "noise", vocabulary)),
                       .uniforms = CO_TRY(number_list(args.uniforms, "uniforms")),
                       .length = length};
    const CanvasSettings settings = CO_TRY(with_settings({}, args.settings));
    const size_t steps = temperatures.size();
    const size_t of_step = size_t{length} * vocabulary;
    if (given.uniforms.size() != steps * length || given.noise.size() != steps * length ||
        call.blob.size() / sizeof(float) / of_step != steps || call.blob.size() % (of_step * sizeof(float)) != 0) {
        co_return fail(Code::invalid_argument, "{} steps want {} numbers, as many tokens, and {} logits", steps,
                       steps * length, steps * of_step);
    }
    std::vector<float> logits(steps * of_step);
    std::memcpy(logits.data(), call.blob.data(), call.blob.size());
    CO_TRY(co_await device_->open({}, call.cancel));
    const auto rule = CO_TRY(co_await infer::CanvasRule::create(*device_, length, vocabulary, call.cancel));
    CO_TRY(rule->begin(start));
    GpuSettleResult out;
    for (size_t i = 0; i < steps; ++i) {
        const auto uniforms = given.of<float>(given.uniforms, i);
        const auto noise = given.of<uint32_t>(given.noise, i);
        const auto outcome = CO_TRY(co_await rule->step(
            std::span(logits).subspan(i * of_step, of_step),
            {.settings = settings, .temperature = temperatures[i], .uniforms = uniforms, .noise = noise}));
        out.steps.push_back(step_of(outcome));
        out.settled.push_back(outcome.settled() ? 1 : 0);
    }
    out.canvas = wide(CO_TRY(co_await rule->canvas()));
    co_return reply(out);
}

}  // namespace lapidary::api

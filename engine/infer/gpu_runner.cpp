#include "infer/gpu_runner.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

#include "base/edition.h"
#include "base/sort_few.h"

namespace lapidary::infer {

Task<Result<std::unique_ptr<GpuRunner>>> GpuRunner::create(std::shared_ptr<GpuModel> model, GpuOptions options,
                                                           Cancel cancel) {
    auto programs = CO_TRY(co_await GpuPrograms::create(std::move(model), options, std::move(cancel)));
    std::unique_ptr<GpuRunner> out(new GpuRunner(std::move(programs)));
    if (has_everything() && out->programs_->canvas_tensors() != nullptr)
        out->canvas_ = std::make_unique<GpuCanvas>(*out);
    co_return out;
}

void GpuRunner::truncate(uint32_t length) {
    if (length >= position_) return;
    // A ring still holds what the window of `length` reaches back to unless too much was written over it since.
    const uint32_t ring = programs_->config().sliding_window + kMaxBlock;
    const bool intact = furthest_ <= ring || furthest_ - length <= kMaxBlock;
    position_ = intact ? length : 0;
    if (position_ == 0) furthest_ = 0;
}

Status GpuRunner::check(std::span<const int32_t> tokens) const {
    if (tokens.size() > context() - position_) {
        return fail(Code::limit, "{} tokens do not fit: the context holds {} and {} are in use", tokens.size(),
                    context(), position_);
    }
    for (const int32_t token : tokens) {
        if (token < 0 || uint32_t(token) >= vocabulary()) {
            return fail(Code::invalid_argument, "token {} does not exist: the vocabulary has {}", token, vocabulary());
        }
    }
    return {};
}

Task<Result<std::vector<float>>> GpuRunner::run_block(std::span<const int32_t> tokens, Depth depth, uint32_t logit_rows,
                                                      bool keep) {
    gpu::Device& device = programs_->device();
    const auto count = uint32_t(tokens.size());
    const uint32_t block = *std::ranges::find_if(GpuPrograms::kBlocks, [&](uint32_t size) { return size >= count; });
    const gpu::Id layers = CO_TRY(co_await programs_->layers(block, depth, {}));
    CO_TRY(co_await programs_->write_rows(tokens, {}));
    programs_->write_tokens(tokens);
    write_history(programs_->device(), programs_->tensors(), position_, tokens);
    programs_->write_step(position_, count);
    device.run(layers);
    position_ += count;
    furthest_ = std::max(furthest_, position_);
    if (logit_rows > 0) device.run(CO_TRY(co_await programs_->head(count - logit_rows, logit_rows, {})));
    std::vector<float> logits(keep ? 0 : size_t(logit_rows) * vocabulary());
    if (logits.empty()) co_return logits;
    const auto bytes =
        CO_TRY(co_await device.read(programs_->tensors().logits.at.buffer, 0, logits.size() * sizeof(float), {}));
    std::memcpy(logits.data(), bytes.data(), bytes.size());
    co_return logits;
}

Task<Result<std::vector<float>>> GpuRunner::run(std::span<const int32_t> tokens, LogitsWanted wanted, Breathe breathe) {
    const uint32_t start = position_;
    CO_TRY(check(tokens));
    // Where the last layers only read what earlier ones have stored, a prompt's tokens need not go through them: only
    // the last one does, by itself.
    const bool wants_last = wanted == LogitsWanted::last || wanted == LogitsWanted::kept;
    const bool can_skip = programs_->config().shared_kv_layers > 0 && wanted != LogitsWanted::all;
    const uint32_t most_together = programs_->options().block;
    const uint32_t largest = wanted == LogitsWanted::all ? std::min(kLogitRows, most_together) : most_together;
    std::vector<float> logits;
    Status status;
    for (size_t done = 0; done < tokens.size() && status;) {
        const size_t left = tokens.size() - done;
        const bool shallow = can_skip && (left > 1 || wanted == LogitsWanted::none);
        const size_t most = shallow && wants_last ? left - 1 : left;
        const auto block = tokens.subspan(done, std::min<size_t>(largest, most));
        done += block.size();
        const bool last = done == tokens.size();
        const auto rows = uint32_t(wanted == LogitsWanted::all ? block.size() : wants_last && last ? 1 : 0);
        auto part = co_await run_block(block, shallow ? Depth::keys_and_values : Depth::all, rows,
                                       wanted == LogitsWanted::kept);
        if (!part) {
            status = std::unexpected(std::move(part).error());
            break;
        }
        logits.insert(logits.end(), part->begin(), part->end());
        if (breathe) status = co_await breathe();
    }
    if (status && wanted == LogitsWanted::none) status = co_await programs_->device().sync({});
    if (!status) {
        truncate(start);
        co_return std::unexpected(std::move(status).error());
    }
    co_return logits;
}

Task<Status> GpuRunner::embed(std::span<const std::vector<int32_t>> texts, OnEmbedded take, Breathe breathe) {
    for (size_t i = 0; i < texts.size(); ++i) {
        truncate(0);
        auto mean = co_await mean_state(texts[i], breathe);
        truncate(0);
        take(i, CO_TRY(std::move(mean)));
    }
    co_return Status{};
}

Task<Result<std::vector<float>>> GpuRunner::mean_state(std::span<const int32_t> tokens, const Breathe& breathe) {
    CO_TRY(check(tokens));
    const size_t width = programs_->config().width;
    std::vector<double> sum(width);
    const auto add_block = [&](std::span<const int32_t> block) -> Task<Status> {
        CO_TRY(co_await run_block(block, Depth::all, 0, false));
        const gpu::Binding hidden = programs_->tensors().xn.at;
        const auto bytes =
            CO_TRY(co_await programs_->device().read(hidden.buffer, 0, block.size() * width * sizeof(float), {}));
        for (size_t i = 0; i < block.size() * width; ++i) {
            float value = 0;
            std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
            sum[i % width] += double(value);
        }
        co_return breathe ? co_await breathe() : Status{};
    };
    Status status;
    const size_t block = programs_->options().block;
    for (size_t done = 0; done < tokens.size() && status; done += block) {
        status = co_await add_block(tokens.subspan(done, std::min(block, tokens.size() - done)));
    }
    CO_TRY(std::move(status));
    std::vector<float> mean(width);
    for (size_t i = 0; i < width; ++i) mean[i] = float(sum[i] / double(std::max<size_t>(tokens.size(), 1)));
    co_return mean;
}

std::string GpuRunner::state_layout() const {
    return "GPU, " + std::string(kv_format_name(programs_->options().kv));
}

uint64_t GpuRunner::state_bytes(uint32_t positions) const {
    return sizeof(uint32_t) + region_bytes(programs_->cache_regions(), positions);
}

Task<Status> GpuRunner::save_state(PutState put) {
    // How much of the past the rings still have depends on how far they were written.
    Bytes furthest(sizeof(furthest_));
    std::memcpy(furthest.data(), &furthest_, furthest.size());
    CO_TRY(co_await put(std::move(furthest)));
    const std::vector<CacheRegion> regions = programs_->cache_regions();
    co_return co_await save_regions(programs_->device(), regions, position_, std::move(put));
}

Task<Status> GpuRunner::load_state(std::span<const int32_t> tokens, GetState get) {
    truncate(0);
    const auto positions = uint32_t(tokens.size());
    uint32_t furthest = 0;
    const Bytes bytes = CO_TRY(co_await get(sizeof(furthest)));
    std::memcpy(&furthest, bytes.data(), sizeof(furthest));
    if (furthest < positions) co_return fail(Code::bad_file, "the saved session is damaged: it was never that long");
    const std::vector<CacheRegion> regions = programs_->cache_regions();
    CO_TRY(co_await load_regions(programs_->device(), regions, positions, std::move(get)));
    write_history(programs_->device(), programs_->tensors(), 0, tokens);
    position_ = positions;
    furthest_ = furthest;
    co_return Status{};
}

Task<Status> GpuRunner::set_adapters(std::span<const lora::Active> active) {
    truncate(0);
    co_return programs_->use_adapters(active);
}

bool GpuRunner::can_stream(const sample::Params& params) const {
    return sampling_fits(params);
}

Task<Status> GpuRunner::begin_stream(const sample::Params& params, uint32_t most, bool limited) {
    const bool plain = params.temperature == 0 && params.logit_bias.empty() && params.repeat_penalty == 1 &&
                       params.presence_penalty == 0 && params.frequency_penalty == 0;
    const SampleMode mode = limited ? SampleMode::constrained : plain ? SampleMode::greedy : SampleMode::sampled;
    const gpu::Id chooser = CO_TRY(co_await programs_->choice(mode, {}));
    // Between a choice and the next step something is needed from here.
    const bool apart = limited || programs_->needs_rows();
    const gpu::Id step = CO_TRY(co_await programs_->decode(apart ? SampleMode::none : mode, {}));
    Stream stream{.program = step, .chooser = apart ? chooser : 0, .limited = limited, .start = position_};
    // The first token needs no step of the model, the last one need not be appended.
    stream.most = std::min(most, context() - position_ + 1);
    if (mode != SampleMode::greedy) write_sampling(programs_->device(), programs_->tensors(), params);
    programs_->write_step(position_ - 1, 1);
    stream_ = std::move(stream);
    if (apart) co_return Status{};
    programs_->device().run(chooser);
    read_chosen({});
    co_return Status{};
}

// Asks for the token that was just chosen, or is about to be.
void GpuRunner::read_chosen(const Cancel& cancel) {
    Stream& s = *stream_;
    const uint64_t at = uint64_t(s.start + s.chosen) * sizeof(int32_t);
    s.reads.emplace_back(programs_->device().read(programs_->tensors().history.at.buffer, at, sizeof(int32_t), cancel));
    ++s.chosen;
}

void GpuRunner::append_chosen() {
    programs_->device().run(stream_->program);
    ++stream_->appended;
}

void GpuRunner::choose_next(const Cancel& cancel) {
    append_chosen();
    read_chosen(cancel);
}

// The step after the choice is on its way while the caller finds out what may come next.
void GpuRunner::choose_among(sample::Allowed allowed, const Cancel& cancel) {
    write_mask(programs_->device(), programs_->tensors(), allowed);
    programs_->device().run(stream_->chooser);
    read_chosen(cancel);
    if (stream_->chosen < stream_->most) append_chosen();
}

Task<Result<std::optional<int32_t>>> GpuRunner::next_token(sample::Allowed allowed, Cancel cancel) {
    if (!stream_) co_return fail(Code::internal, "no stream of tokens was begun");
    Stream& s = *stream_;
    if (programs_->needs_rows()) {
        // One token at a time: the step before a choice needs a row of the token before it.
        if (s.chosen > 0 && s.chosen < s.most) {
            CO_TRY(co_await programs_->write_rows({&s.last, 1}, cancel));
            append_chosen();
        }
        if (s.chosen < s.most) {
            if (s.limited) write_mask(programs_->device(), programs_->tensors(), allowed);
            programs_->device().run(s.chooser);
            read_chosen(cancel);
        }
    } else if (s.limited) {
        if (s.chosen < s.most) choose_among(allowed, cancel);
    } else {
        while (s.reads.size() < kAhead && s.chosen < s.most) choose_next(cancel);
    }
    if (s.reads.empty()) co_return fail(Code::limit, "all {} tokens were taken", s.most);
    auto read = std::move(s.reads.front());
    s.reads.pop_front();
    const std::vector<uint8_t> bytes = CO_TRY(co_await std::move(read));
    int32_t token = 0;
    std::memcpy(&token, bytes.data(), sizeof(token));
    if (token < 0) co_return std::optional<int32_t>{};
    s.last = token;
    co_return std::optional<int32_t>(token);
}

Task<Status> GpuRunner::end_stream(uint32_t accepted) {
    if (!stream_) co_return Status{};
    Stream s = std::move(*stream_);
    stream_.reset();
    // What is still under way was for nothing, but it has been written: rings remember how far.
    furthest_ = std::max(furthest_, s.start + s.appended);
    position_ = s.start + std::min(accepted, s.appended);
    Status status;
    for (auto& read : s.reads) {
        if (auto bytes = co_await std::move(read); !bytes) status = std::unexpected(std::move(bytes).error());
    }
    co_return status;
}

Task<Result<std::vector<int32_t>>> GpuRunner::decode_greedy(int32_t token, uint32_t count, Cancel cancel) {
    if (count > context() - position_) co_return fail(Code::limit, "{} more tokens do not fit", count);
    gpu::Device& device = programs_->device();
    const gpu::Id program = CO_TRY(co_await programs_->decode(SampleMode::greedy, cancel));
    programs_->write_tokens({&token, 1});
    programs_->write_step(position_, 1);
    for (uint32_t i = 0; i < count; ++i) {
        CO_TRY(co_await programs_->write_rows({&token, 1}, cancel));
        device.run(program);
        if (!programs_->needs_rows()) continue;
        const auto next =
            CO_TRY(co_await device.read(programs_->tensors().history.at.buffer,
                                        uint64_t(position_ + 1 + i) * sizeof(int32_t), sizeof(int32_t), cancel));
        std::memcpy(&token, next.data(), sizeof(token));
    }
    const auto bytes =
        CO_TRY(co_await device.read(programs_->tensors().history.at.buffer, uint64_t(position_ + 1) * sizeof(int32_t),
                                    uint64_t(count) * sizeof(int32_t), cancel));
    std::vector<int32_t> out(count);
    std::memcpy(out.data(), bytes.data(), bytes.size());
    position_ += count;
    furthest_ = std::max(furthest_, position_);
    co_return out;
}

Task<Result<double>> GpuRunner::time_decode(uint32_t repeat, Cancel cancel) {
    if (repeat > context() - position_) co_return fail(Code::limit, "{} more tokens do not fit", repeat);
    const gpu::Id program = CO_TRY(co_await programs_->decode(SampleMode::greedy, cancel));
    programs_->write_step(position_, 1);
    const double nanoseconds = CO_TRY(co_await programs_->device().time(program, repeat, cancel));
    furthest_ = std::max(furthest_, position_ + repeat);
    co_return nanoseconds / 1e6 / repeat;
}

Task<Result<std::vector<KernelTime>>> GpuRunner::profile_decode(Cancel cancel) {
    constexpr uint32_t kRepeat = 20;
    CO_TRY(co_await programs_->decode(SampleMode::greedy, cancel));
    gpu::Device& device = programs_->device();
    programs_->write_step(position_, 1);
    std::map<std::string, KernelTime> times;
    for (const auto& [command, label] : programs_->greedy_commands()) {
        KernelTime& time = times[label];
        ++time.dispatches;
        // One of each kind stands for all: they differ in their buffers only.
        if (time.dispatches > 1) continue;
        const gpu::Id program = CO_TRY(device.program({&command, 1}));
        const auto nanoseconds = co_await device.time(program, kRepeat, cancel);
        device.release(program);
        if (!nanoseconds) co_return std::unexpected(nanoseconds.error());
        time.ms = *nanoseconds / 1e6 / kRepeat;
    }
    std::vector<KernelTime> out;
    for (auto& [label, time] : times) {
        out.push_back({.label = label, .dispatches = time.dispatches, .ms = time.ms * time.dispatches});
    }
    sort_few(out, std::greater{}, &KernelTime::ms);
    co_return out;
}

}  // namespace lapidary::infer

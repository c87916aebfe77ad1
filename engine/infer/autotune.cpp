#include "infer/autotune.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/all.h"
#include "base/log.h"
#include "base/sort_few.h"
#include "infer/autotune_text.h"
#include "infer/compute_units.h"
#include "kernels/check/check.h"
#include "kernels/check/suites.h"
#include "kernels/gemv/gemv.h"
#include "kernels/program.h"

namespace lapidary::infer {
namespace {

using kernels::Activations;
using kernels::Format;
using kernels::Reduction;
using kernels::Variant;
using kernels::check::Outcome;

std::string text_of(Variant variant) {
    std::string out = variant.reduction == Reduction::subgroup ? "subgroups" : "workgroup memory";
    return out + (variant.activations == Activations::limbs ? " and whole numbers" : " and floats");
}

std::string text_of(const Outcome& outcome) {
    std::string out = outcome.kernel;
    if (!outcome.format.empty()) out += " (" + outcome.format + ")";
    return out;
}

// A matrix times a vector, to be timed in one variant.
class Trial {
  public:
    Trial(gpu::Device& device, Variant variant) : resources_(device, variant) {}

    // A quarter of the matrix, and all of it many times over: software GPUs are slow, others are too fast to be timed.
    Task<Status> prepare(Cancel cancel) {
        w_ = CO_TRY(resources_.buffer(kernels::gpu_bytes(Format::q4_k, kSize, kSize), "w"));
        x_ = CO_TRY(resources_.buffer(kSize * sizeof(float), "x"));
        y_ = CO_TRY(resources_.buffer(kSize * sizeof(float), "y"));
        step_ = CO_TRY(resources_.buffer(16, "step"));
        constexpr std::array<uint32_t, 4> kStep = {0, 1, 0, 0};
        resources_.device().write(step_.buffer, 0, {reinterpret_cast<const uint8_t*>(kStep.data()), sizeof kStep});
        small_ = CO_TRY(co_await program(1, kSize / 4, cancel));
        large_ = CO_TRY(co_await program(kTimes, kSize, cancel));
        co_return Status{};
    }

    // Milliseconds for the whole matrix, the best of a few.
    Task<Result<double>> time(const Autotuner::Now& now, Cancel cancel) {
        constexpr double kSlow = 2;
        CO_TRY(co_await best_of(1, small_, now, cancel));  // pays for what is done once
        const double small = CO_TRY(co_await best_of(2, small_, now, cancel));
        if (small > kSlow) co_return 4 * small;
        co_return CO_TRY(co_await best_of(3, large_, now, cancel)) / kTimes;
    }

  private:
    static constexpr uint32_t kSize = 2048;
    static constexpr uint32_t kTimes = 64;

    Task<Result<gpu::Id>> program(uint32_t times, uint32_t rows, Cancel cancel) {
        kernels::Program program(resources_, {.at = step_}, cancel);
        const kernels::Weights w{
            .format = Format::q4_k, .cols = kSize, .rows = kSize, .pieces = {{.binding = w_, .rows = kSize}}};
        for (uint32_t i = 0; i < times; ++i) {
            program.add(kernels::Gemv{.w = w,
                                      .x = {.at = x_},
                                      .y = {.at = y_},
                                      .out = rows,
                                      .prologue = kernels::ReadyX{},
                                      .tiling = kernels::GemvTiling{.threads = 128, .threads_per_row = 8, .rows = 1}});
        }
        co_return co_await program.compile();
    }

    Task<Result<double>> best_of(int times, gpu::Id program, const Autotuner::Now& now, Cancel cancel) {
        gpu::Device& device = resources_.device();
        double best = 0;
        for (int i = 0; i < times; ++i) {
            double ms = 0;
            if (device.info().timestamps) {
                ms = CO_TRY(co_await device.time(program, 1, cancel)) / 1e6;
            } else {
                const double from = now();
                device.run(program);
                CO_TRY(co_await device.sync(cancel));
                ms = now() - from;
            }
            if (i == 0 || ms < best) best = ms;
        }
        co_return best;
    }

    kernels::Resources resources_;
    gpu::Binding w_, x_, y_, step_;  // zeros: what is computed takes as long as anything else
    gpu::Id small_ = 0;
    gpu::Id large_ = 0;
};

// Whole numbers are several times faster where the hardware multiplies bytes, and slower where it only pretends to.
Task<Status> measure(gpu::Device& device, const Autotuner::Now& now, Cancel cancel, Autotune& choice) {
    constexpr double kClearly = 0.9;
    if (choice.variant.activations != Activations::limbs) co_return Status{};
    Variant floats = choice.variant;
    floats.activations = Activations::floats;
    Trial limbs_trial(device, choice.variant);
    Trial floats_trial(device, floats);
    const std::array<Trial*, 2> trials = {&limbs_trial, &floats_trial};
    std::array<Status, 2> prepared;
    co_await for_all(trials.size(), trials.size(), [&](size_t i) -> Task<bool> {
        prepared[i] = co_await trials[i]->prepare(cancel);
        co_return true;
    });
    for (Status& status : prepared) CO_TRY(std::move(status));
    choice.limbs_ms = CO_TRY(co_await limbs_trial.time(now, cancel));
    choice.floats_ms = CO_TRY(co_await floats_trial.time(now, cancel));
    if (choice.floats_ms < kClearly * choice.limbs_ms) choice.variant = floats;
    co_return Status{};
}

// Whether the chosen variant computes what it should. If not, a safer one is chosen, while there is one.
Task<Result<bool>> passes(gpu::Device& device, const std::vector<Format>& formats, const Autotuner::Now& now,
                          Cancel cancel, Autotune& choice) {
    // What most of the work is done by comes first; the rest only where the driver compiles it in no time.
    constexpr double kLong = 2000;
    const std::vector<Format> main = {formats.front()};
    const std::vector<Format> others(formats.begin() + 1, formats.end());
    std::vector<std::string> next = {"flash_decode", "qk_norm_rope_store"};
    for (const char* product : {"gemv", "gemv_persistent"}) {
        if (!others.empty()) next.emplace_back(product);
    }
    const std::vector<kernels::check::Options> parts = {
        {.kernels = {"gemv", "gemv_persistent", "add_rms_norm"},
         .formats = main,
         .brief = true,
         .variant = choice.variant},
        {.kernels = next, .formats = others, .brief = true, .variant = choice.variant},
        {.kernels = {"gemm"}, .formats = main, .brief = true, .variant = choice.variant},
    };
    std::vector<Outcome> wrong;
    const double from = now();
    for (const auto& options : parts) {
        if (now() - from > kLong) break;
        auto outcomes =
            CO_TRY(co_await kernels::check::run(device, kernels::check::load_suites(), options, nullptr, cancel));
        for (Outcome& outcome : outcomes) {
            ++choice.cases;
            if (!outcome.ok) wrong.push_back(std::move(outcome));
        }
    }
    if (wrong.empty()) co_return true;
    const Outcome& first = wrong.front();
    const std::string reason = first.problem.empty() ? format("a relative error of {}", first.error) : first.problem;
    const bool only_products = std::ranges::all_of(
        wrong, [](const Outcome& o) { return o.kernel == "gemv" || o.kernel == "gemv_persistent"; });
    const auto safer = safer_variant(choice.variant, only_products);
    if (!safer) {
        co_return fail(Code::unsupported,
                       "this GPU ({}) computes '{}' wrongly ({}), in the safest way there is: use the CPU backend",
                       device.info().adapter, text_of(first), reason);
    }
    std::string sentence = format("this GPU computes '{}' wrongly with {} ({}): it gets {} instead", text_of(first),
                                  text_of(choice.variant), reason, text_of(*safer));
    log(LogLevel::warning, "{}", sentence);
    choice.wrong.push_back(std::move(sentence));
    choice.variant = *safer;
    co_return false;
}

}  // namespace

Variant wanted_variant(const gpu::Info& info) {
    const bool subgroups = info.subgroups && info.subgroup_min >= 32;
    return {.reduction = subgroups ? Reduction::subgroup : Reduction::shared,
            .activations = info.packed_dot ? Activations::limbs : Activations::floats};
}

std::optional<Variant> safer_variant(Variant variant, bool only_products) {
    const bool limbs = variant.activations == Activations::limbs;
    const bool subgroups = variant.reduction == Reduction::subgroup;
    if (limbs && (only_products || !subgroups)) {
        variant.activations = Activations::floats;
        return variant;
    }
    if (!subgroups) return std::nullopt;
    variant.reduction = Reduction::shared;
    return variant;
}

std::vector<Format> formats_of(const model::WeightTable& table) {
    std::map<Format, uint64_t> bytes;
    table.for_each([&](const model::Weight& weight) {
        if (weight.rows > 1) bytes[kernels::format_of(weight.type)] += weight.bytes();
    });
    std::vector<std::pair<uint64_t, Format>> order;
    for (const auto& [format, count] : bytes) order.emplace_back(count, format);
    sort_few(order, std::greater{});
    std::vector<Format> out;
    for (const auto& [count, format] : order) out.push_back(format);
    return out;
}

void Autotuner::remember(const gpu::Info& info, std::string_view texts) {
    if (known_) return;
    auto found = read_autotune_text(info, texts);
    if (!found) return;
    known_ =
        Autotune{.variant = found->variant, .compute_units = found->compute_units, .wrong = {}, .remembered = true};
    tested_ = std::move(found->tested);
}

std::string Autotuner::text(const gpu::Info& info) const {
    return known_ ? autotune_text(info, {known_->variant, known_->compute_units, tested_}) : std::string();
}

Task<Result<Autotune>> Autotuner::choose(gpu::Device& device, std::vector<Format> formats, Now now, Cancel cancel) {
    // What is found out is kept only when all of it was: a load may be cancelled, and two may be under way.
    Autotune choice{.variant = wanted_variant(device.info()), .wrong = {}};
    if (known_) {
        choice = *known_;
    } else {
        CO_TRY(co_await measure(device, now, cancel, choice));
        choice.compute_units = CO_TRY(co_await count_compute_units(device, cancel));
    }
    std::erase_if(formats, [&](Format format) { return std::ranges::find(tested_, format) != tested_.end(); });
    if (!formats.empty()) {
        const double from = now();
        while (!CO_TRY(co_await passes(device, formats, now, cancel, choice))) {
        }
        choice.selftest_ms += now() - from;
    }
    known_ = choice;
    tested_.insert(tested_.end(), formats.begin(), formats.end());
    co_return choice;
}

}  // namespace lapidary::infer

#include "kernels/check/check.h"

#include <algorithm>
#include <set>

#include "base/all.h"
#include "base/byte_source.h"
#include "kernels/check/compare.h"
#include "kernels/check/suites.h"
#include "kernels/link.h"
#include "kernels/program.h"

namespace lapidary::kernels::check {
namespace {

// Cases under way: enough to keep the host's compiler busy, few enough to need little memory.
constexpr size_t kAtOnce = 8;

// Every way to make this kernel that the device allows.
std::vector<Variant> variants_of(const Module& kernel, const gpu::Info& info) {
    std::vector<Variant> out = {{}};
    if (has_slot(kernel, "reduce") && info.subgroups && info.subgroup_min >= 32) {
        out.push_back({.reduction = Reduction::subgroup});
    }
    if (has_slot(kernel, "assignment")) {  // gemv_persistent: limbs and no other form of activations
        for (Variant& variant : out) variant.activations = Activations::limbs;
        return info.packed_dot ? out : std::vector<Variant>();
    }
    if (!has_slot(kernel, "x") || !info.packed_dot) return out;
    for (size_t i = out.size(); i > 0; --i) {
        out.push_back({.reduction = out[i - 1].reduction, .activations = Activations::limbs});
    }
    return out;
}

// Whether the case says anything about this variant.
bool applies(const Case& c, Variant variant) {
    if (c.only) return *c.only == variant.activations;
    return variant.activations == Activations::floats || !c.weights || holds_whole_numbers(format_of(*c.weights));
}

// Empty where there is nothing to choose.
std::string variant_text(const Module& kernel, Variant variant) {
    std::string out;
    if (has_slot(kernel, "reduce")) out += variant.reduction == Reduction::shared ? "shared" : "subgroup";
    if (has_slot(kernel, "x")) out += variant.activations == Activations::floats ? " floats" : " limbs";
    return out;
}

std::string format_text(const Case& c) {
    if (!c.weights) return {};
    const Format format = format_of(*c.weights);
    std::string out(format_name(format));
    if (format == Format::i8) out += " from " + std::string(tensor_type_name(*c.weights));
    if (c.below) out += " + " + std::string(tensor_type_name(*c.below));
    return out;
}

// One case in one variant, to be run.
struct Job {
    const Module& kernel;
    const Case& test;
    Variant variant;
    uint64_t seed;
};

// An op on the arrays of its case.
struct Launched {
    const Launch& launch;
    Tensors arrays;

    [[nodiscard]] Result<Dispatch> dispatch(const Target& target) const {
        auto out = launch.op(target, arrays);
        if (out && launch.grid) out->grid = *launch.grid;
        return out;
    }
};

// Uploads, runs and reads back. The result has the bytes of every array that something is expected of.
Task<Result<std::vector<Bytes>>> execute(gpu::Device& device, const Job& job, const std::vector<Array>& arrays,
                                         Cancel cancel) {
    Resources made(device, job.variant);  // given back at the end, whichever it is
    std::vector<gpu::Tensor> all;
    gpu::Tensor step;
    for (const Array& array : arrays) {
        gpu::Tensor tensor{.at = CO_TRY(made.buffer(array.before.size(), job.kernel.title()))};
        tensor.at.size = array.before.size();
        if (array.element == Element::limbs) tensor.element = gpu::Element::limbs;
        device.write(tensor.at.buffer, 0, array.before);
        if (array.is_step) step = tensor;
        all.push_back(tensor);
    }
    Program program(made, step, cancel);
    for (const Launch& launch : job.test.launches) {
        for (uint32_t i = 0; i < launch.times; ++i) program.add(Launched{launch, all});
        if (launch.then != nullptr) program.host_step(job.test.shape);
    }
    const std::vector<gpu::Id> segments = CO_TRY(co_await program.compile_segments());
    size_t segment = 0;
    for (const Launch& launch : job.test.launches) {
        if (launch.then == nullptr) continue;
        device.run(segments[segment++]);
        CO_TRY(co_await launch.then(device, all, cancel));
    }
    device.run(segments[segment]);
    std::vector<Bytes> out;
    for (size_t i = 0; i < arrays.size(); ++i) {
        if (arrays[i].expected.empty()) {
            out.emplace_back();
            continue;
        }
        out.push_back(CO_TRY(co_await device.read(all[i].at.buffer, 0, all[i].at.size, cancel)));
    }
    co_return out;
}

Task<Outcome> outcome_of(gpu::Device& device, const Job& job, Cancel cancel) {
    Outcome out{.kernel = std::string(job.kernel.title()),
                .format = format_text(job.test),
                .variant = variant_text(job.kernel, job.variant),
                .shape = job.test.shape,
                .limit = job.test.limit};
    Random random(job.seed);
    const std::vector<Array> arrays = job.test.arrays(random);
    const auto results = co_await execute(device, job, arrays, std::move(cancel));
    if (!results) {
        out.problem = results.error().message;
        co_return out;
    }
    out.ok = true;
    for (size_t i = 0; i < arrays.size(); ++i) {
        if (arrays[i].expected.empty()) continue;
        const Difference found = compare(arrays[i], (*results)[i]);
        const double limit = limit_of(arrays[i], job.test.limit);
        const bool good = found.problem.empty() && found.error <= limit;
        if (!found.problem.empty()) out.problem = format("array {}: {}", i, found.problem);
        // The array that uses up most of what it is allowed speaks for the case.
        if (found.error / limit >= out.error / out.limit) {
            out.error = found.error;
            out.limit = limit;
        }
        out.max_error = std::max(out.max_error, found.max_error);
        out.ok = out.ok && good;
    }
    co_return out;
}

Status check_names(const std::vector<std::string>& names, std::span<const Suite> all) {
    for (const std::string& name : names) {
        const bool known = std::ranges::any_of(all, [&](const Suite& suite) { return suite.kernel.title() == name; });
        if (known) continue;
        std::string list;
        for (const Suite& suite : all) list += (list.empty() ? "" : ", ") + std::string(suite.kernel.title());
        return fail(Code::invalid_argument, "there is no kernel '{}'; there are {}", printable(name), list);
    }
    return {};
}

template <class T>
bool wanted(const std::vector<T>& list, const T& item) {
    return list.empty() || std::ranges::find(list, item) != list.end();
}

}  // namespace

Task<Result<std::vector<Outcome>>> run(gpu::Device& device, std::span<const Suite> suites, Options options,
                                       Progress progress, Cancel cancel) {
    CO_TRY(check_names(options.kernels, suites));
    std::vector<std::vector<Case>> cases;  // owned here, by suite
    std::vector<Job> jobs;
    for (const Suite& suite : suites) cases.push_back(suite.cases());
    for (size_t s = 0; s < cases.size(); ++s) {
        const Module& kernel = suites[s].kernel;
        if (!wanted(options.kernels, std::string(kernel.title()))) continue;
        for (const Variant variant :
             options.variant ? std::vector{*options.variant} : variants_of(kernel, device.info())) {
            std::set<Format> seen;
            for (size_t i = 0; i < cases[s].size(); ++i) {
                const Case& test = cases[s][i];
                const Format format = test.weights ? format_of(*test.weights) : Format::f32;
                if (test.weights && !wanted(options.formats, format)) continue;
                if ((options.quick || options.brief) && !test.quick) continue;
                if (test.workgroup_bytes > device.info().max_workgroup_bytes) continue;
                // Weights in floating point have no other variant than floats.
                const bool plain = options.variant && !holds_whole_numbers(format);
                const Variant used{.reduction = variant.reduction,
                                   .activations = plain ? Activations::floats : variant.activations,
                                   .kv = test.kv.value_or(KvFormat::f32)};
                if (!applies(test, used) || (options.brief && !seen.insert(format).second)) continue;
                jobs.push_back({kernel, test, used, 1000 * s + i});
            }
        }
    }
    std::vector<Outcome> outcomes(jobs.size());
    size_t done = 0;
    co_await for_all(jobs.size(), kAtOnce, [&](size_t i) -> Task<bool> {
        if (cancel.requested()) co_return false;
        outcomes[i] = co_await outcome_of(device, jobs[i], cancel);
        if (progress) progress(++done, jobs.size());
        co_return true;
    });
    CO_TRY(cancel.check());
    CO_TRY(co_await device.sync(cancel));
    co_return outcomes;
}

}  // namespace lapidary::kernels::check

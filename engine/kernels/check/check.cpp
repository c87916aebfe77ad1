#include "kernels/check/check.h"

#include <algorithm>
#include <set>

#include "base/all.h"
#include "base/byte_source.h"
#include "kernels/check/compare.h"
#include "kernels/check/suites.h"

namespace lapidary::kernels::check {
namespace {

// Cases under way: enough to keep the host's compiler busy, few enough to need little memory.
constexpr size_t kAtOnce = 8;

// Every way to make this kernel that the device allows.
std::vector<Variant> variants_of(const Kernel& kernel, const gpu::Info& info) {
    std::vector<Variant> out = {{}};
    if (has_slot(kernel.module, "reduce") && info.subgroups && info.subgroup_min >= 32) {
        out.push_back({.reduction = Reduction::subgroup});
    }
    if (has_slot(kernel.module, "ways")) {  // walk: planes and no other form of activations
        for (Variant& variant : out) variant.activations = Activations::planes;
        return info.packed_dot ? out : std::vector<Variant>();
    }
    if (!has_slot(kernel.module, "activations") || !info.packed_dot) return out;
    for (size_t i = out.size(); i > 0; --i) {
        out.push_back({.reduction = out[i - 1].reduction, .activations = Activations::planes});
    }
    return out;
}

// Whether the case says anything about this variant.
bool applies(const Case& c, Variant variant) {
    if (c.only) return *c.only == variant.activations;
    return variant.activations == Activations::floats || !c.weights || holds_whole_numbers(format_of(*c.weights));
}

// Empty where there is nothing to choose.
std::string variant_text(const Kernel& kernel, Variant variant) {
    std::string out;
    if (has_slot(kernel.module, "reduce")) out += variant.reduction == Reduction::shared ? "shared" : "subgroup";
    if (has_slot(kernel.module, "activations"))
        out += variant.activations == Activations::floats ? " floats" : " planes";
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

Formats formats_of(const Case& c) {
    if (!c.weights) return Format::f32;
    return {format_of(*c.weights), c.below ? std::optional(format_of(*c.below)) : std::nullopt};
}

// One case in one variant, to be run.
struct Job {
    const Kernel& kernel;
    const Case& test;
    Variant variant;
    uint64_t seed;
};

// What a case has made on the GPU; given back at its end, however it ends.
class Made {
  public:
    explicit Made(gpu::Device& device) : device_(device) {}
    ~Made() {
        for (const gpu::Id id : ids_) device_.release(id);
    }
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;

    gpu::Id operator()(gpu::Id id) {
        ids_.push_back(id);
        return id;
    }

  private:
    gpu::Device& device_;
    std::vector<gpu::Id> ids_;
};

// Uploads, runs and reads back. The result has the bytes of every array that something is expected of.
Task<Result<std::vector<Bytes>>> execute(gpu::Device& device, const Job& job, const std::vector<Array>& arrays,
                                         Cancel cancel) {
    Made made(device);
    std::vector<gpu::Binding> all;
    for (const Array& array : arrays) {
        const gpu::Id id = made(CO_TRY(device.buffer(array.before.size(), gpu::Usage::storage, job.kernel.name)));
        device.write(id, 0, array.before);
        all.push_back({id, 0, array.before.size()});
    }
    std::vector<gpu::Command> commands;
    for (const Dispatch& dispatch : job.test.dispatches) {
        const Kernel& kernel = dispatch.kernel;
        const auto access = kernel.accesses();
        const gpu::Id pipeline = made(
            CO_TRY(co_await device.pipeline(shader(kernel, formats_of(job.test), job.variant), std::string(kernel.name),
                                            {access.begin(), access.end()}, dispatch.constants, cancel)));
        std::vector<gpu::Binding> bound = all;
        if (!dispatch.bindings.empty()) bound.clear();
        for (const size_t index : dispatch.bindings) bound.push_back(all[index]);
        auto group = device.bind_group(pipeline, bound);
        if (!group) {
            CO_TRY(co_await device.sync(cancel));  // has more to say about it
            co_return std::unexpected(std::move(group).error());
        }
        const gpu::Command command{pipeline, made(*group), dispatch.grid.x, dispatch.grid.y, dispatch.grid.z};
        commands.insert(commands.end(), dispatch.times, command);
    }
    device.run(made(CO_TRY(device.program(commands))));
    std::vector<Bytes> out;
    for (size_t i = 0; i < arrays.size(); ++i) {
        if (arrays[i].expected.empty()) {
            out.emplace_back();
            continue;
        }
        out.push_back(CO_TRY(co_await device.read(all[i].buffer, 0, all[i].size, cancel)));
    }
    co_return out;
}

Task<Outcome> outcome_of(gpu::Device& device, const Job& job, Cancel cancel) {
    Outcome out{.kernel = std::string(job.kernel.name),
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
        const bool known = std::ranges::any_of(all, [&](const Suite& suite) { return suite.kernel.name == name; });
        if (known) continue;
        std::string list;
        for (const Suite& suite : all) list += (list.empty() ? "" : ", ") + std::string(suite.kernel.name);
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
        const Kernel& kernel = suites[s].kernel;
        if (!wanted(options.kernels, std::string(kernel.name))) continue;
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

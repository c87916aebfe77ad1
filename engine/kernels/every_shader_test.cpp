// Every module of WGSL that can come out of `shader`, looked at as a whole: browsers differ in which of them they compile.
// With LAPIDARY_WGSL_OUT they are also written to that folder, for the compilers of other browsers (tools/check-wgsl).
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "kernels/check/suites.h"
#include "kernels/link.h"
#include "kernels/shader.h"

namespace lapidary::kernels {
namespace {

std::vector<Formats> formats_for(const Module& kernel) {
    if (!has_slot(kernel, "weights")) return {Format::f32};
    std::vector<Formats> out;
    for (int f = 0; f <= int(Format::f32); ++f) {
        if (has_slot(kernel, "assignment") && !holds_whole_numbers(Format(f))) continue;
        out.emplace_back(Format(f));
    }
    return out;
}

// Only some kernels take a second format.
std::vector<Formats> pairs_for(const Module& kernel) {
    std::vector<Formats> out;
    if (!has_slot(kernel, "formats") && !has_slot(kernel, "assignment")) return out;
    for (const Formats& first : formats_for(kernel)) {
        for (int f = 0; f <= int(Format::f32); ++f) {
            if (holds_whole_numbers(first.first) == holds_whole_numbers(Format(f))) {
                out.push_back({first.first, Format(f)});
            }
        }
    }
    return out;
}

// What ops put into a kernel's slots, and which of its bindings they leave out.
struct Filling {
    std::vector<Slot> slots;
    std::vector<uint8_t> unbound;
};

// By the names of the modules and the numbers of the bindings.
std::map<std::string, Filling> fillings_of(const check::Suite& suite) {
    std::map<std::string, Filling> out;
    const auto add = [&](const Dispatch& dispatch) {
        Filling filling{.slots = dispatch.slots, .unbound = dispatch.unbound()};
        std::string name;
        for (const Slot& slot : filling.slots) name += "-" + std::string(slot.first->title());
        for (const uint8_t number : filling.unbound) name += "-without" + std::to_string(number);
        out.emplace(name, std::move(filling));
    };
    const gpu::Info info;
    for (const check::Case& test : suite.cases()) {
        for (const gpu::Element element : {gpu::Element::f32, gpu::Element::limbs}) {
            constexpr size_t kMaxArrays = 12;
            std::vector<gpu::Tensor> arrays;
            for (gpu::Id id = 1; id <= kMaxArrays; ++id) arrays.push_back({.at = {id, 0, 1 << 20}, .element = element});
            for (const check::Launch& launch : test.launches) {
                const auto dispatch = launch.op({.info = info}, arrays);
                EXPECT_TRUE(dispatch) << suite.kernel.name << " " << test.shape;
                if (dispatch && dispatch->kernel == &suite.kernel) add(*dispatch);
            }
        }
    }
    return out;
}

// By a name that can be a file's.
std::map<std::string, std::string> every_shader() {
    std::map<std::string, std::string> out;
    std::set<std::string> seen;  // most kernels do not care about most of what there is to choose
    const auto add = [&](const Module& kernel, const Formats& formats, const std::string& form,
                         const Filling& filling) {
        for (const Reduction reduction : {Reduction::shared, Reduction::subgroup}) {
            for (const Activations activations : {Activations::floats, Activations::limbs}) {
                for (const KvFormat kv : kKvFormats) {
                    std::string text =
                        shader(kernel, formats, {reduction, activations, kv}, filling.slots, filling.unbound);
                    if (!seen.insert(text).second) continue;
                    std::string name = std::string(kernel.title()) + "-" + formats.name() + form;
                    name += reduction == Reduction::shared ? "-shared" : "-subgroup";
                    name += activations == Activations::floats ? "-floats-" : "-limbs-";
                    out.emplace(name + std::string(kv_format_name(kv)), std::move(text));
                }
            }
        }
    };
    for (const check::Suite& suite : check::suites()) {
        const auto fillings = fillings_of(suite);
        for (const auto& [name, filling] : fillings) {
            for (const Formats& formats : formats_for(suite.kernel)) add(suite.kernel, formats, name, filling);
        }
        // A second format meets nothing that the first has not met.
        for (const Formats& formats : pairs_for(suite.kernel)) {
            add(suite.kernel, formats, fillings.begin()->first, fillings.begin()->second);
        }
    }
    return out;
}

// What lies between `before` and the next `after`, wherever that is.
std::vector<std::string_view> all_between(std::string_view text, std::string_view before, std::string_view after) {
    std::vector<std::string_view> out;
    for (size_t at = text.find(before); at != std::string_view::npos; at = text.find(before, at)) {
        at += before.size();
        out.push_back(text.substr(at, text.find(after, at) - at));
    }
    return out;
}

bool is_name_or_number(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

TEST(EveryShader, NamesTheSizesOfItsArrays) {
    // Where a size is an expression of constants that has no name of its own, Firefox's compiler ends the whole browser.
    const auto all = every_shader();
    EXPECT_GT(all.size(), 300u);
    size_t arrays = 0;
    for (const auto& [name, text] : all) {
        for (const std::string_view variable : all_between(text, "var<workgroup>", ";")) {
            if (variable.find(": array<") == std::string_view::npos) continue;
            ++arrays;
            const size_t comma = variable.rfind(", ");
            ASSERT_NE(comma, std::string_view::npos) << name << ": " << variable;
            const std::string_view size = variable.substr(comma + 2, variable.rfind('>') - comma - 2);
            EXPECT_TRUE(is_name_or_number(size))
                << name << ": the size in '" << variable << "' needs an override of its own";
        }
    }
    EXPECT_GT(arrays, all.size());
}

TEST(EveryShader, BindsNumbersFromZeroOnEachOnce) {
    for (const auto& [name, text] : every_shader()) {
        std::set<std::string_view> numbers;
        const auto found = all_between(text, "@binding(", ")");
        for (const std::string_view number : found) numbers.insert(number);
        EXPECT_EQ(numbers.size(), found.size()) << name;
        for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(numbers.contains(std::to_string(i))) << name << ": " << i;
    }
}

#ifndef __wasm__
// "kCols=64,kHeadDim=64": a value for each constant that a pipeline must give one.
std::string values_for(std::string_view text) {
    std::string out;
    for (const std::string_view constant : all_between(text, "override ", ";")) {
        if (constant.find('=') != std::string_view::npos) continue;
        const size_t colon = constant.find(':');
        out += (out.empty() ? "" : ",") + std::string(constant.substr(0, colon));
        out += constant.substr(colon) == ": f32" ? "=1" : "=64";
    }
    return out;
}

TEST(EveryShader, SaysWhichConstantsItNeeds) {
    const char* folder = std::getenv("LAPIDARY_WGSL_OUT");
    for (const auto& [name, text] : every_shader()) {
        const std::string values = values_for(text);
        EXPECT_EQ(values.find_first_of(" :;"), std::string::npos) << name << ": " << values;
        if (folder == nullptr) continue;
        // The values in a comment, in the first line.
        const std::string path = std::string(folder) + "/" + name + ".wgsl";
        std::FILE* file = std::fopen(path.c_str(), "wb");
        ASSERT_NE(file, nullptr) << path;
        const std::string whole = "// " + values + "\n" + text;
        EXPECT_EQ(std::fwrite(whole.data(), 1, whole.size(), file), whole.size());
        EXPECT_EQ(std::fclose(file), 0);
    }
}
#endif

}  // namespace
}  // namespace lapidary::kernels

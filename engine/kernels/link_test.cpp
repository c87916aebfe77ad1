#include "kernels/link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <vector>

#include "kernels/shader.h"

namespace lapidary::kernels {
namespace {

// Null: there is none.
const Module* module_called(std::string_view name) {
    const auto all = modules();
    const auto found = std::ranges::find(all, name, &Module::name);
    return found == all.end() ? nullptr : *found;
}

constexpr std::string_view kUserNames[] = {"$part"};
constexpr std::string_view kTwice[] = {"$weights", "$weights/2"};
constexpr Module kBase{"base", "fn base() {}\n", {}, {}, {}, {}};
constexpr Module kFast{"fast", "enable subgroups;\nfn part_1() { base(); }\n", {}, {}, {}, {}};
constexpr Module kOther{"other", "fn part_1() {} fn part_12() {}\n", {}, {}, {}, {}};
constexpr Module kUser{"user", "fn main() { part_1(); }", kUserNames, {}, {}, {}};

TEST(Link, PutsBeforeAModuleWhatItImportsAndBeforeAllWhatIsEnabled) {
    const Slot slots[] = {{"part", &kFast}};
    EXPECT_EQ(link(kUser, slots), "enable subgroups;\nfn part_1() { base(); }\nfn main() { part_1(); }");
    EXPECT_EQ(link(kUser, {}), "fn main() { part_1(); }");
}

TEST(Link, RepeatsTheTextOfASecondFormatUnderOtherNames) {
    constexpr Module kTwo{"two", "fn main() { part_1(); part_2(); }", kTwice, {}, {}, {}};
    const Slot slots[] = {{"weights", &kOther, &kOther}};
    EXPECT_EQ(link(kTwo, slots),
              "fn part_1() {} fn part_12() {}\nfn part_2() {} fn part_12() {}\nfn main() { part_1(); part_2(); }");
}

TEST(Link, RepeatsNothingThatDoesNotDependOnTheFormat) {
    constexpr Module kTwo{"two", "", kTwice, {}, {}, {}};
    const Slot slots[] = {{"weights", &kBase, &kBase}};
    EXPECT_EQ(link(kTwo, slots), "fn base() {}\n");
}

TEST(Link, MakesAVariableOfWhatIsNotBound) {
    constexpr Module kThree{"three",
                            "@group(0) @binding(0) var<storage, read> x: array<vec4f>;\n"
                            "@group(0) @binding(1) var<storage, read> size: vec4u;\n"
                            "@group(0) @binding(3) var<storage, read_write> y: array<f32>;\n",
                            {},
                            {},
                            {},
                            {}};
    EXPECT_EQ(link(kThree, {}, std::vector<uint8_t>{0}),
              "var<private> x: array<vec4f, 1>;\n"
              "@group(0) @binding(0) var<storage, read> size: vec4u;\n"
              "@group(0) @binding(1) var<storage, read_write> y: array<f32>;\n");
    EXPECT_EQ(link(kThree, {}, std::vector<uint8_t>{1, 2, 3}),
              "@group(0) @binding(0) var<storage, read> x: array<vec4f>;\n"
              "var<private> size: vec4u;\n"
              "var<private> y: array<f32, 1>;\n");
}

bool is_part_of_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::vector<std::string_view> tokens_of(std::string_view text) {
    std::vector<std::string_view> out;
    for (size_t at = 0; at < text.size();) {
        size_t end = at + 1;
        while (is_part_of_name(text[at]) && end < text.size() && is_part_of_name(text[end])) ++end;
        if (text[at] != ' ' && text[at] != '\n') out.push_back(text.substr(at, end - at));
        at = end;
    }
    return out;
}

// What WGSL declares, as far as we use it.
const std::set<std::string_view>& own_names() {
    static const std::set<std::string_view> names = {"fn",
                                                     "struct",
                                                     "const",
                                                     "override",
                                                     "alias",
                                                     "let",
                                                     "var",
                                                     "return",
                                                     "if",
                                                     "else",
                                                     "for",
                                                     "while",
                                                     "loop",
                                                     "break",
                                                     "continue",
                                                     "switch",
                                                     "case",
                                                     "default",
                                                     "true",
                                                     "false",
                                                     "enable",
                                                     "subgroups",
                                                     "storage",
                                                     "read",
                                                     "read_write",
                                                     "workgroup",
                                                     "function",
                                                     "private",
                                                     "ptr",
                                                     "array",
                                                     "atomic",
                                                     "bool",
                                                     "f32",
                                                     "u32",
                                                     "i32",
                                                     "vec2",
                                                     "vec3",
                                                     "vec4",
                                                     "vec2f",
                                                     "vec3f",
                                                     "vec4f",
                                                     "vec2u",
                                                     "vec3u",
                                                     "vec4u",
                                                     "vec2i",
                                                     "vec4i",
                                                     "mat4x4f",
                                                     "mat2x2f",
                                                     "group",
                                                     "binding",
                                                     "compute",
                                                     "workgroup_size",
                                                     "builtin",
                                                     "workgroup_id",
                                                     "local_invocation_index",
                                                     "local_invocation_id",
                                                     "global_invocation_id",
                                                     "num_workgroups",
                                                     "abs",
                                                     "all",
                                                     "any",
                                                     "ceil",
                                                     "clamp",
                                                     "dot",
                                                     "exp",
                                                     "floor",
                                                     "fma",
                                                     "fract",
                                                     "inverseSqrt",
                                                     "log",
                                                     "log2",
                                                     "max",
                                                     "min",
                                                     "pow",
                                                     "round",
                                                     "select",
                                                     "sign",
                                                     "sqrt",
                                                     "tanh",
                                                     "transpose",
                                                     "trunc",
                                                     "bitcast",
                                                     "countOneBits",
                                                     "firstLeadingBit",
                                                     "firstTrailingBit",
                                                     "pack2x16float",
                                                     "unpack2x16float",
                                                     "unpack4x8snorm",
                                                     "dot4I8Packed",
                                                     "workgroupBarrier",
                                                     "storageBarrier",
                                                     "workgroupUniformLoad",
                                                     "subgroupShuffleXor",
                                                     "subgroupAdd",
                                                     "arrayLength",
                                                     "atomicAdd",
                                                     "atomicMin",
                                                     "atomicMax",
                                                     "atomicOr",
                                                     "atomicLoad",
                                                     "atomicStore",
                                                     "_"};
    return names;
}

bool is_kernel(const Module& module) {
    return module.text.contains("fn main(");
}

std::set<std::string_view> declared_in(const Module& module) {
    constexpr std::string_view kDeclaring[] = {"fn", "struct", "const", "override", "alias", "let", "var", ">"};
    std::set<std::string_view> out;
    const auto tokens = tokens_of(module.text);
    for (size_t i = 1; i < tokens.size(); ++i) {
        const bool typed = i + 1 < tokens.size() && tokens[i + 1] == ":";  // a parameter, or a field
        if (typed || std::ranges::find(kDeclaring, tokens[i - 1]) != std::end(kDeclaring)) out.insert(tokens[i]);
    }
    return out;
}

// All modules of a folder whose names begin like this.
std::vector<const Module*> modules_named(std::string_view begin) {
    std::vector<const Module*> out;
    for (const Module* module : modules()) {
        if (module->name.starts_with(begin)) out.push_back(module);
    }
    return out;
}

// All that may fill it; what rows are, products say in ways of their own.
std::vector<const Module*> fillings(std::string_view slot, const Module& importer) {
    const std::map<std::string_view, std::vector<const Module*>> all = {
        {"reduce", {module_called("lib/reduce_shared"), module_called("lib/reduce_subgroup")}},
        {"kv", {module_called("kv/f32"), module_called("kv/f16"), module_called("kv/i16"), module_called("kv/q8")}},
        {"x",
         {module_called("gemv/x_limbs_staged"), module_called("gemv/x_limbs_ready"),
          module_called("gemv/x_floats_staged"), module_called("gemv/x_floats_ready")}},
        {"prologue", modules_named("gemv/prologue_")},
        {"epilogue", modules_named("lib/epilogue_")},
        {"store", modules_named("gemv/store_")},
        {"visible", modules_named("attention/visible_")},
        {"dot",
         {module_called("gemv/dot_limbs_group"), module_called("gemv/dot_floats_group"),
          module_called("gemv/dot_floats_vec16")}},
        {"formats", {module_called("gemv/one_format"), module_called("gemv/two_formats")}},
        {"assignment", {module_called("gemv/persistent_one_format"), module_called("gemv/persistent_two_formats")}},
    };
    if (slot == "rows" && importer.title() == "gemm") {
        return {module_called("gemm/all_rows"), module_called("gemm/grouped_rows"),
                module_called("towers/clipped_rows")};
    }
    if (slot == "rows" && importer.title() == "gemm_transposed") {
        return {module_called("gemm/all_rows"), module_called("gemm/grouped_rows")};
    }
    if (slot == "epilogue" && importer.title() != "gemm") {  // clipped rows are there only
        std::vector<const Module*> out = all.at(slot);
        std::erase(out, module_called("lib/epilogue_clip"));
        return out;
    }
    if (slot == "rows") return {module_called("gemv/one_row"), module_called("gemv/expert_rows")};
    if (slot != "weights") return all.contains(slot) ? all.at(slot) : std::vector<const Module*>();
    std::vector<const Module*> out;
    for (int f = 0; f <= int(Format::f32); ++f) out.push_back(&format_module(Format(f)));
    return out;
}

// With what they import in their turn; empty when it leads back here.
void collect(const Module& module, std::vector<const Module*>& path, std::set<const Module*>& out) {
    ASSERT_EQ(std::ranges::find(path, &module), path.end()) << module.name << " imports itself";
    out.insert(&module);
    path.push_back(&module);
    for (std::string_view name : module.imports) {
        if (name.ends_with("/2")) name.remove_suffix(2);
        std::vector<const Module*> imports;
        if (name.starts_with('$')) {
            imports = fillings(name.substr(1), module);
        } else if (const Module* found = module_called(name)) {
            imports = {found};
        }
        ASSERT_FALSE(imports.empty()) << module.name << " imports " << name << ", which is not there";
        for (const Module* import : imports) collect(*import, path, out);
    }
    path.pop_back();
}

std::set<const Module*> imported_by(const Module& module) {
    std::set<const Module*> out;
    std::vector<const Module*> path;
    collect(module, path, out);
    return out;
}

// Those that name it; where it fills a slot, the kernel, or what fills another slot of it.
std::vector<const Module*> importers_of(const Module& module, const std::set<const Module*>& all,
                                        const Module& kernel) {
    std::vector<const Module*> out;
    for (const Module* one : all) {
        if (std::ranges::find(one->imports, module.name) != one->imports.end()) out.push_back(one);
    }
    if (out.empty()) out.push_back(&kernel);
    return out;
}

TEST(Modules, OfAKernelDeclareEveryNameThatIsUsed) {
    size_t kernels = 0;
    for (const Module* kernel : modules()) {
        if (!is_kernel(*kernel)) continue;
        ++kernels;
        const auto modules = imported_by(*kernel);
        std::set<std::string> known;
        for (const Module* module : modules) {
            for (const std::string_view name : declared_in(*module)) {
                known.emplace(name);
                if (name.ends_with("_1")) known.insert(std::string(name.substr(0, name.size() - 1)) + "2");
            }
        }
        for (const Module* module : modules) {
            const auto tokens = tokens_of(module->text);
            for (size_t i = 0; i < tokens.size(); ++i) {
                const bool name =
                    is_part_of_name(tokens[i][0]) && std::isdigit(static_cast<unsigned char>(tokens[i][0])) == 0;
                if (!name || (i > 0 && tokens[i - 1] == ".") || own_names().contains(tokens[i])) continue;
                EXPECT_TRUE(known.contains(std::string(tokens[i])))
                    << module->name << " of " << kernel->name << " uses '" << tokens[i] << "', which nobody declares";
            }
        }
    }
    EXPECT_EQ(kernels, 48u);
}

TEST(Modules, NeedOnlyWhatTheyUseAndTheirImportersDeclare) {
    size_t needs = 0;
    for (const Module* kernel : modules()) {
        if (!is_kernel(*kernel)) continue;
        const auto declared = declared_in(*kernel);
        const auto imported = imported_by(*kernel);
        for (const Module* module : imported) {
            const auto tokens = tokens_of(module->text);
            for (const std::string_view need : module->needs) {
                ++needs;
                // The kernel has it, or whoever else imports the module by name: or needs it in its turn.
                for (const Module* importer : importers_of(*module, imported, *kernel)) {
                    const bool passed_on = std::ranges::find(importer->needs, need) != importer->needs.end();
                    const bool fills_slot = importer == kernel;
                    const bool beside = fills_slot && std::ranges::any_of(imported, [&](const Module* one) {
                                            return declared_in(*one).contains(need);
                                        });
                    EXPECT_TRUE(declared.contains(need) || passed_on || beside || declared_in(*importer).contains(need))
                        << importer->name << " lacks '" << need << "' of " << module->name << " in " << kernel->name;
                }
                const bool used = std::ranges::find(tokens, need) != tokens.end();
                EXPECT_TRUE(used) << module->name << " does not use '" << need << "'";
            }
        }
    }
    EXPECT_GT(needs, 0u);
}

TEST(Modules, BindEachNumberOnce) {
    for (const Module* module : modules()) {
        for (const ModuleBinding& binding : module->bindings) {
            const std::string place = "@binding(" + std::to_string(binding.number) + ")";
            const size_t at = module->text.find(place);
            ASSERT_NE(at, std::string_view::npos) << module->name << ": " << binding.name;
            EXPECT_EQ(module->text.find(place, at + 1), std::string_view::npos) << module->name << ": " << binding.name;
        }
    }
}

}  // namespace
}  // namespace lapidary::kernels

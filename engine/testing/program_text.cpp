#include "testing/program_text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "chat/json.h"

namespace lapidary::testing {
namespace {

bool in_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

size_t skip_spaces(std::string_view text, size_t at) {
    while (at < text.size() && std::isspace(static_cast<unsigned char>(text[at])) != 0) ++at;
    return at;
}

// Behind the bracket that closes the one at `at`.
size_t skip_brackets(std::string_view text, size_t at) {
    int depth = 0;
    for (; at < text.size(); ++at) {
        if (text[at] == '[') ++depth;
        if (text[at] == ']' && --depth == 0) return at + 1;
    }
    return at;
}

// Whether what stands at `at`, behind a variable's name, assigns to it: [i], .x, then = alone.
bool assigns(std::string_view text, size_t at) {
    for (;;) {
        at = skip_spaces(text, at);
        if (at < text.size() && text[at] == '[') {
            at = skip_brackets(text, at);
        } else if (at < text.size() && text[at] == '.') {
            for (++at; at < text.size() && in_name(text[at]);) ++at;
        } else {
            break;
        }
    }
    return text.substr(at).starts_with('=') && !text.substr(at).starts_with("==");
}

std::string number(double value) {
    char buffer[40];
    std::snprintf(buffer, sizeof(buffer), "%.9g", value);
    return buffer;
}

struct Override {
    std::string name;
    std::optional<double> value;  // its default, if that is a number
};

// In the order of the text.
std::vector<Override> overrides_of(std::string_view wgsl) {
    std::vector<Override> out;
    for (size_t at = wgsl.find("override "); at != std::string_view::npos; at = wgsl.find("override ", at + 1)) {
        const std::string_view line = wgsl.substr(at, wgsl.find(';', at) - at);
        const size_t name = skip_spaces(line, std::string_view("override ").size());
        size_t name_end = name;
        while (name_end < line.size() && in_name(line[name_end])) ++name_end;
        out.push_back({.name = std::string(line.substr(name, name_end - name)), .value = {}});
        const size_t is = line.find('=');
        if (is == std::string_view::npos) continue;
        const std::string value(line.substr(skip_spaces(line, is + 1)));
        char* end = nullptr;
        const double parsed = std::strtod(value.c_str(), &end);
        const std::string_view rest(end);
        if (end != value.c_str() && (rest.empty() || rest == "u" || rest == "f" || rest == "i"))
            out.back().value = parsed;
    }
    return out;
}

struct Written {
    gpu::Id buffer;
    uint64_t begin, end;
    std::string by;
};

// What a read of this range finds: of several writers all that left something there, the last first.
std::string found(const std::vector<Written>& writes, const gpu::Binding& binding) {
    std::string out;
    uint64_t open_begin = binding.offset;
    const uint64_t open_end = binding.offset + binding.size;
    for (auto it = writes.rbegin(); it != writes.rend(); ++it) {
        if (it->buffer != binding.buffer || it->begin >= open_end || it->end <= open_begin) continue;
        out += (out.empty() ? "" : "|") + it->by;
        if (it->begin != binding.offset) out += lapidary::format("@{}", int64_t(it->begin) - int64_t(binding.offset));
        if (it->begin <= open_begin && it->end >= open_end) break;
        if (it->begin <= open_begin) open_begin = std::max(open_begin, it->end);
    }
    return out;
}

}  // namespace

std::string hex(uint64_t value) {
    std::string out(8, '0');
    for (size_t i = 0; i < 8; ++i) out[7 - i] = "0123456789abcdef"[(value >> (4 * i)) & 15];
    return out;
}

std::vector<ShaderBinding> shader_bindings(std::string_view wgsl) {
    std::map<int, ShaderBinding> found;
    constexpr std::string_view kMark = "@binding(";
    for (size_t at = wgsl.find(kMark); at != std::string_view::npos; at = wgsl.find(kMark, at + 1)) {
        const int index = std::atoi(wgsl.data() + at + kMark.size());
        const size_t open = wgsl.find('<', at);
        const size_t close = wgsl.find('>', open);
        const bool writable = wgsl.substr(open, close - open).find("read_write") != std::string_view::npos;
        const size_t name = skip_spaces(wgsl, close + 1);
        size_t end = name;
        while (end < wgsl.size() && in_name(wgsl[end])) ++end;
        ShaderBinding binding{.name = std::string(wgsl.substr(name, end - name))};
        if (writable) {
            binding.use = BindingUse::write;
            for (size_t use = wgsl.find(binding.name, end); use != std::string_view::npos;
                 use = wgsl.find(binding.name, use + 1)) {
                const size_t after = use + binding.name.size();
                if (in_name(wgsl[use - 1]) || wgsl[use - 1] == '.' || (after < wgsl.size() && in_name(wgsl[after]))) {
                    continue;  // a longer name, or a field
                }
                if (!assigns(wgsl, after)) binding.use = BindingUse::update;
            }
        }
        found[index] = std::move(binding);
    }
    std::vector<ShaderBinding> out;
    for (auto& [index, binding] : found) {
        out.resize(size_t(index) + 1);
        out[size_t(index)] = std::move(binding);
    }
    return out;
}

namespace {

// Names, numbers, and everything else letter by letter; without comments and spaces.
std::vector<std::string_view> tokens_of(std::string_view text) {
    std::vector<std::string_view> out;
    for (size_t at = 0; at < text.size();) {
        if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
            ++at;
        } else if (text.substr(at).starts_with("//")) {
            at = std::min(text.find('\n', at), text.size());
        } else {
            size_t end = at + 1;
            // "1.5e-3" is one number; "v.x" three tokens.
            const bool number = std::isdigit(static_cast<unsigned char>(text[at])) != 0;
            while (in_name(text[at]) && end < text.size() &&
                   (in_name(text[end]) || (number && (text[end] == '.' || ((text[end] == '-' || text[end] == '+') &&
                                                                           text[end - 1] == 'e'))))) {
                ++end;
            }
            out.push_back(text.substr(at, end - at));
            at = end;
        }
    }
    return out;
}

bool is_swizzle(std::string_view name) {
    return name.size() <= 4 && name.find_first_not_of("xyzwrgba") == std::string_view::npos;
}

}  // namespace

std::string without_names(std::string_view wgsl) {
    const std::vector<std::string_view> tokens = tokens_of(wgsl);
    using Names = std::map<std::string_view, size_t>;
    Names fields;
    Names module;                // what every function sees
    std::vector<Names> locals;   // each function's own
    std::vector<size_t> inside;  // of each token: 1 + the function it is in, its parameters included; 0: none
    constexpr std::array<std::string_view, 7> kDeclaring = {"fn", "struct", "const", "override", "alias", "let", "var"};
    bool in_struct = false;
    bool in_function = false;
    int depth = 0;
    for (size_t i = 0; i < tokens.size(); ++i) {
        const std::string_view token = tokens[i];
        if (i > 0 && tokens[i - 1] == "fn") {
            module.emplace(token, module.size());
            locals.emplace_back();
            in_function = true;
            inside.push_back(0);
            continue;
        }
        inside.push_back(in_function ? locals.size() : 0);
        if (token == "struct") in_struct = true;
        if (token == "{") ++depth;
        if (token == "}" && --depth == 0) in_struct = in_function = false;
        if (i == 0 || !in_name(token[0]) || token == "default") continue;
        size_t before = i - 1;
        if (tokens[before] == ">") {  // var<storage, read> x
            while (before > 0 && tokens[before] != "<") --before;
            if (before > 0) --before;
        }
        const bool declared = std::ranges::find(kDeclaring, tokens[before]) != kDeclaring.end();
        const bool typed = i + 1 < tokens.size() && tokens[i + 1] == ":";  // a parameter, or a field
        if (declared || (typed && in_function)) {
            Names& names = in_function ? locals.back() : module;
            names.emplace(token, names.size());
        } else if (typed && in_struct && !is_swizzle(token)) {
            fields.emplace(token, fields.size());
        }
    }
    std::string out;
    const auto put = [&](const Names& names, std::string_view name, char kind) {
        const auto found = names.find(name);
        if (found == names.end()) return false;
        out += kind + std::to_string(found->second) + ' ';
        return true;
    };
    for (size_t i = 0; i < tokens.size(); ++i) {
        const bool typed = i + 1 < tokens.size() && tokens[i + 1] == ":";
        if (i > 0 && (tokens[i - 1] == "." || (typed && inside[i] == 0 && tokens[i - 1] != ">"))) {
            if (put(fields, tokens[i], 'f')) continue;
            if (tokens[i - 1] == ".") {
                out += std::string(tokens[i]) + ' ';
                continue;
            }
        }
        if (inside[i] > 0 && put(locals[inside[i] - 1], tokens[i], 'l')) continue;
        if (put(module, tokens[i], 'n')) continue;
        out += std::string(tokens[i]) + ' ';
    }
    return out;
}

const ProgramPrinter::Known& ProgramPrinter::known(gpu::Id id) {
    const auto [it, is_new] = pipelines_.try_emplace(id);
    if (!is_new) return it->second;
    const gpu::PlanDevice::Pipeline& pipeline = device_.pipeline(id);
    Checksum text;
    text.add(std::string_view(canonical_ ? without_names(pipeline.wgsl) : pipeline.wgsl));
    std::string head = " text=" + hex(text.value());
    std::vector<Override> overrides = overrides_of(pipeline.wgsl);
    if (!canonical_) std::ranges::sort(overrides, {}, &Override::name);
    for (size_t i = 0; i < overrides.size(); ++i) {
        const auto given = pipeline.constants.find(overrides[i].name);
        if (given != pipeline.constants.end()) overrides[i].value = given->second;
        if (!overrides[i].value) continue;  // found from the others
        head += " " + (canonical_ ? lapidary::format("{}", i) : overrides[i].name) + "=" + number(*overrides[i].value);
    }
    it->second = {.bindings = shader_bindings(pipeline.wgsl), .head = std::move(head)};
    return it->second;
}

std::string ProgramPrinter::buffer_name(gpu::Id buffer) {
    const std::string& label = device_.buffer(buffer).label;
    if (!canonical_ || label.ends_with(".weight")) return label;
    return lapidary::format("b{}", buffers_.try_emplace(buffer, buffers_.size()).first->second);
}

std::string ProgramPrinter::binding_name(const Known& pipeline, size_t index) const {
    if (canonical_ || index >= pipeline.bindings.size()) return lapidary::format("{}", index);
    return pipeline.bindings[index].name;
}

namespace {

std::string whole_hex(uint64_t value) {
    return hex(value >> 32) + hex(value);
}

// Every line of what tools read.
std::string line_for_tools(const chat::Json& json) {
    return "|" + chat::json_text(json) + "\n";
}

}  // namespace

std::string ProgramPrinter::for_tools(const gpu::Command& command) {
    using chat::Json;
    std::string out;
    const gpu::PlanDevice::Pipeline& pipeline = device_.pipeline(command.pipeline);
    if (told_.insert(command.pipeline).second) {
        Checksum text;
        text.add(std::string_view(pipeline.wgsl));
        if (told_texts_.insert(text.value()).second) {
            Checksum nameless;
            nameless.add(std::string_view(without_names(pipeline.wgsl)));
            out += line_for_tools({{"text", whole_hex(text.value())},
                                   {"nameless", whole_hex(nameless.value())},
                                   {"wgsl", pipeline.wgsl}});
        }
        Json constants = Json::array();
        for (const Override& constant : overrides_of(pipeline.wgsl)) {
            const auto given = pipeline.constants.find(constant.name);
            if (given != pipeline.constants.end()) {
                constants.push_back({constant.name, given->second, "given"});
            } else if (constant.value) {
                constants.push_back({constant.name, *constant.value, "default"});
            }
        }
        Json bindings = Json::array();
        for (const ShaderBinding& binding : shader_bindings(pipeline.wgsl)) {
            constexpr std::array<const char*, 3> kUses = {"read", "write", "update"};
            bindings.push_back({binding.name, kUses[size_t(binding.use)]});
        }
        out += line_for_tools({{"pipeline", command.pipeline},
                               {"label", pipeline.label},
                               {"of", whole_hex(text.value())},
                               {"constants", std::move(constants)},
                               {"bindings", std::move(bindings)}});
    }
    Json bound = Json::array();
    for (const gpu::Binding& binding : device_.group(command.bind_group).bindings) {
        const gpu::PlanDevice::Buffer& buffer = device_.buffer(binding.buffer);
        if (told_.insert(binding.buffer).second) {
            out += line_for_tools({{"buffer", binding.buffer}, {"label", buffer.label}});
        }
        const auto constant = buffer.writes.find(binding.offset);
        Json contents = constant == buffer.writes.end() ? Json() : Json(whole_hex(constant->second));
        bound.push_back({binding.buffer, binding.offset, binding.size, std::move(contents)});
    }
    return out + line_for_tools({{"dispatch", command.pipeline},
                                 {"grid", {command.x, command.y, command.z}},
                                 {"bound", std::move(bound)}});
}

std::string ProgramPrinter::text(gpu::Id program) {
    std::string out;
    std::vector<Written> writes;
    size_t index = 0;
    for (const gpu::Command& command : device_.program(program)) {
        if (!canonical_) out += for_tools(command);
        const gpu::PlanDevice::Group& group = device_.group(command.bind_group);
        const Known& pipeline = known(command.pipeline);
        const std::string_view label = canonical_ ? "" : std::string_view(device_.pipeline(command.pipeline).label);
        out += lapidary::format("  %{} {} [{} {} {}]", index, label, command.x, command.y, command.z);
        out += pipeline.head + "\n     ";
        std::vector<Written> written;
        for (size_t i = 0; i < group.bindings.size(); ++i) {
            const gpu::Binding& binding = group.bindings[i];
            const BindingUse use = i < pipeline.bindings.size() ? pipeline.bindings[i].use : BindingUse::read;
            const std::string where = buffer_name(binding.buffer) + lapidary::format("+{}", binding.offset);
            out += " " + binding_name(pipeline, i) + "=";
            if (use != BindingUse::write) {
                const std::string from = found(writes, binding);
                const auto& constants = device_.buffer(binding.buffer).writes;
                const auto constant = constants.find(binding.offset);
                if (!from.empty()) {
                    out += from;
                } else {
                    out += constant != constants.end() ? "#" + hex(constant->second) : where;
                }
            }
            if (use != BindingUse::read) {
                out += "→" + where;
                written.push_back({binding.buffer, binding.offset, binding.offset + binding.size,
                                   lapidary::format("%{}.{}", index, binding_name(pipeline, i))});
            }
            out += lapidary::format(":{}", binding.size);
        }
        out += "\n";
        writes.insert(writes.end(), written.begin(), written.end());
        ++index;
    }
    return out;
}

}  // namespace lapidary::testing

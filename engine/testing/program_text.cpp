#include "testing/program_text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>

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

// Those with a number as their default, which need not be given.
std::map<std::string, double, std::less<>> default_constants(std::string_view wgsl) {
    std::map<std::string, double, std::less<>> out;
    for (size_t at = wgsl.find("override "); at != std::string_view::npos; at = wgsl.find("override ", at + 1)) {
        const std::string_view line = wgsl.substr(at, wgsl.find(';', at) - at);
        const size_t is = line.find('=');
        if (is == std::string_view::npos) continue;
        const std::string value(line.substr(skip_spaces(line, is + 1)));
        char* end = nullptr;
        const double parsed = std::strtod(value.c_str(), &end);
        const std::string_view rest(end);
        if (end == value.c_str() || !(rest.empty() || rest == "u" || rest == "f" || rest == "i")) continue;
        const size_t name = skip_spaces(line, std::string_view("override ").size());
        size_t name_end = name;
        while (name_end < line.size() && in_name(line[name_end])) ++name_end;
        out.emplace(line.substr(name, name_end - name), parsed);
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

std::string program_text(const gpu::PlanDevice& device, gpu::Id program) {
    struct Known {
        std::vector<ShaderBinding> bindings;
        std::string head;
    };
    std::map<gpu::Id, Known> pipelines;
    const auto known = [&](gpu::Id id) -> const Known& {
        const auto [it, is_new] = pipelines.try_emplace(id);
        if (!is_new) return it->second;
        const gpu::PlanDevice::Pipeline& pipeline = device.pipeline(id);
        Checksum text;
        text.add(std::string_view(pipeline.wgsl));
        auto constants = default_constants(pipeline.wgsl);
        for (const auto& [name, value] : pipeline.constants) constants.insert_or_assign(name, value);
        it->second = {.bindings = shader_bindings(pipeline.wgsl), .head = " text=" + hex(text.value())};
        for (const auto& [name, value] : constants) it->second.head += " " + name + "=" + number(value);
        return it->second;
    };
    std::string out;
    std::vector<Written> writes;
    size_t index = 0;
    for (const gpu::Command& command : device.program(program)) {
        const gpu::PlanDevice::Group& group = device.group(command.bind_group);
        const Known& pipeline = known(command.pipeline);
        out += lapidary::format("  %{} {} [{} {} {}]", index, device.pipeline(command.pipeline).label, command.x,
                                command.y, command.z);
        out += pipeline.head + "\n     ";
        std::vector<Written> written;
        for (size_t i = 0; i < group.bindings.size(); ++i) {
            const gpu::Binding& binding = group.bindings[i];
            const ShaderBinding use = i < pipeline.bindings.size() ? pipeline.bindings[i] : ShaderBinding{};
            const gpu::PlanDevice::Buffer& buffer = device.buffer(binding.buffer);
            const std::string where = buffer.label + lapidary::format("+{}", binding.offset);
            out += " " + (use.name.empty() ? lapidary::format("{}", i) : use.name) + "=";
            if (use.use != BindingUse::write) {
                const std::string from = found(writes, binding);
                const auto constant = buffer.writes.find(binding.offset);
                if (!from.empty()) {
                    out += from;
                } else if (constant != buffer.writes.end()) {
                    out += "#" + hex(constant->second);
                } else {
                    out += where;
                }
            }
            if (use.use != BindingUse::read) {
                out += "→" + where;
                written.push_back({binding.buffer, binding.offset, binding.offset + binding.size,
                                   lapidary::format("%{}.{}", index, use.name)});
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

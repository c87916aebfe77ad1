#include "infer/autotune_text.h"

#include <algorithm>

#include "base/checksum.h"
#include "infer/autotune.h"
#include "kernels/shader.h"

namespace lapidary::infer {
namespace {

using kernels::Activations;
using kernels::Format;
using kernels::Reduction;

constexpr size_t kMaxText = 4096;
constexpr uint64_t kFormats = uint64_t(Format::f32) + 1;

uint64_t identity_of(const gpu::Info& info) {
    Checksum sum;
    sum.add(info.adapter);
    sum.add(kernels::kernels_digest());
    for (const bool has : {info.subgroups, info.f16, info.packed_dot, info.timestamps}) sum.add(uint64_t{has});
    for (const uint64_t limit : {uint64_t{info.subgroup_min}, info.max_buffer_bytes, info.max_binding_bytes,
                                 uint64_t{info.max_workgroup_bytes}, uint64_t{info.max_grid}}) {
        sum.add(limit);
    }
    return sum.value();
}

// What is in a line, as numbers: the GPU and the kernels, the variant and the compute units, a bit for each format.
struct Line {
    uint64_t identity = 0;
    uint64_t variant = 0;
    uint64_t formats = 0;

    [[nodiscard]] std::string text() const {
        Checksum sum;
        std::string out;
        for (const uint64_t number : {identity, variant, formats}) {
            sum.add(number);
            put(number, out);
        }
        put(sum.value(), out);
        return out;
    }

    static std::optional<Line> read(std::string_view text) {
        if (text.size() != 4 * kDigits) return std::nullopt;
        const Line line{number_at(text, 0), number_at(text, kDigits), number_at(text, 2 * kDigits)};
        // There is one way to write it, checksum included: that answers whether those were digits, too.
        if (line.text() != text) return std::nullopt;
        return line;
    }

  private:
    static constexpr size_t kDigits = 16;

    static void put(uint64_t number, std::string& out) {
        for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[number >> shift & 15];
    }
    static uint64_t number_at(std::string_view text, size_t at) {
        uint64_t number = 0;
        for (const char c : text.substr(at, kDigits)) {
            number = number << 4 | uint64_t(c <= '9' ? c - '0' : c - 'a' + 10);
        }
        return number;
    }
};

constexpr uint64_t kSubgroups = 1;
constexpr uint64_t kLimbs = 2;
constexpr int kComputeUnitsAt = 8;

uint64_t bits_of(kernels::Variant variant) {
    return (variant.reduction == Reduction::subgroup ? kSubgroups : 0) |
           (variant.activations == Activations::limbs ? kLimbs : 0);
}

}  // namespace

std::string autotune_text(const gpu::Info& info, const KnownGpu& known) {
    Line line{.identity = identity_of(info),
              .variant = bits_of(known.variant) | uint64_t{known.compute_units} << kComputeUnitsAt};
    for (const Format format : known.tested) line.formats |= uint64_t{1} << uint64_t(format);
    return line.text();
}

std::optional<KnownGpu> read_autotune_text(const gpu::Info& info, std::string_view lines) {
    if (lines.size() > kMaxText) return std::nullopt;
    const uint64_t identity = identity_of(info);
    const uint64_t possible = bits_of(wanted_variant(info)) | uint64_t{kMaxComputeUnits} << kComputeUnitsAt;
    while (!lines.empty()) {
        const size_t length = std::min(lines.find('\n'), lines.size());
        const auto line = Line::read(lines.substr(0, length));
        lines.remove_prefix(std::min(length + 1, lines.size()));
        if (!line || line->identity != identity) continue;
        if ((line->variant & ~possible) != 0 || line->formats >> kFormats != 0) continue;
        KnownGpu known{
            .variant = {.reduction = (line->variant & kSubgroups) != 0 ? Reduction::subgroup : Reduction::shared,
                        .activations = (line->variant & kLimbs) != 0 ? Activations::limbs : Activations::floats},
            .compute_units = uint32_t(line->variant >> kComputeUnitsAt),
            .tested = {}};
        for (uint64_t i = 0; i < kFormats; ++i) {
            if ((line->formats >> i & 1) != 0) known.tested.push_back(Format(i));
        }
        return known;
    }
    return std::nullopt;
}

}  // namespace lapidary::infer

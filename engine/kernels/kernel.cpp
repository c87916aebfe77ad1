#include "kernels/kernel.h"

#include <algorithm>
#include <vector>

#include "kernels/wgsl_sources.h"

namespace lapidary::kernels {
namespace {
constexpr auto kRead = gpu::Access::read;
constexpr auto kWrite = gpu::Access::write;

std::string_view dot_source(Format format, Activations activations) {
    if (activations == Activations::planes) return wgsl::x_planes_unit;
    return holds_whole_numbers(format) ? wgsl::x_floats_unit : wgsl::x_floats_run;
}

bool is_part_of_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The text's names and numbers, and what is between them.
std::vector<std::string_view> words_of(std::string_view text) {
    std::vector<std::string_view> out;
    while (!text.empty()) {
        const bool name = is_part_of_name(text.front());
        size_t size = 1;
        while (size < text.size() && is_part_of_name(text[size]) == name) ++size;
        out.push_back(text.substr(0, size));
        text.remove_prefix(size);
    }
    return out;
}

bool is_among(std::string_view word, std::span<const std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
}

// The text with "_2" behind every name that it declares, so that it can stand beside the original.
std::string second_copy(std::string_view text) {
    constexpr std::array<std::string_view, 5> kDeclaring = {"fn", "struct", "const", "override", "alias"};
    const std::vector<std::string_view> words = words_of(text);
    std::vector<std::string_view> declared;
    for (size_t i = 2; i < words.size(); ++i) {
        if (is_among(words[i - 2], kDeclaring)) declared.push_back(words[i]);
    }
    std::string out;
    for (const std::string_view word : words) {
        out += word;
        if (is_among(word, declared)) out += "_2";
    }
    return out;
}

// What a product does with rows of a format: those of the first, and of the second under other names.
std::string row_sources(Formats formats, Activations activations, std::string_view rows) {
    std::string out(dot_source(formats.first, activations));
    out += wgsl::loaded;
    out += rows;
    if (!formats.second) return out;
    return out + second_copy(format_source(*formats.second) + row_sources(*formats.second, activations, rows));
}

std::string_view kv_source(KvFormat format) {
    switch (format) {
        case KvFormat::f32: return wgsl::kv_f32;
        case KvFormat::f16: return wgsl::kv_f16;
        case KvFormat::i16: return wgsl::kv_i16;
        case KvFormat::q8: return wgsl::kv_q8;
    }
    return {};
}
}  // namespace

const Kernel kMatvec{"matvec",
                     wgsl::matvec,
                     {kRead, kRead, kRead, kRead, kRead, kRead, kWrite, kWrite},
                     8,
                     needs::weights | needs::sums | needs::activations | needs::planes | needs::parts};
const Kernel kWalk{"walk", wgsl::walk, {kRead, kRead, kWrite}, 3, needs::weights | needs::sums | needs::ready_planes};
const Kernel kMatmul{"matmul", wgsl::matmul, {kRead, kRead, kRead, kRead, kWrite}, 5, needs::weights};
const Kernel kGather{"gather", wgsl::gather, {kRead, kRead, kRead, kWrite}, 4, needs::weights};
const Kernel kResidualNorm{
    "residual_norm", wgsl::residual_norm, {kRead, kRead, kRead, kRead, kWrite, kWrite}, 6, needs::sums | needs::planes};
const Kernel kHeads{
    "heads", wgsl::heads, {kRead, kRead, kRead, kWrite, kWrite, kWrite}, 6, needs::sums | needs::rope | needs::cache};
const Kernel kAttention{
    "attention", wgsl::attention, {kRead, kRead, kRead, kRead, kWrite}, 5, needs::sums | needs::cache};
const Kernel kAttentionDecode{"attention_decode",
                              wgsl::attention_decode,
                              {kRead, kRead, kRead, kRead, kWrite, kWrite, kWrite, kWrite},
                              8,
                              needs::sums | needs::cache};
const Kernel kTurns{"turns", wgsl::turns, {kRead, kRead, kWrite}, 3, needs::rope};
const Kernel kAttentionMerge{"attention_merge",
                             wgsl::attention_merge,
                             {kRead, kRead, kRead, kWrite},
                             4,
                             needs::sums | needs::planes | needs::parts};
const Kernel kToPlanes{"to_planes", wgsl::to_planes, {kRead, kWrite}, 2, needs::sums | needs::planes};
const Kernel kPerLayer{"per_layer", wgsl::per_layer, {kRead, kRead, kRead, kRead, kWrite}, 5, needs::sums};
const Kernel kRoute{"route", wgsl::route, {kRead, kRead, kRead, kWrite, kWrite}, 5, 0};
const Kernel kCombine{"combine", wgsl::combine, {kRead, kRead, kRead, kWrite}, 4, 0};
const Kernel kSoftcap{"softcap", wgsl::softcap, {kRead, kWrite}, 2, 0};
const Kernel kArgmax{"argmax", wgsl::argmax, {kWrite, kRead, kWrite, kWrite, kWrite}, 5, needs::sums};
const Kernel kSampleAdjust{
    "sample_adjust", wgsl::sample_adjust, {kRead, kRead, kRead, kRead, kWrite, kWrite}, 6, needs::sampling};
const Kernel kSampleMask{"sample_mask", wgsl::sample_mask, {kRead, kWrite}, 2, needs::sampling};
const Kernel kSampleCount{"sample_count", wgsl::sample_count, {kRead, kRead, kWrite}, 3, needs::sampling};
const Kernel kSampleCollect{
    "sample_collect", wgsl::sample_collect, {kRead, kRead, kRead, kWrite, kWrite}, 5, needs::sampling};
const Kernel kSamplePick{
    "sample_pick", wgsl::sample_pick, {kWrite, kRead, kRead, kRead, kWrite, kWrite}, 6, needs::sampling};

const Kernel kGemm{"gemm", wgsl::train_gemm, {kRead, kRead, kRead, kRead, kRead, kWrite}, 6, 0};
const Kernel kMatmulBack{
    "matmul_back", wgsl::train_matmul_back, {kRead, kRead, kRead, kRead, kWrite}, 5, needs::weights};
const Kernel kNorm{"norm", wgsl::train_norm, {kRead, kRead, kRead, kRead, kWrite}, 5, needs::sums};
const Kernel kNormBack{"norm_back", wgsl::train_norm_back, {kRead, kRead, kRead, kRead, kWrite}, 5, needs::sums};
const Kernel kSplitHeads{"split_heads",
                         wgsl::train_split_heads,
                         {kRead, kRead, kRead, kRead, kRead, kWrite, kWrite},
                         7,
                         needs::sums | needs::rope};
const Kernel kSplitHeadsBack{"split_heads_back",
                             wgsl::train_split_heads_back,
                             {kRead, kRead, kRead, kRead, kRead, kRead, kRead, kWrite},
                             8,
                             needs::sums | needs::rope};
const Kernel kSoftmax{"softmax", wgsl::train_softmax, {kRead, kRead, kRead, kWrite}, 4, needs::sums};
const Kernel kSoftmaxBack{"softmax_back", wgsl::train_softmax_back, {kRead, kRead, kRead, kWrite}, 4, needs::sums};
const Kernel kGate{"gate", wgsl::train_gate, {kRead, kRead, kRead, kWrite}, 4, 0};
const Kernel kGateBack{"gate_back", wgsl::train_gate_back, {kRead, kRead, kRead, kWrite}, 4, 0};
const Kernel kSumParts{"sum_parts", wgsl::train_sum_parts, {kRead, kRead, kRead, kWrite}, 4, 0};
const Kernel kTakeRows{"take_rows", wgsl::train_take_rows, {kRead, kRead, kRead, kWrite}, 4, 0};
const Kernel kCrossEntropy{
    "cross_entropy", wgsl::train_cross_entropy, {kRead, kRead, kRead, kRead, kWrite}, 5, needs::sums};
const Kernel kCrossEntropyBack{
    "cross_entropy_back", wgsl::train_cross_entropy_back, {kRead, kRead, kRead, kRead, kWrite}, 5, 0};
const Kernel kExpertLists{"expert_lists", wgsl::train_expert_lists, {kRead, kRead, kWrite}, 3, 0};
const Kernel kRouteBack{
    "route_back", wgsl::train_route_back, {kRead, kRead, kRead, kRead, kRead, kWrite, kWrite}, 7, needs::sums};
const Kernel kSquares{"squares", wgsl::train_squares, {kRead, kWrite}, 2, needs::sums};
const Kernel kClip{"clip", wgsl::train_clip, {kRead, kRead, kWrite}, 3, needs::sums};
const Kernel kAdamW{"adamw", wgsl::train_adamw, {kRead, kRead, kWrite, kWrite, kWrite, kWrite}, 6, 0};

std::string shader(const Kernel& kernel, Formats formats, Variant variant) {
    const Format format = formats.first;
    const auto wants = [&](uint16_t what) { return (kernel.needs & what) != 0; };
    const bool subgroups = wants(needs::sums) && variant.reduction == Reduction::subgroup;
    // Weights in floating point have no use for whole numbers.
    const auto activations = holds_whole_numbers(format) ? variant.activations : Activations::floats;
    std::string out;
    if (subgroups) out += "enable subgroups;\n";
    out += wgsl::common;
    if (wants(needs::sums)) out += subgroups ? wgsl::reduce_subgroup : wgsl::reduce_shared;
    if (wants(needs::planes)) {
        out += wgsl::planes;
        out += wgsl::plane_rows;
    }
    if (wants(needs::parts)) out += wgsl::parts;
    if (wants(needs::rope)) out += wgsl::rope;
    if (wants(needs::cache)) {
        out += kv_source(variant.kv);
        out += wgsl::kv_rows;
    }
    if (wants(needs::sampling)) out += wgsl::sampling;
    if (wants(needs::weights)) out += format_source(format);
    if (wants(needs::activations)) {
        if (activations == Activations::planes) {
            out += wgsl::x_planes;
            out += wgsl::x_planes_held;
        } else {
            out += wgsl::x_floats;
        }
        out += row_sources(formats, activations, wgsl::row_dots);
        out += formats.second ? wgsl::two_formats : wgsl::one_format;
    }
    if (wants(needs::ready_planes)) {
        out += wgsl::x_planes;
        out += row_sources(formats, Activations::planes, wgsl::walk_rows);
        out += formats.second ? wgsl::walk_two : wgsl::walk_one;
    }
    return out + std::string(kernel.source);
}

std::string_view kernels_digest() {
    return wgsl::digest;
}

}  // namespace lapidary::kernels

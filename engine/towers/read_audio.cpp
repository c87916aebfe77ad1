#include "towers/finder.h"
#include "towers/read_towers.h"

namespace lapidary::towers {
namespace {

constexpr uint32_t kMelBins = 128;
constexpr uint64_t kMaxFrame = 1 << 16;
constexpr uint64_t kMaxChannels = 1 << 12;
constexpr uint64_t kMaxKernel = 64;

// The two dialects differ in a few names, some of which mean another thing in the other.
struct AudioNames {
    std::string_view input_projection;
    std::string_view output_projection;
    std::string_view attn_pre_norm;
    std::string_view attn_post_norm;
    std::string_view k_rel;
    std::string_view output_norm;
};
constexpr AudioNames kLlamaCpp{"a.input_projection", "a.pre_encode.out", "attn_pre_norm",
                               "attn_post_norm",     "attn_k_rel",       "ln2"};
constexpr AudioNames kOllama{"a.pre_encode.out", "mm.a.fc", "ln1", "ln2", "linear_pos", "layer_pre_norm"};

class ConformerReader {
  public:
    ConformerReader(Finder& find, const AudioConfig& config, const AudioNames& names)
        : find_(find), config_(config), names_(names), clip_zero_(&names != &kOllama) {}

    Result<AudioLayer> layer(uint32_t index) {
        const std::string blk = "a.blk." + std::to_string(index) + ".";
        const uint64_t d = config_.width;
        AudioLayer out;
        out.ffn1 = TRY(feed_forward(blk, ""));
        out.attn_pre_norm = TRY(norm(blk, names_.attn_pre_norm));
        out.q = TRY(linear(blk + "attn_q", d, d));
        out.k = TRY(linear(blk + "attn_k", d, d));
        out.v = TRY(linear(blk + "attn_v", d, d));
        out.out = TRY(linear(blk + "attn_out", d, d));
        out.k_rel = TRY(find_.required(blk + std::string(names_.k_rel) + ".weight", {d, d}));
        out.per_dim_scale = TRY(find_.required(blk + "per_dim_scale.weight", {config_.head_dim}));
        out.attn_post_norm = TRY(norm(blk, names_.attn_post_norm));
        out.conv_norm = TRY(norm(blk, "conv_norm"));
        out.conv_pw1 = TRY(linear(blk + "conv_pw1", d, 2 * d));
        out.conv_dw = TRY(find_.required(blk + "conv_dw.weight", {config_.kernel, d}));
        out.norm_conv = TRY(norm(blk, "norm_conv"));
        out.conv_pw2 = TRY(linear(blk + "conv_pw2", d, d));
        out.ffn2 = TRY(feed_forward(blk, "_1"));
        out.output_norm = TRY(norm(blk, names_.output_norm));
        return out;
    }

  private:
    Result<Weight> norm(const std::string& blk, std::string_view name) {
        return find_.required(blk + std::string(name) + ".weight", {config_.width});
    }

    Result<Linear> linear(const std::string& base, uint64_t cols, uint64_t rows) {
        Linear out = TRY(find_.linear(base, {cols, rows}));
        out.zero_is_none = !clip_zero_;
        return out;
    }

    Result<FeedForward> feed_forward(const std::string& blk, const std::string& suffix) {
        const uint64_t d = config_.width;
        return FeedForward{.norm = TRY(norm(blk, "ffn_norm" + suffix)),
                           .up = TRY(linear(blk + "ffn_up" + suffix, d, config_.ffn)),
                           .down = TRY(linear(blk + "ffn_down" + suffix, config_.ffn, d)),
                           .post_norm = TRY(norm(blk, "ffn_post_norm" + suffix))};
    }

    Finder& find_;
    const AudioConfig& config_;
    const AudioNames& names_;
    bool clip_zero_;
};

Status read_conformer_sizes(const Keys& keys, const Finder& find, AudioConfig& config) {
    config.layers = TRY(keys.integer("block_count", 1, kMaxLayers));
    config.width = TRY(keys.integer("embedding_length", 2, kMaxWidth));
    config.ffn = TRY(keys.integer("feed_forward_length", 1, kMaxWidth));
    config.heads = TRY(keys.integer("attention.head_count", 1, kMaxHeads));
    config.mel_bins = TRY(keys.integer_or("num_mel_bins", 1, 1024, kMelBins));
    if (config.mel_bins != kMelBins) {
        return fail(Code::unsupported, "the audio tower wants {} mel features; Gemma 4's have {}", config.mel_bins,
                    kMelBins);
    }
    if (config.width % config.heads != 0 || config.width % 2 != 0) {
        return fail(Code::bad_file, "{} heads cannot share a width of {}", config.heads, config.width);
    }
    config.head_dim = config.width / config.heads;
    for (size_t i = 0; i < 2; ++i) {
        config.channels[i] = TRY(find.dimension("a.conv1d." + std::to_string(i) + ".weight", 3, kMaxChannels));
    }
    config.kernel = TRY(find.dimension("a.blk.0.conv_dw.weight", 0, kMaxKernel));
    return {};
}

Status read_conformer(const Keys& keys, Finder& find, AudioConfig& config, AudioTable& table) {
    TRY(read_conformer_sizes(keys, find, config));
    const AudioNames& names = find.exists("mm.a.fc.weight") ? kOllama : kLlamaCpp;
    const uint64_t d = config.width;
    uint64_t before = 1;
    for (size_t i = 0; i < 2; ++i) {
        const std::string base = "a.conv1d." + std::to_string(i);
        table.conv[i].weight = TRY(find.kernel(base + ".weight", {3, 3, before, config.channels[i]}));
        table.conv[i].norm = TRY(find.required(base + ".norm.weight", {config.channels[i]}));
        before = config.channels[i];
    }
    table.input_projection = TRY(find.required(std::string(names.input_projection) + ".weight",
                                               {uint64_t{config.mel_bins} / 4 * config.channels[1], d}));
    ConformerReader reader(find, config, names);
    for (uint32_t i = 0; i < config.layers; ++i) table.layers.push_back(TRY(reader.layer(i)));
    const std::string output(names.output_projection);
    config.projected = TRY(find.dimension(output + ".weight", 1, kMaxWidth));
    table.output_projection = TRY(find.affine(output, {d, config.projected}, {config.projected}));
    return {};
}

}  // namespace

Result<Audio> read_audio(AudioKind kind, const Keys& keys, const gguf::File& file) {
    Finder find(file);
    Audio out;
    AudioConfig& config = out.config;
    config.kind = kind;
    const std::string projection = "mm.a.input_projection.weight";
    uint64_t input = 0;
    if (kind == AudioKind::gemma4a) {
        TRY(read_conformer(keys, find, config, out.table));
        input = config.projected;
    } else {
        config.frame = TRY(find.dimension(projection, 0, kMaxFrame));
        input = config.frame;
    }
    config.output = TRY(find.dimension(projection, 1, kMaxWidth));
    out.table.projection = TRY(find.required(projection, {input, config.output}));
    out.table.all = find.take_all();
    return out;
}

}  // namespace lapidary::towers

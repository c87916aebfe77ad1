#include "testing/planned_programs.h"

#include <algorithm>
#include <cstring>

#include "infer/gpu_encoder.h"
#include "model/synth.h"
#include "testing/fixture_model.h"
#include "testing/program_text.h"
#include "train/gpu_backend.h"

namespace lapidary::testing {
namespace {

using infer::Depth;
using infer::GpuPrograms;
using infer::SampleMode;

constexpr uint64_t kGiB = uint64_t{1} << 30;

// NOLINTNEXTLINE(cert-err58-cpp): texts of a few letters
const Profile kProfiles[] = {
    {.name = "h200",
     .info = {.subgroups = true,
              .subgroup_min = 32,
              .packed_dot = true,
              .timestamps = true,
              .max_buffer_bytes = 1024 * kGiB,
              .max_binding_bytes = 2 * kGiB - 4,
              .max_workgroup_bytes = 49152},
     .compute_units = 132,
     .thorough = true},
    {.name = "apple",
     .info = {.subgroups = true,
              .subgroup_min = 32,
              .packed_dot = true,
              .max_buffer_bytes = 4 * kGiB,
              .max_binding_bytes = 4 * kGiB - 4,
              .max_workgroup_bytes = 32768}},
    {.name = "apple-40",
     .info = {.subgroups = true,
              .subgroup_min = 32,
              .packed_dot = true,
              .max_buffer_bytes = 4 * kGiB,
              .max_binding_bytes = 4 * kGiB - 4,
              .max_workgroup_bytes = 32768},
     .compute_units = 40},
    {.name = "baseline", .info = {}, .thorough = true},
    {.name = "software",
     .info = {.software = true,
              .subgroups = true,
              .subgroup_min = 4,
              .packed_dot = true,
              .max_buffer_bytes = kGiB,
              .max_binding_bytes = kGiB,
              .max_workgroup_bytes = 32768}},
    {.name = "plain-32", .info = {.packed_dot = true, .max_workgroup_bytes = 32768}},
};

constexpr PlannedModel kModels[] = {
    {.name = "tiny-e2b", .variant = "tiny-e2b", .thorough = true},
    {.name = "tiny-31b", .variant = "tiny-31b", .thorough = true},
    {.name = "tiny-moe", .variant = "tiny-moe", .thorough = true},
    {.name = "tiny-one", .variant = "tiny-one", .thorough = true},
    {.name = "tiny-wide", .variant = "tiny-wide"},
    {.name = "e2b", .variant = "E2B"},
    {.name = "e2b-q4_0", .variant = "E2B", .mix = quant::Mix::q4_0},
    {.name = "e2b-bf16", .variant = "E2B", .mix = quant::Mix::bf16},
    {.name = "e4b", .variant = "E4B"},
    {.name = "12b", .variant = "12B"},
    {.name = "26b-a4b", .variant = "26B-A4B"},
    {.name = "31b", .variant = "31B"},
    {.name = "tiny-diffusion", .variant = "tiny-diffusion"},
    {.name = "diffusion-26b-a4b", .variant = "diffusion-26B-A4B"},
    {.name = "tiny-gemma3", .variant = "tiny-gemma3", .thorough = true},
    {.name = "gemma3-270m", .variant = "gemma3-270m"},
    {.name = "gemma3-1b", .variant = "gemma3-1b"},
    {.name = "tiny-embedding", .variant = "tiny-embedding", .thorough = true},
    {.name = "embeddinggemma", .variant = "embeddinggemma", .mix = quant::Mix::q8_0},
};

// A model's header, and numbers between 0.5 and 1.5 where its small weights would be: of each tensor its own, so that a
// norm taken for another shows.
class PlannedSource final : public ByteSource {
  public:
    explicit PlannedSource(const model::SynthPlan& plan) : header_(plan.layout.header), size_(plan.layout.file_size) {
        for (size_t i = 0; i < plan.tensors.size(); ++i) {
            Checksum name;
            name.add(std::string_view(plan.tensors[i].name));
            tensors_.push_back({plan.layout.tensors[i], name.value()});
        }
    }
    [[nodiscard]] uint64_t size() const override { return size_; }
    Task<Result<Bytes>> read(ByteRange range, Cancel) override {
        CO_TRY(check_range(range, size_));
        Bytes out(range.size);
        for (uint64_t i = 0; i < range.size && range.offset + i < header_.size(); ++i)
            out[i] = header_[range.offset + i];
        for (const auto& [where, seed] : tensors_) {
            if (where.offset > range.offset || where.offset + where.size <= range.offset) continue;
            for (uint64_t i = 0; i + 4 <= range.size; i += 4) {
                Checksum sum;
                sum.add(seed);
                sum.add(range.offset - where.offset + i);
                const float value = 0.5f + float(sum.value() % 1000) / 1000.0f;
                std::memcpy(&out[i], &value, 4);
            }
        }
        co_return out;
    }

  private:
    Bytes header_;
    uint64_t size_;
    struct Tensor {
        ByteRange where;
        uint64_t seed;
    };
    std::vector<Tensor> tensors_;
};

// What never has to wait.
template <class T>
T now(Task<T> task) {
    auto out = std::move(task).run_now();
    if (!out) return fail(Code::internal, "a task waited where nothing should");
    return *std::move(out);
}

// An update of rank 4 of every matrix of every layer.
lora::Adapter adapter_for(const model::Config& config, const model::WeightTable& table) {
    lora::Adapter out;
    out.name = "planned";
    for (uint32_t layer = 0; layer < config.layers.size(); ++layer) {
        for (size_t t = 0; t < lora::kTargets; ++t) {
            const auto target = lora::Target(t);
            const auto shape = lora::in_layer(target) ? lora::shape_of(table, layer, target) : std::nullopt;
            if (!shape) continue;
            out.updates.push_back({.layer = layer,
                                   .target = target,
                                   .rank = 4,
                                   .in = shape->in,
                                   .out = shape->out,
                                   .a = std::vector<float>(size_t{4} * shape->in, 0.5f),
                                   .b = std::vector<float>(size_t{4} * shape->out, 0.25f)});
        }
    }
    return out;
}

class Planner {
  public:
    Planner(const Profile& profile, bool canonical, const EachProgram& each)
        : device_(profile.info), printer_(device_, canonical), each_(each) {
        choice_.variant = infer::wanted_variant(profile.info);
        choice_.compute_units = profile.compute_units;
    }

    Status plan(const PlannedModel& wanted, bool thorough) {
        const model::SynthPlan plan = TRY(model::plan_synth(wanted.variant, wanted.mix));
        file_ = TRY(now(gguf::File::open({std::make_shared<PlannedSource>(plan)}, {})));
        config_ = std::make_shared<const model::Config>(TRY(model::read_config(*file_)));
        table_ = std::make_shared<const model::WeightTable>(TRY(model::find_weights(*config_, lookup_in(*file_))));
        const auto loaded = TRY(load(infer::TablePlace::gpu));
        if (config_->embedding) return embedding(loaded, thorough);
        tell_refusal(inference(loaded, kDefaultKvFormat, "", thorough));
        if (!thorough) return {};
        for (const KvFormat kv : {KvFormat::f32, KvFormat::f16, KvFormat::q8}) {
            tell_refusal(inference(loaded, kv, std::string(kv_format_name(kv)) + " ", false));
        }
        if (config_->per_layer_width > 0) {
            const auto streamed = TRY(load(infer::TablePlace::source));
            tell_refusal(inference(streamed, kDefaultKvFormat, "rows from the source, ", false));
        }
        for (const bool checkpointing : {true, false}) {
            for (const float dropout : {0.0f, 0.1f}) tell_refusal(training(loaded, checkpointing, dropout));
        }
        return {};
    }

  private:
    [[nodiscard]] Result<std::shared_ptr<infer::GpuModel>> load(infer::TablePlace place) {
        return now(infer::GpuModel::plan(device_, *file_, config_, table_, choice_, place));
    }

    void tell(std::string_view name, gpu::Id program) {
        each_(name, device_.program(program).size(), printer_.text(program));
    }
    void tell_refusal(const Status& status) {
        if (!status) each_("refused: " + status.error().message, 0, "");
    }

    Status layers(GpuPrograms& programs, const std::string& prefix) {
        for (const uint32_t block : GpuPrograms::kBlocks) {
            for (const Depth depth : {Depth::all, Depth::keys_and_values}) {
                const char* name = depth == Depth::all ? "all" : "keys and values";
                tell(prefix + lapidary::format("layers {} {}", block, name),
                     TRY(now(programs.layers(block, depth, {}))));
            }
        }
        return {};
    }

    Status decoding(GpuPrograms& programs, const std::string& prefix) {
        constexpr std::pair<SampleMode, const char*> kModes[] = {{SampleMode::none, "by the host"},
                                                                 {SampleMode::greedy, "greedy"},
                                                                 {SampleMode::sampled, "sampled"},
                                                                 {SampleMode::constrained, "constrained"}};
        for (const auto& [mode, name] : kModes) {
            tell(prefix + "decode " + name, TRY(now(programs.decode(mode, {}))));
        }
        return {};
    }

    Status inference(const std::shared_ptr<infer::GpuModel>& model, KvFormat kv, const std::string& prefix,
                     bool with_adapter) {
        const auto programs =
            TRY(now(GpuPrograms::create(model, {.context = 4096, .kv = kv, .shares_scratch = false}, {})));
        TRY(layers(*programs, prefix));
        constexpr std::pair<uint32_t, uint32_t> kRows[] = {{0, 1}, {511, 1}, {0, 16}};
        for (const auto& [first, rows] : kRows) {
            tell(prefix + lapidary::format("head {} {}", first, rows), TRY(now(programs->head(first, rows, {}))));
        }
        for (const SampleMode mode : {SampleMode::greedy, SampleMode::sampled, SampleMode::constrained}) {
            tell(prefix + lapidary::format("choice {}", int(mode)), TRY(now(programs->choice(mode, {}))));
        }
        TRY(decoding(*programs, prefix));
        if (programs->canvas_tensors() != nullptr) {
            tell(prefix + "canvas, first step", TRY(now(programs->canvas_step(false, {}))));
            tell(prefix + "canvas, step", TRY(now(programs->canvas_step(true, {}))));
        }
        if (!with_adapter) return {};
        infer::enable_gpu_adapters();
        const lora::Active active{.adapter = std::make_shared<lora::Adapter>(adapter_for(*config_, *table_))};
        TRY(programs->use_adapters({&active, 1}));
        TRY(layers(*programs, prefix + "adapted "));
        return decoding(*programs, prefix + "adapted ");
    }

    Status embedding(const std::shared_ptr<infer::GpuModel>& model, bool thorough) {
        constexpr KvFormat kFormats[] = {KvFormat::f32, KvFormat::i16};
        for (const KvFormat kv : std::span(kFormats).first(thorough ? 2 : 1)) {
            // The longest text has a program of its own.
            constexpr uint32_t kLongest = 2048;
            const auto encoder = TRY(
                now(infer::GpuEncoder::create(model, {.context = kLongest, .kv = kv, .shares_scratch = false}, {})));
            const std::string prefix = lapidary::format("{} ", kv_format_name(kv));
            std::vector<uint32_t> sizes(infer::GpuEncoder::kSizes.begin(), infer::GpuEncoder::kSizes.end());
            for (const uint32_t texts : sizes) {
                tell(prefix + lapidary::format("vectors {}", texts), TRY(now(encoder->vectors(texts, {}))));
            }
            sizes.push_back(kLongest);
            for (const uint32_t rows : sizes) {
                tell(prefix + lapidary::format("encoder {}", rows), TRY(now(encoder->layers(rows, {}))));
            }
        }
        return {};
    }

    // They are recorded when they first run, so a step is run: a sequence of two examples, forward and back, and AdamW.
    Status training(const std::shared_ptr<infer::GpuModel>& model, bool checkpointing, float dropout) {
        const std::vector<gpu::Id> before = device_.programs();
        const auto backend = TRY(now(train::GpuBackend::create(model, adapter_for(*config_, *table_),
                                                               {.tokens = 100, .checkpointing = checkpointing}, {})));
        train::Sequence sequence;
        for (int32_t i = 0; i < 100; ++i) {
            sequence.tokens.push_back(i % 50 + 2);
            sequence.weights.push_back(i == 39 || i == 99 ? 0.0f : 1.0f);
        }
        sequence.starts = {0, 40};
        TRY(now(backend->accumulate(sequence, 98, {.probability = dropout, .seed = 1}, {})));
        const std::string prefix =
            lapidary::format("training{}{} ", checkpointing ? "" : ", everything kept", dropout > 0 ? ", dropout" : "");
        size_t index = 0;
        for (const gpu::Id program : device_.programs()) {
            if (!std::ranges::binary_search(before, program)) tell(prefix + lapidary::format("{}", index++), program);
        }
        return {};
    }

    gpu::PlanDevice device_;
    ProgramPrinter printer_;
    const EachProgram& each_;
    infer::Autotune choice_;
    std::optional<gguf::File> file_;
    std::shared_ptr<const model::Config> config_;
    std::shared_ptr<const model::WeightTable> table_;
};

}  // namespace

std::span<const Profile> profiles() {
    return kProfiles;
}

std::span<const PlannedModel> planned_models() {
    return kModels;
}

void each_program(const PlannedModel& model, const Profile& profile, bool canonical, const EachProgram& each) {
    Planner planner(profile, canonical, each);
    if (const Status status = planner.plan(model, model.thorough && profile.thorough); !status)
        each("refused: " + status.error().message, 0, "");
}

std::string program_digests(const PlannedModel& model, const Profile& profile) {
    std::string out;
    each_program(model, profile, true, [&](std::string_view name, size_t dispatches, const std::string& text) {
        out += lapidary::format("{} {}: {}", model.name, profile.name, name);
        if (dispatches > 0) {
            Checksum digest;
            digest.add(std::string_view(text));
            out += lapidary::format(": {} dispatches, {}", dispatches, hex(digest.value()));
        }
        out += "\n";
    });
    return out;
}

}  // namespace lapidary::testing

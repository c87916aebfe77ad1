// model.*: opening a file, saying what it is, its vocabulary, and making a smaller one of it.
#include "api/api.h"
#include "api/describe.h"
#include "api/messages/model.h"
#include "api/token_blob.h"
#include "model/quantize.h"
#include "tokenizer/utf8_stream.h"

namespace lapidary::api {
Task<Result<Reply>> Api::model_open(Call& call) {
    ModelOpenArgs args;
    CO_TRY(read_message(call.args, args));
    if (args.sources.empty()) co_return fail(Code::invalid_argument, "'sources' must be a list of the model's files");
    std::vector<std::shared_ptr<ByteSource>> sources;
    uint64_t bytes = 0;
    for (const SourceFile& source : args.sources) {
        sources.push_back(std::make_shared<HostSource>(ops_, source.id, uint64_t(source.size)));
        bytes += uint64_t(source.size);
    }
    auto file = CO_TRY(co_await gguf::File::open(std::move(sources), call.cancel));
    auto model = std::make_shared<OpenModel>(std::move(file));
    model->file_bytes = bytes;
    const uint32_t id = ++last_id_;
    models_.emplace(id, std::move(model));
    co_return reply(ModelOpenResult{.model = id});
}

// Sessions of the model go on living.
Task<Result<Reply>> Api::model_close(Call& call) {
    ModelArgs args;
    CO_TRY(read_message(call.args, args));
    CO_TRY(model_of(args.model));
    models_.erase(args.model);
    co_return Reply{};
}

Task<Result<Reply>> Api::model_describe(Call& call) {
    ModelDescribeArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const auto config = model->config();
    // Not a reason why it cannot run: the other edition can.
    if (!config && config.error().code == Code::needs_everything) co_return passed(config.error());
    co_return reply(describe(*model, CO_TRY(kv_of(args.kv))));
}

// On the first load for a GPU a few cases decide which kernels it gets, unless `gpu_choice` knows; with `selftest` false it
// gets those it says it can run.
Task<Result<Reply>> Api::model_load(Call& call) {
    ModelLoadArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const auto table = CO_TRY(model->weights());
    if (args.backend == "cpu") {
        CO_TRY(co_await load_on_cpu(call, *model, args));
        const bool packed = model->cpu_model != nullptr;
        ModelLoadResult out{.bytes = int64_t(packed ? model->cpu_model->bytes() : model->cpu_weights->bytes()),
                            .cpu = describe_cpu(*model)};
        if (packed && table->per_layer_token_embd.present()) {
            out.per_layer_embeddings = model->cpu_model->per_layer_rows == nullptr ? "memory" : "source";
        }
        co_return reply(out);
    }
    if (args.backend != "gpu") {
        co_return fail(Code::unsupported, "there is no backend '{}'; 'cpu' and 'gpu' exist", printable(args.backend));
    }
    if (device_ == nullptr) co_return fail(Code::unsupported, "there is no WebGPU here: use the CPU backend");
    CO_TRY(co_await device_->open(std::move(args.without_features), call.cancel));
    if (model->gpu_weights == nullptr) {
        infer::Autotune choice{.variant = infer::wanted_variant(device_->info()), .wrong = {}};
        if (args.selftest) {
            autotuner_.remember(device_->info(), args.gpu_choice);
            choice = CO_TRY(co_await autotuner_.choose(
                *device_, infer::formats_of(*table), [this] { return host_.now(); }, call.cancel));
        }
        if (args.processors) choice.compute_units = uint32_t(*args.processors);
        model->gpu_weights = CO_TRY(co_await infer::GpuModel::load(
            *device_, model->file, CO_TRY(model->config()), table, std::move(choice),
            CO_TRY(table_place(args.per_layer_embeddings)), progress_of(call), call.cancel));
    }
    ModelLoadResult out{.bytes = int64_t(model->gpu_weights->bytes()),
                        .adapter = device_->info().adapter,
                        .gpu = describe(model->gpu_weights->choice())};
    if (table->per_layer_token_embd.present()) {
        out.per_layer_embeddings = model->gpu_weights->per_layer_rows == nullptr ? "gpu" : "source";
    }
    if (std::string text = autotuner_.text(device_->info()); !text.empty()) out.gpu_choice = std::move(text);
    co_return reply(out);
}

Task<Result<Reply>> Api::model_tokenize(Call& call) {
    ModelTokenizeArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const auto tokenizer = CO_TRY(model->tokenizer());
    const tokenizer::EncodeOptions options{.add_bos = args.add_bos, .parse_special = args.parse_special};
    const std::string_view text(reinterpret_cast<const char*>(call.blob.data()), call.blob.size());
    const std::vector<int32_t> ids = tokenizer->encode(text, options);
    ModelTokenizeResult out;
    if (args.pieces) {
        for (const int32_t id : ids) out.pieces.emplace_back(tokenizer->text(id));
    }
    co_return reply(out, to_blob(ids));
}

Task<Result<Reply>> Api::model_detokenize(Call& call) {
    ModelDetokenizeArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const auto tokenizer = CO_TRY(model->tokenizer());
    const std::vector<int32_t> ids = CO_TRY(from_blob(call.blob));
    for (const int32_t id : ids) {
        if (!tokenizer->is_valid(id)) {
            co_return fail(Code::invalid_argument, "token {} does not exist: the vocabulary has {}", id,
                           tokenizer->size());
        }
    }
    tokenizer::Utf8Stream characters;  // bytes that are no character become U+FFFD: the result is a text
    std::string text = characters.feed(tokenizer->decode(ids, args.special));
    text += characters.finish();
    co_return reply(ModelDetokenizeResult{.text = std::move(text)});
}

Task<Result<Reply>> Api::model_quantize(Call& call) {
    ModelQuantizeArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const quant::Mix mix = CO_TRY(mix_of(args.type));
    HostSink sink(ops_, args.sink);
    const auto report =
        CO_TRY(co_await model::quantize(model->file, mix, sink, progress_of(call), call.cancel, breathe_for(call)));
    co_return reply(describe(report));
}

}  // namespace lapidary::api

// model.*: opening a file, saying what it is, its vocabulary, and making a smaller one of it.
#include <cstring>

#include "api/api.h"
#include "api/describe.h"
#include "api/token_blob.h"
#include "model/quantize.h"
#include "tokenizer/utf8_stream.h"

namespace lapidary::api {
namespace {

constexpr size_t kMaxFeatures = 32;

Result<infer::TablePlace> table_place(const Args& args) {
    using enum infer::TablePlace;
    const std::string_view name = chat::string_of(args.member("per_layer_embeddings"));
    if (name.empty() || name == "auto") return automatic;
    if (name == "gpu") return gpu;
    if (name == "source") return source;
    return fail(Code::invalid_argument, "'per_layer_embeddings' must be 'auto', 'gpu' or 'source'");
}

}  // namespace

// {sources: [{id, size}]} → {model}
Task<Result<Reply>> Api::model_open(Call& call) {
    const Json& list = call.args.member("sources");
    if (!list.is_array() || list.empty() || list.size() > gguf::kMaxShards) {
        co_return fail(Code::invalid_argument, "'sources' must be a list of the model's files");
    }
    std::vector<std::shared_ptr<ByteSource>> sources;
    uint64_t bytes = 0;
    for (const Json& item : list) {
        const Args source(item);
        const uint32_t id = CO_TRY(source.id("id"));
        const auto size = uint64_t(CO_TRY(source.integer_or("size", 0, kMaxFileBytes, 0)));
        sources.push_back(std::make_shared<HostSource>(ops_, id, size));
        bytes += size;
    }
    auto file = CO_TRY(co_await gguf::File::open(std::move(sources), call.cancel));
    auto model = std::make_shared<OpenModel>(std::move(file));
    model->file_bytes = bytes;
    const uint32_t id = ++last_id_;
    models_.emplace(id, std::move(model));
    co_return Reply{.json = {{"model", id}}};
}

// {model}. Sessions of the model go on living.
Task<Result<Reply>> Api::model_close(Call& call) {
    CO_TRY(model_of(call));
    models_.erase(CO_TRY(call.args.id("model")));
    co_return Reply{};
}

// {model, kv} → see describe()
Task<Result<Reply>> Api::model_describe(Call& call) {
    const auto model = CO_TRY(model_of(call));
    co_return Reply{.json = describe(*model, CO_TRY(kv_of(call)))};
}

// {model, backend, without_features, selftest, gpu_choice, processors, per_layer_embeddings} → {bytes, adapter?, gpu?,
// gpu_choice?, per_layer_embeddings?}, with progress. On the first load for a GPU a few cases decide which kernels it gets, unless
// `gpu_choice` (lines that earlier loads gave back) knows; with `selftest` false it gets those it says it can run.
// `processors`: how many it has, whatever was found out.
Task<Result<Reply>> Api::model_load(Call& call) {
    const auto model = CO_TRY(model_of(call));
    const std::string backend = call.args.has("backend") ? CO_TRY(call.args.string("backend")) : "cpu";
    const auto table = CO_TRY(model->weights());
    if (backend == "cpu") {
        if (model->cpu_weights == nullptr) {
            model->cpu_weights =
                CO_TRY(co_await reference::Weights::load(model->file, *table, progress_of(call), call.cancel));
        }
        co_return Reply{.json = {{"bytes", model->cpu_weights->bytes()}}};
    }
    if (backend != "gpu") {
        co_return fail(Code::unsupported, "there is no backend '{}'; 'cpu' and 'gpu' exist", printable(backend));
    }
    if (device_ == nullptr) co_return fail(Code::unsupported, "there is no WebGPU here: use the CPU backend");
    CO_TRY(co_await device_->open(CO_TRY(call.args.strings("without_features", kMaxFeatures)), call.cancel));
    if (model->gpu_weights == nullptr) {
        infer::GpuChoice choice{.variant = infer::wanted_variant(device_->info()), .wrong = {}};
        if (CO_TRY(call.args.boolean_or("selftest", true))) {
            chooser_.remember(device_->info(), chat::string_of(call.args.member("gpu_choice")));
            choice = CO_TRY(co_await chooser_.choose(
                *device_, infer::formats_of(*table), [this] { return host_.now(); }, call.cancel));
        }
        choice.processors =
            uint32_t(CO_TRY(call.args.integer_or("processors", 0, infer::kMostProcessors, choice.processors)));
        model->gpu_weights = CO_TRY(
            co_await infer::GpuModel::load(*device_, model->file, CO_TRY(model->config()), table, std::move(choice),
                                           CO_TRY(table_place(call.args)), progress_of(call), call.cancel));
    }
    Json json = {{"bytes", model->gpu_weights->bytes()},
                 {"adapter", device_->info().adapter},
                 {"gpu", describe(model->gpu_weights->choice())}};
    if (table->per_layer_token_embd.present()) {
        json["per_layer_embeddings"] = model->gpu_weights->per_layer_rows == nullptr ? "gpu" : "source";
    }
    if (std::string text = chooser_.text(device_->info()); !text.empty()) json["gpu_choice"] = std::move(text);
    co_return Reply{.json = std::move(json)};
}

// {model, add_bos, parse_special, pieces} + UTF-8 → ids, {pieces}
Task<Result<Reply>> Api::model_tokenize(Call& call) {
    const auto model = CO_TRY(model_of(call));
    const auto tokenizer = CO_TRY(model->tokenizer());
    const tokenizer::EncodeOptions options{.add_bos = CO_TRY(call.args.boolean_or("add_bos", true)),
                                           .parse_special = CO_TRY(call.args.boolean_or("parse_special", true))};
    const std::string_view text(reinterpret_cast<const char*>(call.blob.data()), call.blob.size());
    const std::vector<int32_t> ids = tokenizer->encode(text, options);
    Reply reply{.json = Json::object(), .blob = to_blob(ids)};
    if (CO_TRY(call.args.boolean_or("pieces", false))) {
        Json pieces = Json::array();
        for (const int32_t id : ids) pieces.push_back(std::string(tokenizer->text(id)));
        reply.json["pieces"] = std::move(pieces);
    }
    co_return reply;
}

// {model, special} + ids → {text}
Task<Result<Reply>> Api::model_detokenize(Call& call) {
    const auto model = CO_TRY(model_of(call));
    const auto tokenizer = CO_TRY(model->tokenizer());
    const std::vector<int32_t> ids = CO_TRY(from_blob(call.blob));
    for (const int32_t id : ids) {
        if (!tokenizer->is_valid(id)) {
            co_return fail(Code::invalid_argument, "token {} does not exist: the vocabulary has {}", id,
                           tokenizer->size());
        }
    }
    tokenizer::Utf8Stream characters;  // bytes that are no character become U+FFFD: the result is a text
    std::string text = characters.feed(tokenizer->decode(ids, CO_TRY(call.args.boolean_or("special", true))));
    text += characters.finish();
    co_return Reply{.json = {{"text", std::move(text)}}};
}

// {model, type, sink} → {bytes, tensors: [{name, from, to}]}, with progress
Task<Result<Reply>> Api::model_quantize(Call& call) {
    const auto model = CO_TRY(model_of(call));
    const quant::Mix mix = CO_TRY(mix_of(call));
    HostSink sink(ops_, CO_TRY(call.args.id("sink")));
    const auto report =
        CO_TRY(co_await model::quantize(model->file, mix, sink, progress_of(call), call.cancel, breathe_for(call)));
    co_return Reply{.json = describe(report)};
}

}  // namespace lapidary::api

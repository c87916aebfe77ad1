// adapter.*: LoRA adapters beside a model, and which of them a call wants.
#include <cmath>

#include "api/api.h"
#include "api/describe.h"
#include "lora/merge.h"
#include "lora/read.h"
#include "lora/write.h"

namespace lapidary::api {
namespace {

// "f16", in capitals or not; F32 unless given.
Result<TensorType> type_of(const Args& args) {
    std::string name = args.has("type") ? TRY(args.string("type")) : "F32";
    for (char& c : name) c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    for (const TensorType type : {TensorType::f32, TensorType::f16, TensorType::bf16, TensorType::q8_0}) {
        if (tensor_type_name(type) == name) return type;
    }
    return fail(Code::unsupported, "adapters are written as F32, F16, BF16 or Q8_0, not as '{}'", printable(name));
}

Result<lora::Dtype> dtype_of(TensorType type) {
    for (const lora::Dtype dtype : {lora::Dtype::f32, lora::Dtype::f16, lora::Dtype::bf16}) {
        if (lora::tensor_type(dtype) == type) return dtype;
    }
    return fail(Code::unsupported, "a PEFT adapter is F32, F16 or BF16, not {}", tensor_type_name(type));
}

Result<std::vector<lora::AdapterFile>> files_of(const lora::Adapter& adapter, const model::WeightTable& table,
                                                std::string_view format, TensorType type) {
    if (format == "peft") return lora::write_peft(adapter, table, TRY(dtype_of(type)));
    std::vector<lora::AdapterFile> out;
    if (format == "zip") {
        out.push_back({"adapter.zip", TRY(lora::write_peft_zip(adapter, table, TRY(dtype_of(type))))});
        return out;
    }
    if (format == "gguf") {
        out.push_back({"adapter.gguf", TRY(lora::write_gguf(adapter, table, type))});
        return out;
    }
    return fail(Code::unsupported, "there is no format '{}'; there are 'peft', 'zip' and 'gguf'", printable(format));
}

}  // namespace

Result<OpenAdapter> Api::adapter_of(const Call& call) const {
    const auto it = adapters_.find(TRY(call.args.id("adapter")));
    if (it == adapters_.end()) return fail(Code::not_found, "there is no such adapter: it was closed or never loaded");
    return it->second;
}

uint32_t Api::keep_adapter(std::shared_ptr<OpenModel> model, lora::Adapter adapter) {
    infer::make_gpu_adapters = &infer::GpuAdapters::create;
    const uint32_t id = ++last_id_;
    adapters_.emplace(id, OpenAdapter{std::move(model), std::make_shared<const lora::Adapter>(std::move(adapter))});
    return id;
}

Result<std::vector<lora::Active>> Api::adapters_of(const Call& call, const OpenModel* model) const {
    std::vector<lora::Active> out;
    const Json& list = call.args.member("adapters");
    if (list.is_null()) return out;
    if (!list.is_array() || list.size() > lora::kMaxActive) {
        return fail(Code::invalid_argument, "'adapters' must be a list of at most {}: [{adapter, scale}]",
                    lora::kMaxActive);
    }
    for (const Json& item : list) {
        const Args wanted(item);
        const auto it = adapters_.find(TRY(wanted.id("adapter")));
        if (it == adapters_.end()) {
            return fail(Code::not_found, "there is no such adapter: it was closed or never loaded");
        }
        if (it->second.model.get() != model) {
            return fail(Code::invalid_argument, "the adapter '{}' was loaded for another model",
                        printable(it->second.adapter->name));
        }
        const float scale = TRY(wanted.number_or("scale", 1));
        if (!std::isfinite(scale)) return fail(Code::invalid_argument, "the scale of an adapter must be a number");
        out.push_back({it->second.adapter, scale});
    }
    return out;
}

Task<Status> Api::use_adapters(const Call& call, OpenSession& open) {
    co_return co_await open.session->use(CO_TRY(adapters_of(call, open.model.get())));
}

// {model, name, config} + the file → {adapter, description}
Task<Result<Reply>> Api::adapter_load(Call& call) {
    const auto model = CO_TRY(model_of(call));
    const auto table = CO_TRY(model->weights());
    const lora::ReadOptions options{.name = call.args.has("name") ? CO_TRY(call.args.string("name")) : std::string(),
                                    .config = call.args.has("config") ? CO_TRY(call.args.string("config")) : ""};
    lora::ReadAdapter read = CO_TRY(lora::read_adapter(call.blob, options, *table));
    Json description = describe(read.adapter);
    description["format"] = std::string(lora::format_name(read.format));
    description["ignored"] = read.ignored;
    const uint32_t id = keep_adapter(model, std::move(read.adapter));
    co_return Reply{.json = {{"adapter", id}, {"description", std::move(description)}}};
}

// {adapter}. Sessions that use it go on doing so until they are asked for something else.
Task<Result<Reply>> Api::adapter_close(Call& call) {
    CO_TRY(adapter_of(call));
    adapters_.erase(CO_TRY(call.args.id("adapter")));
    co_return Reply{};
}

// {adapter} → see describe()
Task<Result<Reply>> Api::adapter_describe(Call& call) {
    co_return Reply{.json = describe(*CO_TRY(adapter_of(call)).adapter)};
}

// {adapter, format: "peft" | "zip" | "gguf", type: "f32" | "f16" | "bf16" | "q8_0"} → {files: [{name, offset, size}]}
// + their bytes, one after the other
Task<Result<Reply>> Api::adapter_export(Call& call) {
    const OpenAdapter open = CO_TRY(adapter_of(call));
    const auto table = CO_TRY(open.model->weights());
    const std::string format = CO_TRY(call.args.string("format"));
    auto files = CO_TRY(files_of(*open.adapter, *table, format, CO_TRY(type_of(call.args))));
    Reply reply{.json = {{"files", Json::array()}}};
    for (lora::AdapterFile& file : files) {
        reply.json["files"].push_back(
            {{"name", file.name}, {"offset", reply.blob.size()}, {"size", file.bytes.size()}});
        if (reply.blob.empty()) {
            reply.blob = std::move(file.bytes);
        } else {
            reply.blob.insert(reply.blob.end(), file.bytes.begin(), file.bytes.end());
        }
    }
    co_return reply;
}

// {model, adapters: [{adapter, scale}], type, sink} → {bytes, tensors: [{name, from, to}]}, with progress. The type is
// one of model.quantize's, or "same".
Task<Result<Reply>> Api::model_merge(Call& call) {
    const auto model = CO_TRY(model_of(call));
    const auto table = CO_TRY(model->weights());
    auto adapters = CO_TRY(adapters_of(call, model.get()));
    std::optional<quant::Mix> mix;
    if (call.args.has("type") && CO_TRY(call.args.string("type")) != "same") mix = CO_TRY(mix_of(call));
    HostSink sink(ops_, CO_TRY(call.args.id("sink")));
    const auto report = CO_TRY(co_await lora::merge(model->file, *table, std::move(adapters), mix, sink,
                                                    progress_of(call), call.cancel, breathe_for(call)));
    co_return Reply{.json = describe(report)};
}

}  // namespace lapidary::api

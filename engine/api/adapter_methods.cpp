// adapter.*: LoRA adapters beside a model, and which of them a call wants.
#include <cmath>

#include "api/api.h"
#include "api/describe.h"
#include "api/messages/adapter.h"
#include "api/messages/model.h"
#include "lora/merge.h"
#include "lora/read.h"
#include "lora/write.h"

namespace lapidary::api {
namespace {

// "f16", in capitals or not.
Result<TensorType> type_of(std::string name) {
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

Result<OpenAdapter> Api::adapter_of(Id adapter) const {
    const auto it = adapters_.find(adapter);
    if (it == adapters_.end()) return fail(Code::not_found, "there is no such adapter: it was closed or never loaded");
    return it->second;
}

uint32_t Api::keep_adapter(std::shared_ptr<OpenModel> model, lora::Adapter adapter) {
    infer::enable_gpu_adapters();
    const uint32_t id = ++last_id_;
    adapters_.emplace(id, OpenAdapter{std::move(model), std::make_shared<const lora::Adapter>(std::move(adapter))});
    return id;
}

Result<std::vector<lora::Active>> Api::adapters_of(std::span<const AdapterUse> wanted, const OpenModel* model) const {
    std::vector<lora::Active> out;
    for (const AdapterUse& use : wanted) {
        OpenAdapter open = TRY(adapter_of(use.adapter));
        if (open.model.get() != model) {
            return fail(Code::invalid_argument, "the adapter '{}' was loaded for another model",
                        printable(open.adapter->name));
        }
        const auto scale = float(use.scale);
        if (!std::isfinite(scale)) return fail(Code::invalid_argument, "the scale of an adapter must be a number");
        out.push_back({std::move(open.adapter), scale});
    }
    return out;
}

Task<Status> Api::use_adapters(std::span<const AdapterUse> wanted, OpenSession& open) {
    co_return co_await open.session->use(CO_TRY(adapters_of(wanted, open.model.get())));
}

Task<Result<Reply>> Api::adapter_load(Call& call) {
    AdapterLoadArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const auto table = CO_TRY(model->weights());
    const lora::ReadOptions options{.name = args.name, .config = args.config};
    lora::ReadAdapter read = CO_TRY(lora::read_adapter(call.blob, options, *table));
    LoadedAdapter out{.description = describe(read.adapter)};
    out.description.format = std::string(lora::format_name(read.format));
    out.description.ignored = read.ignored;
    out.adapter = keep_adapter(model, std::move(read.adapter));
    co_return reply(out);
}

// Sessions that use it go on doing so until they are asked for something else.
Task<Result<Reply>> Api::adapter_close(Call& call) {
    AdapterArgs args;
    CO_TRY(read_message(call.args, args));
    CO_TRY(adapter_of(args.adapter));
    adapters_.erase(args.adapter);
    co_return Reply{};
}

Task<Result<Reply>> Api::adapter_describe(Call& call) {
    AdapterArgs args;
    CO_TRY(read_message(call.args, args));
    co_return reply(describe(*CO_TRY(adapter_of(args.adapter)).adapter));
}

Task<Result<Reply>> Api::adapter_export(Call& call) {
    AdapterExportArgs args;
    CO_TRY(read_message(call.args, args));
    const OpenAdapter open = CO_TRY(adapter_of(args.adapter));
    const auto table = CO_TRY(open.model->weights());
    auto files = CO_TRY(files_of(*open.adapter, *table, args.format, CO_TRY(type_of(args.type))));
    AdapterExportResult out;
    Bytes bytes;
    for (lora::AdapterFile& file : files) {
        out.files.push_back({.name = file.name, .offset = int64_t(bytes.size()), .size = int64_t(file.bytes.size())});
        if (bytes.empty()) {
            bytes = std::move(file.bytes);
        } else {
            bytes.insert(bytes.end(), file.bytes.begin(), file.bytes.end());
        }
    }
    co_return reply(out, std::move(bytes));
}

Task<Result<Reply>> Api::model_merge(Call& call) {
    ModelMergeArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = CO_TRY(model_of(args.model));
    const auto table = CO_TRY(model->weights());
    auto adapters = CO_TRY(adapters_of(args.adapters, model.get()));
    std::optional<quant::Mix> mix;
    if (args.type != "same") mix = CO_TRY(mix_of(args.type));
    HostSink sink(ops_, args.sink);
    const auto report = CO_TRY(co_await lora::merge(model->file, *table, std::move(adapters), mix, sink,
                                                    progress_of(call), call.cancel, breathe_for(call)));
    co_return reply(describe(report));
}

}  // namespace lapidary::api

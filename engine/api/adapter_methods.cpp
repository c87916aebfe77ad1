// adapter.*: LoRA adapters beside a model, and which of them a call wants.
#include <cmath>

#include "api/api.h"
#include "api/describe.h"

namespace lapidary::api {

Result<OpenAdapter> Api::adapter_of(const Call& call) const {
    const auto it = adapters_.find(TRY(call.args.id("adapter")));
    if (it == adapters_.end()) return fail(Code::not_found, "there is no such adapter: it was closed or never loaded");
    return it->second;
}

uint32_t Api::keep_adapter(std::shared_ptr<OpenModel> model, lora::Adapter adapter) {
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

}  // namespace lapidary::api

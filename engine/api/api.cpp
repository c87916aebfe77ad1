#include "api/api.h"

#include <array>

namespace lapidary::api {
namespace {

std::string error_json(const Error& error) {
    return chat::json_text(Json{{"code", std::string(code_name(error.code))}, {"message", error.message}});
}

}  // namespace

Reply reply_of(std::span<const Field> fields, const void* result, Bytes blob) {
    return {.json = written_fields(fields, result), .blob = std::move(blob)};
}

void Api::emit_fields(const Call& call, std::span<const Field> fields, const void* event) {
    host_.emit(call.id, chat::json_text(written_fields(fields, event)));
}

Api::Methods Api::product_methods() {
    static constexpr auto kMethods = std::to_array<Entry>({
        {"model.open", &Api::model_open},
        {"model.close", &Api::model_close},
        {"model.describe", &Api::model_describe},
        {"model.load", &Api::model_load},
        {"model.tokenize", &Api::model_tokenize},
        {"model.embedding_input", &Api::model_embedding_input},
        {"model.detokenize", &Api::model_detokenize},
        {"session.create", &Api::session_create},
        {"session.close", &Api::session_close},
        {"session.generate", &Api::session_generate},
        {"session.embed", &Api::session_embed},
        {"session.score", &Api::session_score},
        {"session.bench", &Api::session_bench},
    });
    return kMethods;
}

Api::Methods Api::workshop_methods() {
    static constexpr auto kMethods = std::to_array<Entry>({
        {"model.quantize", &Api::model_quantize},
        {"model.synth", &Api::model_synth},
        {"model.merge", &Api::model_merge},
        {"model.states", &Api::model_states},
        {"adapter.load", &Api::adapter_load},
        {"adapter.export", &Api::adapter_export},
        {"adapter.close", &Api::adapter_close},
        {"adapter.describe", &Api::adapter_describe},
        {"data.read", &Api::data_read},
        {"data.preview", &Api::data_preview},
        {"data.close", &Api::data_close},
        {"train.create", &Api::train_create},
        {"train.run", &Api::train_run},
        {"train.save", &Api::train_save},
        {"train.restore", &Api::train_restore},
        {"train.adapter", &Api::train_adapter},
        {"train.gradcheck", &Api::train_gradcheck},
        {"train.close", &Api::train_close},
        {"train.bench", &Api::train_bench},
        {"projector.open", &Api::projector_open},
        {"projector.close", &Api::projector_close},
        {"media.look", &Api::media_look},
        {"media.image", &Api::media_image},
        {"media.sound", &Api::media_sound},
        {"media.frames", &Api::media_frames},
        {"media.prepared", &Api::media_prepared},
        {"media.encode", &Api::media_encode},
        {"media.close", &Api::media_close},
        {"gpu.check", &Api::gpu_check},
        {"gpu.bandwidth", &Api::gpu_bandwidth},
        {"gpu.settle", &Api::gpu_settle},
        {"session.profile", &Api::session_profile},
        {"session.logits", &Api::session_logits},
        {"session.canvas_logits", &Api::session_canvas_logits},
        {"session.diffuse", &Api::session_diffuse},
        {"session.perplexity", &Api::session_perplexity},
        {"session.save", &Api::session_save},
        {"session.restore", &Api::session_restore},
    });
    return kMethods;
}

Api::Method Api::find_method(std::string_view name) const {
    for (const Methods methods : {product_methods(), more_}) {
        for (const Entry& entry : methods) {
            if (entry.name == name) return entry.method;
        }
    }
    return nullptr;
}

void Api::call(uint32_t id, std::string_view method_name, std::string_view json, std::span<const uint8_t> blob) {
    const auto refuse = [&](const Error& error) { host_.finish(id, false, error_json(error), {}); };
    const Method method = find_method(method_name);
    if (method == nullptr)
        return refuse({Code::not_found, format("there is no method '{}' in this engine", printable(method_name))});
    auto args = chat::parse_json(json, "the arguments");
    if (!args) return refuse(args.error());
    if (!args->is_object()) return refuse({Code::invalid_argument, "the arguments must be a JSON object"});
    if (calls_.contains(id)) return refuse({Code::invalid_argument, format("call {} is running already", id)});

    auto call = std::make_shared<Call>();
    call->id = id;
    call->args = std::move(*args);
    call->blob.assign(blob.begin(), blob.end());
    calls_.emplace(id, call);
    start<Result<Reply>>(run(call, method), [this, id](Result<Reply> reply) {
        calls_.erase(id);
        if (!reply) return host_.finish(id, false, error_json(reply.error()), {});
        host_.finish(id, true, chat::json_text(reply->json), reply->blob);
    });
}

// Keeps the call alive while its method runs.
Task<Result<Reply>> Api::run(std::shared_ptr<Call> call, Method method) {
    co_return co_await (this->*method)(*call);
}

void Api::cancel(uint32_t id) {
    const auto it = calls_.find(id);
    if (it == calls_.end()) return;
    const auto call = it->second;  // the call may end, and leave the map, while it is being cancelled
    call->cancel.request();
}

Result<std::shared_ptr<OpenModel>> Api::model_of(Id model) const {
    const auto it = models_.find(model);
    if (it == models_.end()) return fail(Code::not_found, "there is no such model: it was closed or never opened");
    return it->second;
}

Result<quant::Mix> Api::mix_of(std::string type) {
    for (char& c : type) c = c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c;
    return quant::find_mix(type);
}

Result<std::shared_ptr<OpenSession>> Api::take_session(Id wanted) const {
    const auto it = sessions_.find(wanted);
    if (it == sessions_.end()) return fail(Code::not_found, "there is no such session: it was closed or never opened");
    const auto session = it->second;
    if (session->busy) return fail(Code::invalid_argument, "the session is busy with another call");
    session->busy = true;
    // The deleter frees the session for the next call; the captured pointer keeps it alive even if it is closed.
    return std::shared_ptr<OpenSession>(session.get(), [session](OpenSession* taken) { taken->busy = false; });
}

std::function<void(uint64_t, uint64_t)> Api::progress_of(const Call& call) {
    constexpr double kBetweenMs = 100;
    return [this, id = call.id, last = -kBetweenMs](uint64_t done, uint64_t total) mutable {
        const double now = host_.now();
        if (done < total && now - last < kBetweenMs) return;
        last = now;
        host_.emit(id, chat::json_text(written(Progress{.done = int64_t(done), .total = int64_t(total)})));
    };
}

Breathe Api::breathe_for(const Call& call) {
    constexpr double kBetweenMs = 15;
    return [this, cancel = call.cancel]() -> Task<Status> {
        CO_TRY(cancel.check());
        if (host_.now() - last_breath_ < kBetweenMs) co_return Status{};
        CO_TRY(co_await ops_.defer(cancel));
        last_breath_ = host_.now();
        co_return Status{};
    };
}

}  // namespace lapidary::api

// Api: the engine as the host sees it. Methods by name, arguments and results as JSON with an optional blob, models
// and sessions as numbers. The table of methods is docs/messages.md.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/host.h"
#include "api/host_device.h"
#include "api/message.h"
#include "api/messages/common.h"
#include "api/open_model.h"
#include "api/pending_ops.h"
#include "api/prompt_media.h"
#include "infer/gpu_runner.h"
#include "infer/session.h"
#include "lora/adapter.h"
#include "quant/mix.h"

namespace lapidary::chat {
struct Event;
}  // namespace lapidary::chat
namespace lapidary::towers {
struct Listener;
}  // namespace lapidary::towers
namespace lapidary::train {
class Backend;
class Session;
struct DataSet;
}  // namespace lapidary::train

namespace lapidary::api {

struct ModelLoadArgs;
struct SessionCreateArgs;
struct OpenProjector;
struct OpenMedia;

struct Reply {
    Json json = Json::object();
    Bytes blob;
};

Reply reply_of(std::span<const Field> fields, const void* result, Bytes blob);
template <class Result>
Reply reply(const Result& result, Bytes blob = {}) {
    return reply_of(kFields<Result>, &result, std::move(blob));
}

// One call while it runs.
struct Call {
    uint32_t id = 0;
    Json args = Json::object();
    Bytes blob;
    Cancel cancel;
};

// How the tokens of an image see one another.
enum class ImageAttention : uint8_t { reference, llama_cpp };

struct OpenSession {
    std::shared_ptr<OpenModel> model;
    std::unique_ptr<infer::Session> session;
    infer::GpuRunner* gpu = nullptr;  // the session's runner, when it is on the GPU
    bool busy = false;
    ImageAttention image_attention = ImageAttention::reference;
};

struct OpenAdapter {
    std::shared_ptr<OpenModel> model;
    std::shared_ptr<const lora::Adapter> adapter;
};

// A data set, and what its tokens mean.
struct OpenData {
    std::shared_ptr<const train::DataSet> set;
    std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
};

struct OpenTraining {
    std::shared_ptr<OpenModel> model;
    std::shared_ptr<const OpenData> data;
    std::string backend;
    std::shared_ptr<train::Session> session;
    std::vector<std::string> samples;  // what the model is asked now and then
    size_t next_sample = 0;
    bool busy = false;
};

struct Generation;        // generate_method.cpp
struct SessionBenchArgs;  // messages/session.h

class Api {
  public:
    using Method = Task<Result<Reply>> (Api::*)(Call& call);
    struct Entry {
        std::string_view name;
        Method method;
    };
    using Methods = std::span<const Entry>;

    // What a conversation needs: all of it is downloaded before the first word.
    static Methods product_methods();
    // What only measuring, converting, checking and training need. A module that never names this table does not carry
    // what is behind it: that is how lapidary.wasm and lapidary-workshop.wasm differ.
    static Methods workshop_methods();

    // Without a GpuHost there is only the CPU backend; without a machine that is the reference. `more`: methods besides the product's.
    explicit Api(Host& host, GpuHost* gpu = nullptr, Methods more = workshop_methods(), cpu::Machine* machine = nullptr)
        : host_(host), ops_(host), more_(more), machine_(machine) {
        if (gpu != nullptr) device_ = std::make_unique<HostDevice>(*gpu, ops_);
    }

    // Starts a call; the host's `finish` ends it, during this function or later.
    void call(uint32_t id, std::string_view method, std::string_view json, std::span<const uint8_t> blob);
    // Asks a running call to stop. It still finishes, with the code `cancelled`.
    void cancel(uint32_t id);
    // The host has done what it was asked to.
    void complete(uint32_t op, std::optional<std::string> error) { ops_.complete(op, std::move(error)); }

  private:
    [[nodiscard]] Method find_method(std::string_view name) const;

    Task<Result<Reply>> run(std::shared_ptr<Call> call, Method method);

    // model_methods.cpp
    Task<Result<Reply>> model_open(Call& call);
    Task<Result<Reply>> model_close(Call& call);
    Task<Result<Reply>> model_describe(Call& call);
    Task<Result<Reply>> model_load(Call& call);
    Task<Result<Reply>> model_tokenize(Call& call);
    Task<Result<Reply>> model_detokenize(Call& call);
    Task<Result<Reply>> model_embedding_input(Call& call);  // embed_methods.cpp
    Task<Result<Reply>> model_quantize(Call& call);

    // synth_method.cpp
    Task<Result<Reply>> model_synth(Call& call);

    // cpu_model.cpp
    Task<Status> load_on_cpu(const Call& call, OpenModel& model, const ModelLoadArgs& args);
    Task<Status> load_reference(const Call& call, OpenModel& model);
    static Result<std::unique_ptr<Runner>> cpu_runner(OpenModel& model, uint32_t context);

    // data_methods.cpp
    Task<Result<Reply>> data_read(Call& call);
    Task<Result<Reply>> data_preview(Call& call);
    Task<Result<Reply>> data_close(Call& call);
    Result<std::shared_ptr<const OpenData>> data_of(Id data) const;

    // check_method.cpp
    Task<Result<Reply>> gpu_check(Call& call);
    Task<Result<Reply>> gpu_bandwidth(Call& call);
    Task<Result<Reply>> model_states(Call& call);

    // adapter_methods.cpp
    Task<Result<Reply>> adapter_load(Call& call);
    Task<Result<Reply>> adapter_export(Call& call);
    Task<Result<Reply>> model_merge(Call& call);
    Task<Result<Reply>> adapter_close(Call& call);
    Task<Result<Reply>> adapter_describe(Call& call);
    Result<OpenAdapter> adapter_of(Id adapter) const;
    // A number for an adapter that was loaded or trained; adapter.close takes it back.
    uint32_t keep_adapter(std::shared_ptr<OpenModel> model, lora::Adapter adapter);
    // Those of another model are refused.
    Result<std::vector<lora::Active>> adapters_of(std::span<const AdapterUse> wanted, const OpenModel* model) const;
    // The session goes on with these adapters alone.
    Task<Status> use_adapters(std::span<const AdapterUse> wanted, OpenSession& open);

    // session_methods.cpp
    Task<Result<Reply>> session_create(Call& call);
    Task<Result<Reply>> session_close(Call& call);
    Task<Result<Reply>> session_logits(Call& call);
    Task<Result<Reply>> session_embed(Call& call);  // embed_methods.cpp
    Task<Result<Reply>> session_score(Call& call);
    Task<Result<Reply>> session_perplexity(Call& call);
    Task<Result<Reply>> session_bench(Call& call);                                                  // bench_method.cpp
    Task<Result<Reply>> bench_canvas(Call& call, OpenSession& open, const SessionBenchArgs& args);  // canvas_bench.cpp
    Task<Result<Reply>> session_profile(Call& call);
    // canvas_methods.cpp
    Task<Result<Reply>> session_canvas_logits(Call& call);
    Task<Result<Reply>> session_diffuse(Call& call);
    Task<Result<Reply>> gpu_settle(Call& call);
    // session_state.cpp
    Task<Result<Reply>> session_save(Call& call);
    Task<Result<Reply>> session_restore(Call& call);
    // generate_method.cpp
    Task<Result<Reply>> session_generate(Call& call);
    Task<Result<Reply>> generate_text(Call& call, OpenSession& open, Generation& generation);
    Task<Result<Reply>> generate_chat(Call& call, OpenSession& open, Generation& generation);
    void tell_event(const Call& call, Generation& generation, const chat::Event& event);
    // From the arguments to what is needed to follow them.
    Status prepare(Call& call, OpenSession& open, Generation& generation);
    // `context` is settled; all else is as in the arguments.
    Task<Result<std::shared_ptr<OpenSession>>> new_session(const Call& call, OpenModel& model, uint32_t context,
                                                           const SessionCreateArgs& args);

    // media_methods.cpp
    Task<Result<Reply>> projector_open(Call& call);
    Task<Result<Reply>> projector_close(Call& call);
    Task<Result<Reply>> media_look(Call& call);
    Task<Result<Reply>> media_image(Call& call);
    Task<Result<Reply>> media_sound(Call& call);
    Task<Result<Reply>> media_frames(Call& call);
    Task<Result<Reply>> media_prepared(Call& call);
    Task<Result<Reply>> media_encode(Call& call);
    Task<Result<Reply>> media_close(Call& call);
    Result<std::shared_ptr<OpenProjector>> projector_of(Id projector) const;
    Result<std::shared_ptr<OpenMedia>> media_of(Id media) const;
    uint32_t keep_media(std::shared_ptr<OpenMedia> media);
    // Through the tower, unless it was there before.
    // Takes those that are on the GPU from there, until they are needed again; whether there were any.
    bool release_towers();
    Task<Status> load_cpu_towers(OpenProjector& projector, Cancel cancel);
    Task<Result<std::vector<float>>> seen(const OpenMedia& media, towers::Listener listener, Cancel cancel);
    Task<Result<std::vector<float>>> heard(const OpenMedia& media, towers::Listener listener, Cancel cancel);
    Task<Result<infer::SoftPart::Rows>> soft_tokens(std::shared_ptr<OpenMedia> media, towers::Listener listener,
                                                    Cancel cancel);
    // A picture or a sound as a prompt of this session holds it. It is encoded when the session has to see it.
    Result<PromptMedia> prompt_media(const Call& call, const OpenSession& open, Id media);
    // Entries -1, -2, … of the tokens stand for media.
    Result<infer::Prompt> prompt_with_media(const Call& call, const OpenSession& open, std::span<const int32_t> tokens,
                                            std::span<const MediaUse> media);

    // train_methods.cpp
    Task<Result<Reply>> train_create(Call& call);
    Task<Result<Reply>> train_run(Call& call);
    Task<Result<Reply>> train_save(Call& call);
    Task<Result<Reply>> train_restore(Call& call);
    Task<Result<Reply>> train_adapter(Call& call);
    Task<Result<Reply>> train_gradcheck(Call& call);
    Task<Result<Reply>> train_close(Call& call);
    Task<Result<Reply>> train_bench(Call& call);  // train_bench_method.cpp
    // As take_session.
    Result<std::shared_ptr<OpenTraining>> take_training(Id train) const;
    // `backend`: as in SessionCreateArgs.
    Task<Result<std::unique_ptr<train::Backend>>> training_backend(const Call& call, OpenModel& model,
                                                                   const lora::Adapter& adapter, uint32_t longest,
                                                                   std::string_view backend, bool checkpointing);
    // Answers the next samples with the adapter as it is.
    Task<Status> train_sample(const Call& call, OpenTraining& training, uint64_t step, Breathe breathe);
    // Lets a step end that was begun before the call was cancelled, unless it takes too long.
    Breathe breathe_to_the_end(const Call& call);

    Result<std::shared_ptr<OpenModel>> model_of(Id model) const;
    // Such as "q4_k_m", in capitals or not.
    static Result<quant::Mix> mix_of(std::string type);
    // The usual one where none is named.
    static Result<KvFormat> kv_of(std::string_view name);
    // Marks the session busy for as long as the returned pointer lives: two calls on one session would corrupt it.
    Result<std::shared_ptr<OpenSession>> take_session(Id session) const;

    // {"type": "progress", "done", "total"}, at most about ten times a second.
    std::function<void(uint64_t, uint64_t)> progress_of(const Call& call);
    template <class Event>
    void emit(const Call& call, const Event& event) {
        emit_fields(call, kFields<Event>, &event);
    }
    void emit_fields(const Call& call, std::span<const Field> fields, const void* event);
    // Hands control to the host from time to time, not at every layer of a small model.
    Breathe breathe_for(const Call& call);

    Host& host_;
    PendingOps ops_;
    Methods more_;
    std::unique_ptr<HostDevice> device_;  // before everything that holds something of it
    cpu::Machine* machine_;
    std::unique_ptr<cpu::Heap> cpu_heap_;  // likewise
    infer::Autotuner autotuner_;
    uint32_t last_id_ = 0;
    double last_breath_ = 0;
    std::unordered_map<uint32_t, std::shared_ptr<Call>> calls_;
    std::unordered_map<uint32_t, std::shared_ptr<OpenModel>> models_;
    std::unordered_map<uint32_t, std::shared_ptr<OpenSession>> sessions_;
    std::unordered_map<uint32_t, OpenAdapter> adapters_;
    std::unordered_map<uint32_t, std::shared_ptr<OpenProjector>> projectors_;
    std::unordered_map<uint32_t, std::shared_ptr<OpenMedia>> media_;
    std::unordered_map<uint32_t, std::shared_ptr<const OpenData>> data_;
    std::unordered_map<uint32_t, std::shared_ptr<OpenTraining>> trainings_;
};

}  // namespace lapidary::api

// Runner: what a backend offers to everything above it. Tokens go in, logits come out, and it remembers what it
// has seen. The CPU reference is one; the GPU engine is another.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/cancel.h"
#include "base/task.h"

namespace lapidary {

// Lets the host do other things for a moment (show a token, notice Ctrl-C), then goes on. An error means: stop.
using Breathe = std::function<Task<Status>()>;

namespace sample {
struct Params;
}
namespace lora {
struct Active;
}

enum class LogitsWanted : uint8_t {
    none,
    kept,  // those of the last token, left on the backend: begin_stream() chooses the first token from them
    last,  // [vocabulary]
    all,   // [tokens, vocabulary]
};

// Whom the soft tokens of an image see, besides those before them.
enum class Sight : uint8_t {
    causal,     // nobody: as text, and as E2B and E4B were trained
    sliding,    // one another, on sliding layers: as the larger models were trained
    both_ways,  // one another, on all layers: as llama.cpp computes
};

// What an image or a sound is to the model: rows of the stream that no token stands for. They are not scaled, and where a model
// has per-layer embeddings, theirs are those of the padding token.
struct SoftTokens {
    std::span<const float> rows;  // [tokens, width]
    Sight sight = Sight::causal;
};
inline constexpr int32_t kPadToken = 0;

// How a runner's memory is saved and restored: in pieces, one after the other.
using PutState = std::function<Task<Status>(Bytes piece)>;
using GetState = std::function<Task<Result<Bytes>>(uint64_t size)>;

class CanvasRunner;

class Runner {
  public:
    Runner() = default;
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;
    virtual ~Runner() = default;

    [[nodiscard]] virtual uint32_t vocabulary() const = 0;
    [[nodiscard]] virtual uint32_t context() const = 0;   // how many positions it can hold
    [[nodiscard]] virtual uint32_t position() const = 0;  // how many it holds

    // Forgets everything from `length` on. A backend that keeps a window of the past may have to forget more: the
    // position it is at afterwards is what it still holds.
    virtual void truncate(uint32_t length) = 0;

    // Appends tokens. On an error the positions of this call are forgotten, so the runner stays usable.
    // The logits are soft-capped, in f32.
    virtual Task<Result<std::vector<float>>> run(std::span<const int32_t> tokens, LogitsWanted wanted,
                                                 Breathe breathe) = 0;

    [[nodiscard]] virtual bool takes_soft_tokens() const { return false; }
    // Appends soft tokens, all of which must fit; else like `run`.
    virtual Task<Result<std::vector<float>>> run_soft(SoftTokens soft, LogitsWanted wanted, Breathe breathe);

    // The vector of each text, in their order: of a model of embeddings what it was trained for, of any other the mean over
    // the text's positions of the hidden state after the final norm. Not yet of length 1. Everything is forgotten, before
    // and after.
    using OnEmbedded = std::function<void(size_t text, std::vector<float> vector)>;
    virtual Task<Status> embed(std::span<const std::vector<int32_t>> texts, OnEmbedded take, Breathe breathe) = 0;

    // What is remembered, as bytes that mean the same to every runner of the same model with the same layout: the
    // layout's name, how many bytes so many positions have, and the bytes of those it holds.
    [[nodiscard]] virtual std::string state_layout() const = 0;
    [[nodiscard]] virtual uint64_t state_bytes(uint32_t positions) const = 0;
    virtual Task<Status> save_state(PutState put) = 0;
    // Remembers these tokens and nothing else. On an error it remembers nothing.
    virtual Task<Status> load_state(std::span<const int32_t> tokens, GetState get) = 0;

    // The adapters that take part from now on, each with its scale; their updates add up. Those that took part before do
    // not any more, and everything is forgotten. On an error none takes part.
    virtual Task<Status> set_adapters(std::span<const lora::Active> active) = 0;

    // Whether the runner can choose tokens by itself with these parameters, and among those it is told to choose from.
    [[nodiscard]] virtual bool can_stream(const sample::Params& /*params*/) const { return false; }
    // From here on the runner chooses and appends tokens by itself, up to `most`, several steps ahead of whoever asks for
    // them. The last `run` must have kept its logits. `limited`: whoever asks for a token says which ones may come.
    virtual Task<Status> begin_stream(const sample::Params& params, uint32_t most, bool limited);
    // The next token, or nothing when the caller has to choose it from the logits. `allowed` (sample/sampler.h) is looked
    // at in a limited stream only.
    virtual Task<Result<std::optional<int32_t>>> next_token(std::span<const uint32_t> allowed, Cancel cancel);
    // Ends the stream and forgets what was chosen beyond the first `accepted` tokens. The last of those may not have
    // gone through the model yet: position() says what the runner holds.
    virtual Task<Status> end_stream(uint32_t accepted);

    // Of a model that writes by canvases (model/canvas_runner.h); null: it writes token by token. The runner owns it.
    virtual CanvasRunner* canvas() { return nullptr; }
};

inline Task<Result<std::vector<float>>> Runner::run_soft(SoftTokens /*soft*/, LogitsWanted /*wanted*/,
                                                         Breathe /*breathe*/) {
    co_return fail(Code::unsupported, "this backend takes no images and no sounds");
}

inline Task<Status> Runner::begin_stream(const sample::Params& /*params*/, uint32_t /*most*/, bool /*limited*/) {
    co_return fail(Code::unsupported, "this backend cannot choose tokens");
}

inline Task<Result<std::optional<int32_t>>> Runner::next_token(std::span<const uint32_t> /*allowed*/,
                                                               Cancel /*cancel*/) {
    co_return fail(Code::unsupported, "this backend cannot choose tokens");
}

inline Task<Status> Runner::end_stream(uint32_t /*accepted*/) {
    co_return Status{};
}

}  // namespace lapidary

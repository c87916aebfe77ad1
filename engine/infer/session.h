// Session: one conversation with a model. It remembers which tokens the runner holds, so that a prompt that begins
// like the last one only pays for what is new.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lora/adapter.h"
#include "model/canvas_runner.h"
#include "model/runner.h"
#include "sample/logprobs.h"
#include "sample/sampler.h"

namespace lapidary::infer {

// A part of a prompt that is an image or a sound.
struct SoftPart {
    uint32_t begin = 0;  // the first of its places in the prompt
    uint32_t count = 0;
    Sight sight = Sight::causal;
    // [count, width]; asked for only when a runner has to see them.
    using Rows = std::shared_ptr<const std::vector<float>>;
    std::function<Task<Result<Rows>>(Breathe)> rows;
};

// What stands in a prompt where soft token i of a medium with this digest is: negative, so no token, and the same for the same
// medium. Prompts that begin alike are found by comparing numbers.
int32_t soft_key(uint64_t digest, uint32_t i);

struct Prompt {
    std::vector<int32_t> tokens;  // at the places of soft parts their keys
    std::vector<SoftPart> soft = {};
};

struct GenerateOptions {
    uint32_t max_tokens = 0;  // of the answer; 0: until the model ends or the context is full
    sample::Params sampling;
    // So many tokens at the end of the prompt are the beginning of the answer: they count as answered.
    uint32_t answered = 0;
    // How many of the most likely tokens `on_score` is told with each token of the answer.
    uint32_t top_logprobs = 0;
    // Of a model that writes by canvases.
    CanvasSettings canvas;
};

enum class Finish : uint8_t {
    stop,    // the model ended its turn, or the listener had enough
    length,  // max_tokens, or the context is full
};

struct GenerateStats {
    Finish finish = Finish::stop;
    uint32_t prompt_tokens = 0;      // without what was answered before
    uint32_t cached_tokens = 0;      // of what was given, already known from before
    uint32_t completion_tokens = 0;  // the token that ended the answer included, and what was answered before
    double prompt_ms = 0;
    double completion_ms = 0;
    // Of a model that writes by canvases.
    uint32_t canvases = 0;
    uint32_t canvas_steps = 0;
    CanvasMargins margins;
};

// A canvas while it settles.
struct CanvasDraft {
    std::span<const int32_t> tokens;  // the most likely ones
    std::span<const uint8_t> accept;  // which of them the step has accepted
    uint32_t step = 0;                // from 1
    uint32_t max_steps = 0;
};

// What generation tells while it runs.
struct GenerateListener {
    // Prompt tokens done and in all.
    std::function<void(uint32_t done, uint32_t total)> on_prompt;
    // Which tokens may come next; asked before each is chosen. An empty set means all.
    std::function<Result<sample::Allowed>()> allowed;
    // What the model thought of a token of the answer; told before the token itself.
    std::function<void(const sample::TokenScore&)> on_score;
    // A token of the answer; false stops.
    std::function<bool(int32_t token)> on_token;
    // What may become of the answer's next tokens, of a model that writes by canvases; nobody need listen.
    std::function<void(const CanvasDraft&)> on_draft;
    // Ends the answer; it is not passed to on_token.
    std::function<bool(int32_t token)> is_end;
};

class Session {
  public:
    using Clock = std::function<double()>;  // milliseconds

    Session(std::unique_ptr<Runner> runner, Clock clock) : runner_(std::move(runner)), clock_(std::move(clock)) {}

    [[nodiscard]] Runner& runner() { return *runner_; }
    [[nodiscard]] std::span<const int32_t> tokens() const { return tokens_; }

    // Makes the runner hold `prompt`, reusing the longest common beginning, and goes on from there.
    Task<Result<GenerateStats>> generate(Prompt prompt, GenerateOptions options, GenerateListener listener,
                                         Breathe breathe);

    // Logits of every position of `tokens`, from an empty context, handed out one row at a time.
    using OnRow = std::function<Task<Status>(uint32_t position, std::vector<float> logits)>;
    // All rows of a long text with a large vocabulary would not fit in memory: a few positions run at a time, one when
    // tokens should go through the model as in decoding.
    static constexpr uint32_t kLogitRows = 16;
    Task<Status> logits(Prompt prompt, OnRow on_row, Breathe breathe, uint32_t at_once = kLogitRows);

    // The vector of each text (Runner::embed). Nothing is held afterwards.
    Task<Status> embed(std::span<const std::vector<int32_t>> texts, Runner::OnEmbedded take, Breathe breathe);

    void reset();

    // The adapters of everything that follows. Unless they are those of before, with the same scales, nothing is held
    // afterwards. On an error none takes part.
    Task<Status> use(std::vector<lora::Active> adapters);
    [[nodiscard]] std::span<const lora::Active> adapters() const { return adapters_; }

    // Holds `tokens` from now on, with what the runner remembers of them. On an error it holds nothing.
    Task<Status> restore(std::vector<int32_t> tokens, GetState get);

  private:
    // The part of `prompt` the runner need not see again. The last token is always run, because its logits are wanted.
    [[nodiscard]] uint32_t common_prefix(std::span<const int32_t> prompt) const;
    // Forgets all but what `prompt` begins with; soft tokens that see one another stay or go together.
    void keep_common(const Prompt& prompt);
    // Runs what comes after the position the runner is at.
    Task<Result<std::vector<float>>> prefill(const Prompt& prompt, LogitsWanted wanted,
                                             const GenerateListener& listener, Breathe breathe);
    // Why an answer ends with this token, if it does.
    static std::optional<Finish> end_of(int32_t token, const GenerateOptions& options, const GenerateListener& listener,
                                        GenerateStats& stats);
    // The answer by a runner that chooses the tokens. Nothing when it gave up and the caller has to go on by itself.
    Task<Result<std::optional<Finish>>> take_stream(const GenerateOptions& options, const GenerateListener& listener,
                                                    GenerateStats& stats, Breathe breathe);
    Task<Result<Finish>> sample_answer(std::vector<float> logits, const GenerateOptions& options,
                                       const GenerateListener& listener, GenerateStats& stats, Breathe breathe);
    // The answer by a model that writes by canvases: each becomes part of the context when it has settled.
    Task<Result<Finish>> write_canvases(CanvasRunner& canvas, const GenerateOptions& options,
                                        const GenerateListener& listener, GenerateStats& stats, Breathe breathe);
    Task<Result<std::vector<float>>> append(std::span<const int32_t> tokens, LogitsWanted wanted, Breathe breathe);
    // The next piece of the prompt behind `at`: text of at most `most` tokens, or one soft part, or what is left of it.
    Task<Result<std::vector<float>>> append_piece(const Prompt& prompt, size_t at, size_t most, LogitsWanted wanted,
                                                  Breathe breathe);

    std::unique_ptr<Runner> runner_;
    Clock clock_;
    std::vector<int32_t> tokens_;  // what the runner holds
    std::vector<lora::Active> adapters_;
};

}  // namespace lapidary::infer

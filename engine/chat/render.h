// From a conversation to the prompt the model was trained on.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "chat/message.h"
#include "chat/pieces.h"

namespace lapidary::chat {

// Models of Gemma 4 differ only in how they are told not to think: large ones get an empty thought to continue
// from, small ones (those with per-layer embeddings, E2B and E4B) do not.
enum class ModelSize : uint8_t { small, large };

// Whose turns these are. Those of FunctionGemma are Gemma 4's with other markers, and what it is told first differs.
enum class Turns : uint8_t { gemma4, gemma3, function_gemma };

// Whether the prompt ends with the beginning of the model's turn.
enum class GenerationPrompt : uint8_t {
    none,
    as_template,  // as the published template has it: not after a message with text, calls and results
    always,       // there too, so that the model need not guess whose turn it is
};

struct RenderOptions {
    Turns turns = Turns::gemma4;
    ModelSize size = ModelSize::small;
    bool thinking = false;
    GenerationPrompt generation = GenerationPrompt::as_template;
    // The conversation is complete, and the answers to its last question shall look as they do when they have just been
    // generated: behind the empty thought a large model is given when it shall not think.
    bool as_generated = false;
};

// What the last token of the prompt leaves open, so that the output can be read (parser.h).
enum class PromptEnd : uint8_t {
    answer,            // the model continues with an answer, a call or a thought it opens itself
    thought,           // the model continues inside a thought the prompt has opened
    awaiting_results,  // the last message has calls without results: nothing to generate yet
    closed,            // the turn is closed and no generation prompt was asked for
};

// What a message of the model wrote itself, with the token that ends its turn or asks for results: bytes of the text.
struct Answer {
    size_t begin = 0;
    size_t end = 0;
    size_t message = 0;  // which of the conversation's
};

struct Prompt {
    std::vector<Piece> pieces;
    PromptEnd end = PromptEnd::answer;
    std::vector<Answer> answers;  // ascending, none empty
    // What the placeholders in the pieces stand for, in their order: the numbers of parts and frames; 0 where nobody said.
    std::vector<uint32_t> media = {};

    [[nodiscard]] std::string text() const;
};

// Text and markers, with the authors told apart. A tokenizer should treat runs of ordinary text as one, over the
// borders of pieces; only the recognition of markers depends on trust.
Result<Prompt> render_pieces(const Conversation& conversation, const RenderOptions& options);

// The same as one text, "<bos>" included. Use it for showing and comparing; what goes to the model should come from
// render_pieces, or a message that spells "<turn|>" could end its own turn.
Result<std::string> render(const Conversation& conversation, const RenderOptions& options);

}  // namespace lapidary::chat

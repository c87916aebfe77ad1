#include "api/chat_prompt.h"

#include <algorithm>

namespace lapidary::api {
namespace {

bool is_system(const chat::Message& message) {
    return message.role == chat::Role::system || message.role == chat::Role::developer;
}

// Where turns begin, without the first.
std::vector<size_t> turn_starts(const chat::Conversation& conversation) {
    std::vector<size_t> starts;
    bool any = false;
    for (size_t i = 0; i < conversation.messages.size(); ++i) {
        const chat::Message& message = conversation.messages[i];
        if (is_system(message)) continue;
        if (any && message.role == chat::Role::user) starts.push_back(i);
        any = true;
    }
    return starts;
}

chat::Conversation from(const chat::Conversation& conversation, size_t start) {
    chat::Conversation out{.messages = {}, .tools = conversation.tools};
    for (size_t i = 0; i < conversation.messages.size(); ++i) {
        if (i >= start || is_system(conversation.messages[i])) out.messages.push_back(conversation.messages[i]);
    }
    return out;
}

Status refuse_media(const chat::Conversation& conversation) {
    for (const chat::Message& message : conversation.messages) {
        for (const chat::Part& part : message.parts) {
            if (part.kind == chat::PartKind::text) continue;
            return fail(Code::unsupported, "This engine reads text with Gemma 3; its image tower is not supported.");
        }
    }
    return {};
}

}  // namespace

Result<Overflow> overflow_from(std::string_view name) {
    if (name == "error") return Overflow::error;
    if (name == "stop") return Overflow::stop;
    if (name == "slide") return Overflow::slide;
    return fail(Code::invalid_argument, "'overflow' must be 'error', 'stop' or 'slide'");
}

Result<ChatPrompt> chat_prompt(const tokenizer::Tokenizer& tokenizer, const chat::Conversation& conversation,
                               const chat::RenderOptions& options) {
    if (options.turns != chat::Turns::gemma4) TRY(refuse_media(conversation));
    const chat::Prompt prompt = TRY(chat::render_pieces(conversation, options));
    if (prompt.end == chat::PromptEnd::awaiting_results) {
        return fail(Code::invalid_argument, "the last message calls tools: send their results to go on");
    }
    std::vector<tokenizer::TextPiece> pieces;
    for (const chat::Piece& piece : prompt.pieces) pieces.push_back({piece.text, piece.trusted});
    return ChatPrompt{.tokens = tokenizer.encode_pieces(pieces), .end = prompt.end};
}

Result<ChatPrompt> sliding_chat_prompt(const tokenizer::Tokenizer& tokenizer, const chat::Conversation& conversation,
                                       const chat::RenderOptions& options, size_t limit) {
    ChatPrompt best = TRY(chat_prompt(tokenizer, conversation, options));
    if (best.tokens.size() <= limit) return best;
    // Fewer turns are fewer tokens: look for the first start that fits, or take the last.
    const std::vector<size_t> starts = turn_starts(conversation);
    size_t low = 0;
    size_t high = starts.size();
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const chat::Conversation shorter = from(conversation, starts[middle]);
        ChatPrompt prompt = TRY(chat_prompt(tokenizer, shorter, options));
        const bool fits = prompt.tokens.size() <= limit;
        if (fits || middle + 1 == starts.size()) {
            best = std::move(prompt);
            best.dropped_messages = uint32_t(conversation.messages.size() - shorter.messages.size());
        }
        (fits ? high : low) = fits ? middle : middle + 1;
    }
    return best;
}

}  // namespace lapidary::api

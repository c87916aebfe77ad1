#include "api/chat_prompt.h"

#include <algorithm>
#include <array>

#include "base/edition.h"
#include "chat/markers.h"

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

// A longer context than any model has.
constexpr size_t kLongestPrompt = size_t{1} << 20;

// Each placeholder becomes what it stands for, between the tokens that say so.
Result<infer::Prompt> with_media(const tokenizer::Tokenizer& tokenizer, std::span<const int32_t> tokens,
                                 std::span<const uint32_t> media, const FindMedia& find) {
    struct Kind {
        std::string_view placeholder, open, close;
        bool sound;
    };
    static constexpr std::array<Kind, 3> kKinds = {{
        {chat::kImage, chat::kImageOpen, chat::kImageClose, false},
        {chat::kVideo, chat::kImageOpen, chat::kImageClose, false},
        {chat::kAudio, chat::kAudioOpen, chat::kAudioClose, true},
    }};
    infer::Prompt out;
    size_t next = 0;
    for (const int32_t token : tokens) {
        const auto kind =
            std::ranges::find_if(kKinds, [&](const Kind& one) { return tokenizer.find(one.placeholder) == token; });
        if (kind == kKinds.end()) {
            out.tokens.push_back(token);
            continue;
        }
        if (next == media.size()) return fail(Code::internal, "the prompt has more placeholders than media");
        const uint32_t which = media[next++];
        if (which == 0 || !find) {
            return fail(Code::invalid_argument,
                        "the messages have a picture, sound or video without its number: media.image and media.sound "
                        "give one");
        }
        PromptMedia found = TRY(find(which));
        if (found.is_sound != kind->sound) {
            return fail(Code::invalid_argument, "the messages call {} {} and it is {}", which,
                        kind->sound ? "a sound" : "a picture", found.is_sound ? "a sound" : "a picture");
        }
        const auto open = tokenizer.find(kind->open);
        const auto close = tokenizer.find(kind->close);
        if (!open || !close) break;
        out.tokens.push_back(*open);
        TRY(append_media(std::move(found), 0, out));
        out.tokens.push_back(*close);
    }
    if (next != media.size() || out.soft.size() != media.size()) {
        return fail(Code::unsupported, "this model takes no pictures or sounds: its vocabulary has no tokens for them");
    }
    return out;
}

}  // namespace

Result<Overflow> overflow_from(std::string_view name) {
    if (name == "error") return Overflow::error;
    if (name == "stop") return Overflow::stop;
    if (name == "slide") return Overflow::slide;
    return fail(Code::invalid_argument, "'overflow' must be 'error', 'stop' or 'slide'");
}

Status append_media(PromptMedia media, size_t most, infer::Prompt& prompt) {
    // More would only be refused later, after much memory was spent on it.
    if (prompt.tokens.size() + media.part.count > std::max(most, kLongestPrompt)) {
        return fail(Code::limit, "the pictures and sounds of the prompt make more tokens than any context holds");
    }
    media.part.begin = uint32_t(prompt.tokens.size());
    for (uint32_t i = 0; i < media.part.count; ++i) prompt.tokens.push_back(infer::soft_key(media.digest, i));
    prompt.soft.push_back(std::move(media.part));
    return {};
}

Result<ChatPrompt> chat_prompt(const tokenizer::Tokenizer& tokenizer, const chat::Conversation& conversation,
                               const chat::RenderOptions& options, const FindMedia& media) {
    if (options.turns != chat::Turns::gemma4) TRY(refuse_media(conversation));
    const chat::Prompt prompt = TRY(chat::render_pieces(conversation, options));
    if (prompt.end == chat::PromptEnd::awaiting_results) {
        return fail(Code::invalid_argument, "the last message calls tools: send their results to go on");
    }
    std::vector<tokenizer::TextPiece> pieces;
    for (const chat::Piece& piece : prompt.pieces) pieces.push_back({piece.text, piece.trusted});
    ChatPrompt out{.prompt = {.tokens = tokenizer.encode_pieces(pieces)}, .end = prompt.end};
    if (!prompt.media.empty()) {
        if (!has_everything()) return fail(Code::needs_everything, "images and sounds need the whole engine");
        out.prompt = TRY(with_media(tokenizer, out.prompt.tokens, prompt.media, media));
    }
    return out;
}

Result<ChatPrompt> sliding_chat_prompt(const tokenizer::Tokenizer& tokenizer, const chat::Conversation& conversation,
                                       const chat::RenderOptions& options, size_t limit, const FindMedia& media) {
    ChatPrompt best = TRY(chat_prompt(tokenizer, conversation, options, media));
    if (best.prompt.tokens.size() <= limit) return best;
    // Fewer turns are fewer tokens: look for the first start that fits, or take the last.
    const std::vector<size_t> starts = turn_starts(conversation);
    size_t low = 0;
    size_t high = starts.size();
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const chat::Conversation shorter = from(conversation, starts[middle]);
        ChatPrompt prompt = TRY(chat_prompt(tokenizer, shorter, options, media));
        const bool fits = prompt.prompt.tokens.size() <= limit;
        if (fits || middle + 1 == starts.size()) {
            best = std::move(prompt);
            best.dropped_messages = uint32_t(conversation.messages.size() - shorter.messages.size());
        }
        (fits ? high : low) = fits ? middle : middle + 1;
    }
    return best;
}

}  // namespace lapidary::api

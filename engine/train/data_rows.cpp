#include "train/data_rows.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "chat/markers.h"
#include "chat/message.h"
#include "chat/text.h"
#include "infer/turns.h"

namespace lapidary::train {
namespace {

using chat::Json;
using chat::member;

constexpr double kLargestWeight = 1000;

Result<float> weight_of(const Json& object, std::string_view place) {
    const Json& value = member(object, "weight");
    if (value.is_null()) return 1.0f;
    const double weight = value.is_number() ? value.get<double>() : -1;
    if (!(weight >= 0 && weight <= kLargestWeight)) {
        return fail(Code::invalid_argument, "{} must be a number between 0 and {}", place, kLargestWeight);
    }
    return float(weight);
}

// A chat, and how much each of its messages counts.
struct Chat {
    Json messages = Json::array();
    std::vector<float> weights;

    void add(std::string_view role, std::string_view content, float weight) {
        messages.push_back({{"role", std::string(role)}, {"content", std::string(content)}});
        weights.push_back(weight);
    }
    Status add_list(const Json& list, std::string_view place, bool learnt) {
        for (const Json& message : list) {
            const float weight = TRY(weight_of(message, format("{}[{}].weight", place, weights.size())));
            weights.push_back(learnt ? weight : 0);
            messages.push_back(message);
        }
        return {};
    }
};

Result<std::string_view> text_member(const Json& row, const char* key, bool needed) {
    const Json& value = member(row, key);
    if (value.is_null() && !needed) return std::string_view();
    if (!value.is_string()) return fail(Code::invalid_argument, "'{}' must be a text", key);
    const std::string_view text = chat::trim(chat::string_of(value));
    if (needed && text.empty()) return fail(Code::invalid_argument, "'{}' is empty", key);
    return text;
}

Status add_system(Chat& chat, const Json& row) {
    const std::string_view system = TRY(text_member(row, "system", false));
    if (!system.empty()) chat.add("system", system, 0);
    return {};
}

Status add_side(Chat& chat, const Json& row, const char* key, std::string_view role, bool learnt) {
    const Json& side = member(row, key);
    if (side.is_array()) return chat.add_list(side, key, learnt);
    if (!side.is_string()) return fail(Code::invalid_argument, "'{}' must be a text or a list of messages", key);
    chat.add(role, TRY(text_member(row, key, true)), learnt ? 1.0f : 0.0f);
    return {};
}

Result<Chat> chat_of(const Json& row) {
    Chat chat;
    if (const Json& messages = member(row, "messages"); !messages.is_null()) {
        if (!messages.is_array()) return fail(Code::invalid_argument, "'messages' must be a list of messages");
        TRY(chat.add_list(messages, "messages", true));
        return chat;
    }
    TRY(add_system(chat, row));
    if (row.contains("prompt") && row.contains("completion")) {
        TRY(add_side(chat, row, "prompt", "user", false));
        TRY(add_side(chat, row, "completion", "assistant", true));
        return chat;
    }
    if (row.contains("instruction") && row.contains("output")) {
        std::string question(TRY(text_member(row, "instruction", true)));
        const std::string_view input = TRY(text_member(row, "input", false));
        if (!input.empty()) question.append("\n\n").append(input);
        chat.add("user", question, 0);
        chat.add("assistant", TRY(text_member(row, "output", true)), 1);
        return chat;
    }
    return fail(Code::invalid_argument,
                "there is nothing to learn from: 'messages', 'prompt' with 'completion', 'instruction' with 'output', "
                "or 'text' is expected");
}

// The pieces of a prompt between two bytes of its text.
std::vector<tokenizer::TextPiece> cut(const chat::Prompt& prompt, size_t begin, size_t end) {
    std::vector<tokenizer::TextPiece> out;
    size_t at = 0;
    for (const chat::Piece& piece : prompt.pieces) {
        const size_t from = std::max(begin, at);
        const size_t to = std::min(end, at + piece.text.size());
        if (from < to) out.push_back({std::string_view(piece.text).substr(from - at, to - from), piece.trusted});
        at += piece.text.size();
    }
    return out;
}

Status check_media(const chat::Conversation& conversation) {
    for (size_t i = 0; i < conversation.messages.size(); ++i) {
        for (const chat::Part& part : conversation.messages[i].parts) {
            if (part.kind == chat::PartKind::text) continue;
            return fail(Code::unsupported, "messages[{}] has a picture or a sound: only text can be learnt from", i);
        }
    }
    return {};
}

// Thinking is on where the answers to the last question think, as it would be when such answers are asked for.
bool thinks(const chat::Conversation& conversation) {
    bool any = false;
    for (const chat::Message& message : conversation.messages) {
        if (message.role == chat::Role::user) any = false;
        any = any || !message.reasoning.empty();
    }
    return any;
}

Result<Example> example_from_chat(const Chat& chat, const Json& tools, float weight,
                                  const tokenizer::Tokenizer& tokenizer, const RowOptions& options) {
    const chat::Conversation conversation = TRY(chat::conversation_from_json(chat.messages, tools));
    TRY(check_media(conversation));
    const chat::Prompt prompt = TRY(chat::render_pieces(
        conversation, {.turns = infer::turns_of(tokenizer),
                       .size = options.size,
                       .thinking = thinks(conversation) && infer::turns_of(tokenizer) == chat::Turns::gemma4,
                       .generation = chat::GenerationPrompt::none,
                       .as_generated = true}));
    // What the model is given and what it writes are tokenized apart, as they are when it answers.
    Example example;
    std::vector<float> counts;  // of each token
    const auto append = [&](size_t begin, size_t end, float count) {
        const std::vector<int32_t> ids = tokenizer.encode_pieces(cut(prompt, begin, end));
        example.tokens.insert(example.tokens.end(), ids.begin(), ids.end());
        counts.resize(example.tokens.size(), count);
    };
    size_t at = 0;
    for (const chat::Answer& answer : prompt.answers) {
        append(at, answer.begin, 0);
        append(answer.begin, answer.end, chat.weights[answer.message] * weight);
        at = answer.end;
    }
    if (prompt.answers.empty()) {
        return fail(Code::invalid_argument, "there is no message of the assistant to learn from");
    }
    // What follows the last token that is learnt teaches nothing.
    while (!counts.empty() && counts.back() == 0) counts.pop_back();
    if (counts.empty()) return fail(Code::invalid_argument, "nothing in it counts: all its weights are 0");
    example.tokens.resize(counts.size());
    example.weights.assign(counts.begin() + 1, counts.end());
    example.weights.push_back(0);
    if (example.tokens.size() > options.longest) {
        return fail(Code::limit, "it has {} tokens; {} is the longest asked for", example.tokens.size(),
                    options.longest);
    }
    return example;
}

constexpr size_t kMaxQuestionBytes = 1000;

std::string question_of(const Chat& chat) {
    if (chat.messages.size() != 2) return {};
    const Json& question = chat.messages[0];
    const std::string_view text = chat::string_of(member(question, "content"));
    const bool asked = chat::string_of(member(question, "role")) == "user";
    return asked && text.size() <= kMaxQuestionBytes ? std::string(text) : std::string();
}

}  // namespace

Result<RowExamples> examples_from_row(const Json& row, const tokenizer::Tokenizer& tokenizer,
                                      const RowOptions& options) {
    if (!row.is_object()) return fail(Code::invalid_argument, "an object with names and values is expected");
    const float weight = TRY(weight_of(row, "'weight'"));
    if (weight == 0) return fail(Code::invalid_argument, "it does not count: its weight is 0");
    if (row.contains("text") && !row.contains("messages") && !row.contains("completion") && !row.contains("output")) {
        const std::string_view text = TRY(text_member(row, "text", true));
        return RowExamples{.examples = examples_from_text(text, weight, tokenizer, options.longest), .question = {}};
    }
    const Chat chat = TRY(chat_of(row));
    RowExamples out;
    out.examples.push_back(TRY(example_from_chat(chat, member(row, "tools"), weight, tokenizer, options)));
    out.question = question_of(chat);
    return out;
}

bool is_known_row(const std::vector<std::string>& columns) {
    const auto has = [&](std::string_view name) { return std::ranges::find(columns, name) != columns.end(); };
    return has("messages") || (has("prompt") && has("completion")) || (has("instruction") && has("output")) ||
           has("text");
}

Example example_from_tokens(std::vector<int32_t> tokens, float weight, const tokenizer::Tokenizer& tokenizer) {
    Example example{.tokens = std::move(tokens), .weights = {}};
    example.tokens.insert(example.tokens.begin(), tokenizer.bos());
    example.weights.assign(example.tokens.size(), weight);
    example.weights.back() = 0;
    return example;
}

std::vector<Example> examples_from_text(std::string_view text, float weight, const tokenizer::Tokenizer& tokenizer,
                                        uint32_t longest) {
    std::vector<int32_t> tokens = tokenizer.encode(text, {.add_bos = false, .parse_special = false});
    if (const auto end = tokenizer.find(chat::kEos)) tokens.push_back(*end);
    std::vector<Example> out;
    const size_t most = std::max<size_t>(longest, 2) - 1;
    for (size_t at = 0; at < tokens.size(); at += most) {
        const auto begin = tokens.begin() + ptrdiff_t(at);
        const auto size = ptrdiff_t(std::min(most, tokens.size() - at));
        out.push_back(example_from_tokens({begin, begin + size}, weight, tokenizer));
    }
    return out;
}

}  // namespace lapidary::train

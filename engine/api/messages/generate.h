// session.generate: arguments, events and the result. And how likely tokens are.
#pragma once

#include <limits>

#include "api/messages/common.h"

namespace lapidary::api {

inline constexpr int64_t kMaxTopLogprobs = 20;

// What is left out is as the model's file recommends, or else its makers.
struct Sampling {
    std::optional<double> temperature;
    std::optional<int64_t> top_k;
    std::optional<double> top_p;
    double min_p = 0;
    double repeat_penalty = 1;
    double presence_penalty = 0;
    double frequency_penalty = 0;
    int64_t repeat_last_n = 64;
    std::optional<int64_t> seed;
    Json logit_bias;
};
ARGUMENTS(Sampling, MEMBER(temperature, "0: always the most likely token"),
          MEMBER(top_k, "keep the so many most likely; 0: all").between(0, std::numeric_limits<int32_t>::max()),
          MEMBER(top_p, "keep the most likely until their probabilities reach this"),
          MEMBER(min_p, "keep what is at least so many times as likely as the best"),
          MEMBER(repeat_penalty, "1 changes nothing, more makes repetition less likely"),
          MEMBER(presence_penalty, "subtracted once from a token seen lately"),
          MEMBER(frequency_penalty, "subtracted as often as it was seen"),
          MEMBER(repeat_last_n, "how many of the latest tokens that looks at: 64 unless told").between(0, 1 << 26),
          MEMBER(seed, "the same seed, request and device give the same answer")
              .between(0, int64_t{std::numeric_limits<int32_t>::max()} << 21),
          MEMBER(logit_bias, "what to add to the logits of tokens, by id").as("Record<string, number>"));

struct SessionGenerateArgs {
    Id session = 0;
    std::optional<std::string> prompt;
    Json prompt_tokens;
    Json messages;
    Json tools;
    Json tool_choice;
    bool thinking = false;
    bool add_bos = true;
    bool parse_special = true;
    int64_t max_tokens = 0;
    Sampling sampling;
    std::vector<std::string> stop;
    Json response_format;
    std::optional<int64_t> logprobs;
    std::string overflow = "error";
    Json continue_tokens;
    std::vector<AdapterUse> adapters;
    bool report_tokens = false;
    Json diffusion;
    bool drafts = false;
};
inline constexpr char kTokenIds[] = "readonly number[]";
ARGUMENTS(
    SessionGenerateArgs, MEMBER(session, "its number"), MEMBER(prompt, "text to continue …"),
    MEMBER(prompt_tokens, "… or its ids, taken as they are …").as(kTokenIds),
    MEMBER(
        messages,
        "… or a conversation to answer. Parts of a message may be {type: 'image', media}, {type: 'audio', media} and "
        "{type: 'video', frames: [{media, seconds}, …]} with the numbers that media.image and media.sound gave")
        .as("readonly JsonObject[]"),
    MEMBER(tools, "that the answer may call, as OpenAI spells them").as("readonly JsonObject[]"),
    MEMBER(tool_choice,
           "'auto' (default), 'none', 'required', or {function: {name}}. When a call is demanded there is "
           "nothing but thoughts and calls, and the arguments follow the tool's schema as response_format would")
        .as("JsonValue"),
    MEMBER(thinking, "think before answering"), MEMBER(add_bos, "as for model.tokenize"),
    MEMBER(parse_special, "as for model.tokenize"),
    MEMBER(max_tokens, "0: until the model ends or the context is full").between(0, 1 << 26),
    MEMBER(sampling, "how the next token is chosen"), MEMBER(stop, "texts that end the answer").at_most(64),
    MEMBER(
        response_format,
        "{type: 'text'}, {type: 'json_object'} or {type: 'json_schema', json_schema: {name, schema, strict}}. The "
        "content is then JSON of that form, or its beginning if finish_reason is length. Thoughts and tool calls are "
        "not part of the content. strict changes nothing: a schema is always followed; keywords that cannot be are "
        "refused by name")
        .as("JsonObject"),
    MEMBER(logprobs,
           "tell how likely each token was, and this many others at its place: with the events text and content, "
           "for the tokens that made the text. They are the model's own: the log-softmax of its logits before "
           "bias, penalties, format, filters and temperature")
        .between(0, kMaxTopLogprobs),
    MEMBER(
        overflow,
        "when the prompt leaves no room in the context: 'error' (default) refuses it, 'stop' gives an empty answer "
        "with finish_reason length, 'slide' (messages only) leaves out the oldest turns and says how many messages in "
        "dropped_messages. It makes room for max_tokens, or for a quarter of the context, but not for more than half "
        "of it; system messages and the last turn stay, and if those do not fit the call is refused. An answer that "
        "reaches the end of the context always ends with length")
        .maybe()
        .as("'error' | 'stop' | 'slide'"),
    MEMBER(
        continue_tokens,
        "ids of an answer that was broken off. They follow the prompt, no events are told for them, and what comes is "
        "what would have come with the same seed. Text, message and completion_tokens of the result are those of the "
        "whole answer, and max_tokens counts them")
        .as(kTokenIds),
    ADAPTERS,
    MEMBER(report_tokens,
           "with messages: events tokens, every token of the answer but the one that ends it, for "
           "continue_tokens. Events text always have them"),
    MEMBER(diffusion, "of a model that writes by canvases: the settings that are not its file's")
        .as("DiffusionSettings"),
    MEMBER(drafts, "of such a model: events draft, of every step"));

struct TokenLogprob {
    int64_t token = 0;
    std::string text;
    std::vector<int64_t> bytes;
    double logprob = 0;
};
MESSAGE(TokenLogprob, MEMBER(token, "its id"),
        MEMBER(text, "what it writes by itself: of a part of a character, U+FFFD"), MEMBER(bytes, "the same as bytes"),
        MEMBER(logprob, "natural logarithm of its probability"));

struct Logprob {
    int64_t token = 0;
    std::string text;
    std::vector<int64_t> bytes;
    double logprob = 0;
    std::vector<TokenLogprob> top;
};
MESSAGE(Logprob, MEMBER(token, "its id"), MEMBER(text, "what it writes by itself: of a part of a character, U+FFFD"),
        MEMBER(bytes, "the same as bytes"), MEMBER(logprob, "natural logarithm of its probability"),
        MEMBER(top, "the most likely at its place, best first"));

inline constexpr char kLogprobs[] = "Logprob[]";

struct TextEvent {
    std::string type = "text";
    std::string text;
    std::vector<int64_t> tokens;
    Json logprobs;
};
MESSAGE(TextEvent, MEMBER(type, "").as("'text'"), MEMBER(text, "that follows what was told before"),
        MEMBER(tokens, "that it is made of"), MEMBER(logprobs, "if they were asked for").as(kLogprobs));

struct ContentEvent {
    std::string type = "content";
    std::string text;
    Json logprobs;
};
MESSAGE(ContentEvent, MEMBER(type, "").as("'content'"), MEMBER(text, "of the answer"),
        MEMBER(logprobs, "if they were asked for").as(kLogprobs));

struct ReasoningEvent {
    std::string type = "reasoning";
    std::string text;
};
MESSAGE(ReasoningEvent, MEMBER(type, "").as("'reasoning'"), MEMBER(text, "of the thought"));

struct ToolCallEvent {
    std::string type = "tool_call";
    int64_t index = 0;
    std::string id;
    std::string name;
    std::string arguments;
};
MESSAGE(ToolCallEvent, MEMBER(type, "").as("'tool_call'"), MEMBER(index, "counts the calls of this answer from 0"),
        MEMBER(id, ""), MEMBER(name, "of the tool"), MEMBER(arguments, "the beginning of a JSON object, as text"));

struct ArgumentsEvent {
    std::string type = "arguments";
    int64_t index = 0;
    std::string text;
};
MESSAGE(ArgumentsEvent, MEMBER(type, "").as("'arguments'"), MEMBER(index, "of the call"),
        MEMBER(text, "that follows what was told of its arguments"));

struct InvalidToolCallEvent {
    std::string type = "invalid_tool_call";
    std::string text;
    std::string error;
};
MESSAGE(InvalidToolCallEvent, MEMBER(type, "").as("'invalid_tool_call'"),
        MEMBER(text, "what the model wrote as a call, and nobody could read"), MEMBER(error, "why"));

struct TokensEvent {
    std::string type = "tokens";
    std::vector<int64_t> tokens;
};
MESSAGE(TokensEvent, MEMBER(type, "").as("'tokens'"), MEMBER(tokens, "of the answer, with report_tokens"));

struct CalledFunction {
    std::string name;
    std::string arguments;
};
MESSAGE(CalledFunction, MEMBER(name, "of the tool"), MEMBER(arguments, "a JSON object, as text"));

struct MessageToolCall {
    std::string id;
    std::string type = "function";
    CalledFunction function;
};
MESSAGE(MessageToolCall, MEMBER(id, ""), MEMBER(type, "").as("'function'"), MEMBER(function, ""));

struct AssistantMessage {
    std::string role = "assistant";
    std::string content;
    std::optional<std::string> reasoning_content;
    Json tool_calls;
};
MESSAGE(AssistantMessage, MEMBER(role, "").as("'assistant'"),
        MEMBER(content, "empty when the answer is made of calls alone"),
        MEMBER(reasoning_content, "what it thought, if it did"),
        MEMBER(tool_calls, "if there are any").as("MessageToolCall[]"));

struct SessionGenerateResult {
    std::string text;
    std::string finish_reason;
    int64_t prompt_tokens = 0;
    int64_t cached_tokens = 0;
    int64_t completion_tokens = 0;
    double prompt_ms = 0;
    double completion_ms = 0;
    int64_t seed = 0;
    std::optional<AssistantMessage> message;
    std::optional<int64_t> dropped_messages;
    std::optional<int64_t> stopped_by;
    Json canvas;
};
MESSAGE(SessionGenerateResult, MEMBER(text, "the whole answer, without thoughts"),
        MEMBER(finish_reason, "").as("'stop' | 'length' | 'tool_calls'"), MEMBER(prompt_tokens, "that the prompt had"),
        MEMBER(cached_tokens, "of the prompt that were in memory from before"),
        MEMBER(completion_tokens, "of the answer"), MEMBER(prompt_ms, "for reading the prompt"),
        MEMBER(completion_ms, "for writing the answer"), MEMBER(seed, "that was used"),
        MEMBER(message, "of a conversation: what to add to it"),
        MEMBER(dropped_messages, "how many old messages were left out, where overflow is slide"),
        MEMBER(stopped_by, "which of the texts in stop, counted from 0"),
        MEMBER(canvas, "of a model that writes by canvases").as("CanvasStats"));

}  // namespace lapidary::api

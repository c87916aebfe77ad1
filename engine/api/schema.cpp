#include "api/schema.h"

#include <algorithm>
#include <vector>

#include "api/messages/adapter.h"
#include "api/messages/canvas.h"
#include "api/messages/data.h"
#include "api/messages/generate.h"
#include "api/messages/gpu.h"
#include "api/messages/media.h"
#include "api/messages/model.h"
#include "api/messages/session.h"
#include "api/messages/train.h"

namespace lapidary::api {
namespace {

template <class... T>
constexpr std::array<const Nested*, sizeof...(T)> kEvents{&kNested<T>...};

template <class Arguments, class Result, class... Events>
constexpr MethodSchema method(std::string_view name, std::string_view about) {
    return {name, false, &kNested<Arguments>, &kNested<Result>, kEvents<Events...>, "", "", about};
}
constexpr MethodSchema workshop(MethodSchema schema) {
    schema.workshop = true;
    return schema;
}
constexpr MethodSchema with_bytes(MethodSchema schema, std::string_view in, std::string_view out = "") {
    schema.blob_in = in;
    schema.blob_out = out;
    return schema;
}

constexpr std::string_view kIds = "token ids as int32, little-endian";

constexpr auto kMethods = std::to_array<MethodSchema>({
    method<ModelOpenArgs, ModelOpenResult>("model.open", "Reads the header of a model's files."),
    method<ModelDescribeArgs, ModelDescription>("model.describe",
                                                "What inspect --json prints. A file that cannot be run is "
                                                "described as far as it can be read."),
    method<ModelLoadArgs, ModelLoadResult, Progress>(
        "model.load",
        "Brings the weights to where they are computed with. On the first load for a GPU a few cases decide which "
        "kernels it gets, unless gpu_choice knows."),
    with_bytes(method<ModelTokenizeArgs, ModelTokenizeResult>("model.tokenize", "A text in the model's tokens."),
               "UTF-8", kIds),
    with_bytes(method<ModelEmbeddingInputArgs, ModelEmbeddingInputResult>(
                   "model.embedding_input", "Texts in the model's tokens, as session.embed wants them."),
               "the texts in UTF-8", kIds),
    with_bytes(method<ModelDetokenizeArgs, ModelDetokenizeResult>("model.detokenize", "And back."), kIds),
    workshop(method<ModelQuantizeArgs, WrittenModel, Progress>("model.quantize",
                                                               "Writes the model with its weights in another "
                                                               "type; nothing needs to be loaded for it.")),
    workshop(method<ModelMergeArgs, WrittenModel, Progress>("model.merge",
                                                            "Writes the model with adapters worked into its "
                                                            "weights.")),
    workshop(
        method<ModelSynthArgs, ModelSynthResult, Progress>("model.synth", "Writes a model of noise, for measuring.")),
    workshop(
        with_bytes(method<ModelArgs, ModelStatesResult>(
                       "model.states",
                       "What goes from layer to layer at the last of these tokens, on the GPU, to be compared with "
                       "what others computed."),
                   kIds, "float32 rows [states, width]")),
    method<ModelArgs, Nothing>("model.close", "Sessions of the model go on living."),
    workshop(with_bytes(method<AdapterLoadArgs, LoadedAdapter>("adapter.load", "A LoRA adapter of a model."),
                        "PEFT's safetensors or a GGUF adapter")),
    workshop(method<AdapterArgs, AdapterDescription>("adapter.describe", "What an adapter is.")),
    workshop(with_bytes(method<AdapterExportArgs, AdapterExportResult>("adapter.export", "An adapter as files."), "",
                        "the files, one after the other")),
    workshop(method<AdapterArgs, Nothing>("adapter.close",
                                          "Sessions that use it go on doing so until they are asked for something "
                                          "else.")),
    workshop(with_bytes(
        method<DataReadArgs, DataReadResult>("data.read", "A file of examples becomes a data set to train on."),
        "the file")),
    workshop(method<DataPreviewArgs, DataPreviewResult>("data.preview", "Examples as the model will see them.")),
    workshop(method<DataArgs, Nothing>("data.close", "A training that uses it goes on.")),
    workshop(method<TrainCreateArgs, TrainCreateResult>("train.create",
                                                        "An adapter in the making: what it takes, and what would "
                                                        "fit.")),
    workshop(method<TrainRunArgs, TrainRunResult, TrainStepEvent, TrainValidationEvent, TrainSampleEvent>(
        "train.run", "Cancelled, it ends after the step it is at and can be run again.")),
    workshop(with_bytes(method<TrainArgs, TrainStepResult>("train.save", "A checkpoint."), "", "the checkpoint")),
    workshop(with_bytes(method<TrainArgs, TrainStepResult>("train.restore", "Goes on from a checkpoint."),
                        "the checkpoint")),
    workshop(method<TrainAdapterArgs, LoadedAdapter>("train.adapter",
                                                     "The adapter as it is now; training goes on with one of its "
                                                     "own.")),
    workshop(
        with_bytes(method<TrainGradcheckArgs, TrainGradcheckResult>(
                       "train.gradcheck", "Relative errors of the loss, of every gradient and of the steps of AdamW."),
                   "a fixture")),
    workshop(method<TrainBenchArgs, TrainBenchResult, Progress>("train.bench",
                                                                "How fast an adapter is trained on the GPU, and what "
                                                                "that takes.")),
    workshop(method<TrainArgs, Nothing>("train.close", "Gives its memory back.")),
    workshop(method<GpuCheckArgs, GpuCheckResult, Progress>("gpu.check", "Every kernel against its reference.")),
    workshop(method<NoArgs, GpuBandwidthResult>("gpu.bandwidth",
                                                "How fast the GPU moves memory. It must be open, as it is once a "
                                                "model was loaded.")),
    workshop(with_bytes(method<GpuSettleArgs, GpuSettleResult>(
                            "gpu.settle", "Settles a canvas without a model: its logits are given, and all numbers."),
                        "logits as float32, little-endian: [steps, length, vocabulary]")),
    workshop(method<ProjectorOpenArgs, ProjectorOpenResult>("projector.open",
                                                            "Reads what a file has of towers: nothing but its "
                                                            "header, until something goes through them.")),
    workshop(method<ProjectorArgs, Nothing>("projector.close", "Media of the projector go on living.")),
    workshop(with_bytes(method<NoArgs, MediaLookResult>("media.look",
                                                        "What a file is, and how large its picture: before anybody "
                                                        "makes room for it."),
                        "the file, or its first megabyte")),
    workshop(with_bytes(method<MediaImageArgs, MediaImageResult>("media.image",
                                                                 "A decoded picture, turned and resized as the tower "
                                                                 "wants it. It is encoded when a prompt needs it."),
                        "the pixels")),
    workshop(with_bytes(
        method<MediaSoundArgs, MediaSoundResult>("media.sound", "A sound. It is encoded when a prompt needs it."),
        "a WAV file, or float32, little-endian")),
    workshop(method<MediaFramesArgs, MediaFramesResult>("media.frames", "Which frames of a video to look at.")),
    workshop(with_bytes(method<MediaArgs, MediaPreparedResult>("media.prepared",
                                                               "What the tower gets: pixels from 0 to 255, log-mel "
                                                               "features, or frames of the waveform."),
                        "", "float32")),
    workshop(with_bytes(method<MediaArgs, MediaEncodeResult, Progress>("media.encode",
                                                                       "Soft tokens, now and not when a prompt needs "
                                                                       "them."),
                        "", "float32 rows [tokens, width]")),
    workshop(
        method<MediaArgs, Nothing>("media.close", "Prompts can use it no more; a session keeps what it has read.")),
    method<SessionCreateArgs, SessionCreateResult>("session.create", "A context to run a model in."),
    method<SessionGenerateArgs, SessionGenerateResult, TextEvent, ContentEvent, ReasoningEvent, ToolCallEvent,
           ArgumentsEvent, InvalidToolCallEvent, TokensEvent, DraftEvent, Progress>(
        "session.generate", "A prompt or a conversation in, an answer out, token by token."),
    with_bytes(method<SessionEmbedArgs, SessionEmbedResult, Progress>(
                   "session.embed",
                   "Texts as vectors: what a model of embeddings makes of each, of any other model the mean over its "
                   "positions of the hidden state after the final norm. Not yet of length 1. Forgets what the session "
                   "held."),
               kIds, "the vectors, as float32"),
    with_bytes(method<SessionScoreArgs, SessionScoreResult, Progress>("session.score",
                                                                      "How likely every token but the first was "
                                                                      "after those before it."),
               kIds),
    workshop(with_bytes(method<SessionLogitsArgs, SessionLogitsResult, Progress>("session.logits",
                                                                                 "The logits of every position, "
                                                                                 "in the sink."),
                        kIds)),
    workshop(
        with_bytes(method<SessionCanvasLogitsArgs, SessionCanvasLogitsResult, Progress>(
                       "session.canvas_logits",
                       "The logits of canvases behind a prompt, each but the first conditioned on the one before it, "
                       "in the sink."),
                   "token ids as int32, little-endian: the prompt's, then those of the canvases")),
    workshop(with_bytes(method<SessionDiffuseArgs, SessionDiffuseResult>(
                            "session.diffuse", "Settles canvases with numbers that are given, and tells every step."),
                        kIds)),
    workshop(with_bytes(method<SessionPerplexityArgs, SessionPerplexityResult, Progress>("session.perplexity",
                                                                                         "How surprising a "
                                                                                         "text is."),
                        kIds)),
    workshop(method<SessionSaveArgs, SessionSaveResult, Progress>("session.save",
                                                                  "What the session remembers; it goes on as "
                                                                  "before.")),
    workshop(method<SessionRestoreArgs, SessionRestoreResult, Progress>("session.restore",
                                                                        "Remembers what another session has "
                                                                        "saved, instead of what it did.")),
    method<SessionBenchArgs, SessionBenchResult, Progress>("session.bench", "How fast a session reads and writes."),
    workshop(method<SessionProfileArgs, SessionProfileResult>("session.profile",
                                                              "Where the GPU time of a written token goes.")),
    method<SessionArgs, Nothing>("session.close", "Gives its memory back."),
});

// Whether a struct is taken or given: what is taken may be constant, and undefined counts as not given.
enum class Direction : uint8_t { taken, given };

bool is_optional(const Field& field, Direction direction) {
    if (direction == Direction::taken) return !field.needed;
    using enum Kind;
    const Kind optional[] = {maybe_integer, maybe_number, maybe_boolean, maybe_text, maybe_object, json};
    return std::ranges::contains(optional, field.kind);
}

std::string type_of(const Field& field, Direction direction) {
    const std::string constant = direction == Direction::taken ? "readonly " : "";
    if (*field.type.text != 0) return field.type.text;
    switch (field.kind) {
        case Kind::id:
        case Kind::integer:
        case Kind::number:
        case Kind::maybe_integer:
        case Kind::maybe_number: return "number";
        case Kind::boolean:
        case Kind::maybe_boolean: return "boolean";
        case Kind::text:
        case Kind::maybe_text: return "string";
        case Kind::texts: return constant + "string[]";
        case Kind::integers:
        case Kind::numbers: return constant + "number[]";
        case Kind::object:
        case Kind::maybe_object: return field.nested->name.text;
        case Kind::list: return constant + field.nested->name.text + "[]";
        case Kind::json: return "JsonValue";
    }
    return "";
}

struct Part {
    const Nested* message;
    Direction direction;
};

// Every struct once, before what it is part of.
void collect(const Nested& message, Direction direction, std::vector<Part>& out) {
    for (const Field& field : message.fields) {
        if (field.nested != nullptr) collect(*field.nested, direction, out);
    }
    const auto is_same = [&](const Part& part) { return part.message == &message; };
    if (!message.fields.empty() && std::ranges::none_of(out, is_same)) out.push_back({&message, direction});
}

// Those that only a TypeScript type mentions.
constexpr const Nested* kMentioned[] = {&kNested<Logprob>, &kNested<MessageToolCall>, &kNested<CanvasStats>,
                                        &kNested<CanvasBench>};

std::vector<Part> all_parts() {
    std::vector<Part> out;
    for (const Nested* message : kMentioned) collect(*message, Direction::given, out);
    for (const MethodSchema& schema : kMethods) {
        collect(*schema.arguments, Direction::taken, out);
        for (const Nested* event : schema.events) collect(*event, Direction::given, out);
        collect(*schema.result, Direction::given, out);
    }
    return out;
}

std::string sentence(std::string_view text) {
    std::string out(text);
    if (!out.empty() && out.front() >= 'a' && out.front() <= 'z') out.front() = char(out.front() - 'a' + 'A');
    if (!out.empty() && out.back() != '.' && !out.ends_with("…")) out += '.';
    return out;
}

// No line of a comment longer than people read.
std::string comment(std::string_view text, std::string_view indent) {
    constexpr size_t kWidth = 118;
    const std::string whole = sentence(text);
    if (whole.empty()) return "";
    const std::string start(indent);
    if (start.size() + whole.size() + 7 <= kWidth) return start + "/** " + whole + " */\n";
    std::string out = start + "/**\n";
    std::string line = start + " *";
    for (size_t at = 0; at < whole.size();) {
        const size_t end = std::min(whole.find(' ', at), whole.size());
        if (line.size() + 1 + end - at > kWidth) {
            out += line + "\n";
            line = start + " *";
        }
        line += " " + whole.substr(at, end - at);
        at = end + 1;
    }
    return out + line + "\n" + start + " */\n";
}

std::string name_of(const Nested& message) {
    return message.fields.empty() ? "Record<string, never>" : message.name.text;
}

std::string cell(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '|' ? std::string("\\|") : std::string(1, c);
    return out;
}

std::string table(const Nested& message, Direction direction) {
    std::string out = "| member | type | meaning |\n|---|---|---|\n";
    for (const Field& field : message.fields) {
        out += format("| `{}`{} | {} | {} |\n", field.name, is_optional(field, direction) ? "" : " \\*",
                      field.nested != nullptr
                          ? format("[{}](#{})", cell(type_of(field, Direction::given)), field.nested->name.text)
                          : "`" + cell(type_of(field, Direction::given)) + "`",
                      cell(field.about.text));
    }
    return out + "\n";
}

}  // namespace

std::span<const MethodSchema> method_schemas() {
    return kMethods;
}

std::string messages_ts() {
    std::string out =
        "// What crosses the door to the engine as JSON. Made by `build/native/api_schema --ts` from the tables in\n"
        "// engine/api/messages, which are the truth; `make test` compares.\n"
        "import type { JsonObject, JsonValue } from './json.js';\n";
    for (const auto& [message, direction] : all_parts()) {
        out += format("\nexport type {} = {\n", message->name.text);
        for (const Field& field : message->fields) {
            const bool optional = is_optional(field, direction);
            const bool taken = direction == Direction::taken;
            out += comment(field.about.text, "    ");
            out += format("    {}{}: {}{};\n", field.name, optional ? "?" : "", type_of(field, direction),
                          optional && taken ? " | undefined" : "");
        }
        out += "};\n";
    }
    out += "\n/** By name: what a method takes, tells while it runs, and gives. */\nexport interface Methods {\n";
    for (const MethodSchema& schema : kMethods) {
        std::string events;
        for (const Nested* event : schema.events) events += (events.empty() ? "" : " | ") + name_of(*event);
        out += comment(schema.about, "    ");
        out += format("    '{}': { args: {}; event: {}; result: {} };\n", schema.name, name_of(*schema.arguments),
                      events.empty() ? "never" : events, name_of(*schema.result));
    }
    return out + "}\n\nexport type Method = keyof Methods;\n";
}

std::string messages_md() {
    std::string out =
        "# Messages\n\n"
        "What a host may call, and what it gets ([architecture.md](architecture.md), The door). Made by "
        "`build/native/api_schema\n"
        "--md` from the tables in `engine/api/messages`, from which the engine reads and writes; `make test` compares. "
        "Members\n"
        "with a \\* are always there, others may be left out. Methods marked with a ◦ are the workshop's.\n\n";
    std::vector<const Nested*> heads;
    for (const MethodSchema& schema : kMethods) {
        out += format("## {}{}\n\n{}\n\n", schema.name, schema.workshop ? " ◦" : "", schema.about);
        if (!schema.arguments->fields.empty()) {
            out += "Takes";
            if (!schema.blob_in.empty()) out += format(", beside {}", schema.blob_in);
            out += ":\n\n" + table(*schema.arguments, Direction::taken);
        }
        heads.push_back(schema.arguments);
        std::string events;
        for (const Nested* event : schema.events) {
            events += format("{}[{}](#{})", events.empty() ? "" : ", ", event->name.text, event->name.text);
        }
        if (!events.empty()) out += "Tells " + events + ".\n\n";
        if (!schema.result->fields.empty()) {
            out += "Gives";
            if (!schema.blob_out.empty()) out += format(", beside {}", schema.blob_out);
            out += ":\n\n" + table(*schema.result, Direction::given);
        }
        heads.push_back(schema.result);
    }
    out += "# Parts and events\n\n";
    for (const auto& [message, direction] : all_parts()) {
        if (std::ranges::contains(heads, message)) continue;
        out += format("## {}\n\n", message->name.text) + table(*message, direction);
    }
    while (out.ends_with("\n\n")) out.pop_back();
    return out;
}

}  // namespace lapidary::api

// Arbitrary bytes for everything in this room that reads from outside: a model's output, a client's request.
#include <cstdint>
#include <string_view>

#include "chat/call_syntax.h"
#include "chat/markers.h"
#include "chat/parser.h"
#include "testing/fuzz.h"

namespace lapidary::chat {
namespace {

using testing::check;

// Deltas of one kind joined, so that the events of differently cut outputs can be compared.
void collect(std::vector<Event>& all, const std::vector<Event>& events) {
    for (const Event& event : events) {
        if (event.kind == EventKind::arguments) {
            check(!all.empty() && all.back().kind == EventKind::tool_call && all.back().index == event.index);
            all.back().arguments += event.arguments;
            continue;
        }
        const bool delta = event.kind == EventKind::reasoning || event.kind == EventKind::content;
        if (delta && !all.empty() && all.back().kind == event.kind) {
            all.back().text += event.text;
        } else {
            all.push_back(event);
        }
    }
}

ParserOptions options(uint8_t bits) {
    ParserOptions options;
    options.turns = Turns((bits >> 3) % 3);
    options.start = (bits & 1) != 0 ? PromptEnd::thought : PromptEnd::answer;
    options.thinking = (bits & 2) != 0;
    Tool tool{.name = "f", .description = {}, .parameters = {}, .response = {}};
    tool.parameters = Json::parse(R"({"properties":{"p":{"type":"string"},"q":{"type":"string"}}})", nullptr, false);
    if ((bits & 4) != 0) options.tools.push_back(tool);
    return options;
}

void fuzz_output(uint8_t bits, uint8_t seed, std::string_view output) {
    std::vector<Event> whole;
    OutputParser one(options(bits));
    collect(whole, one.feed(output));
    collect(whole, one.finish());
    for (size_t i = 0; i < whole.size(); ++i) {
        const Event& event = whole[i];
        const bool broken = i + 1 == whole.size() ? one.cut() : whole[i + 1].kind == EventKind::invalid_tool_call;
        if (event.kind == EventKind::tool_call && !broken) {
            check(Json::parse(event.arguments, nullptr, false).is_object());
        }
        if (event.kind == EventKind::reasoning) check((bits & 2) != 0);
    }

    std::vector<Event> split;
    OutputParser two(options(bits));
    uint32_t state = seed;
    for (std::string_view rest = output; !rest.empty();) {
        state = state * 1664525 + 1013904223;
        const size_t size = seed == 0 ? 1 : std::min<size_t>(rest.size(), state >> 28);
        collect(split, two.feed(rest.substr(0, size)));
        rest.remove_prefix(size);
    }
    collect(split, two.finish());
    check(whole == split);

    OutputParser exact(options(bits));
    exact.feed_text(output.substr(0, output.size() / 2));
    exact.feed_special(output.substr(0, output.size() / 3));
    exact.feed_special(kCallOpen);
    exact.feed_text(output);
    exact.finish();
}

void fuzz_call(uint8_t bits, std::string_view text) {
    const ParserOptions with = options(bits);
    const auto call = parse_call(text, {.finished = (bits & 1) != 0, .tools = with.tools});
    if (!call) return;
    check(check_bounds(call->arguments, "arguments").has_value());
    check(!json_text(call->arguments).empty());
}

void fuzz_request(uint8_t bits, std::string_view text) {
    const auto conversation = parse_conversation(text);
    if (!conversation) return;
    const RenderOptions options{.turns = Turns((bits >> 4) % 3),
                                .size = (bits & 1) != 0 ? ModelSize::large : ModelSize::small,
                                .thinking = (bits & 2) != 0,
                                .generation = GenerationPrompt((bits >> 2) % 3)};
    const auto pieces = render_pieces(*conversation, options);
    const auto prompt = render(*conversation, options);
    check(pieces.has_value() == prompt.has_value());
    if (prompt) check(pieces->text() == *prompt && prompt->starts_with(kBos));
}

}  // namespace
}  // namespace lapidary::chat

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data) + 2, size - 2);
    switch (data[0] % 3) {
        case 0: lapidary::chat::fuzz_output(data[0] / 3, data[1], text); break;
        case 1: lapidary::chat::fuzz_call(data[0] / 3, text); break;
        default: lapidary::chat::fuzz_request(data[0] / 3, text); break;
    }
    return 0;
}

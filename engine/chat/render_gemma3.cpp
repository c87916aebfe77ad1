#include "chat/render_gemma3.h"

#include <algorithm>
#include <array>

#include "chat/markers.h"
#include "chat/text.h"

namespace lapidary::chat {
namespace {

// An opening fence says what is inside it, or nothing.
constexpr std::string_view kFence = "```";
constexpr std::array<std::string_view, 4> kFenceWords = {"json", "tool_call", "tool_code", ""};

Json call_json(std::string_view name, const Json& arguments) {
    return Json{{"name", name}, {"parameters", arguments}};
}

// What a model that was not trained to call functions has to be told.
std::string explained(std::span<const Tool> tools) {
    Json list = Json::array();
    for (const Tool& tool : tools) {
        Json entry{{"name", tool.name}, {"description", tool.description}};
        entry["parameters"] = tool.parameters.is_null() ? Json::object() : tool.parameters;
        list.push_back(std::move(entry));
    }
    return "You have access to functions. If you decide to call one, answer with nothing but the call, as JSON in this "
           "form:\n{\"name\": function name, \"parameters\": {argument name: value}}\nTo call several, answer with a "
           "list "
           "of such objects. If no function helps, answer in words.\n" +
           json_text(list);
}

class Gemma3Renderer {
  public:
    Gemma3Renderer(const Conversation& conversation, const RenderOptions& options)
        : conversation_(conversation), options_(options) {}

    Prompt run() {
        out_.trusted(kBos);
        for (size_t i = 0; i < conversation_.messages.size(); ++i) message(i);
        if (!for_user_.empty() || !tools_told_) user_turn([] {});
        PromptEnd end = PromptEnd::closed;
        if (options_.generation != GenerationPrompt::none) {
            open_turn("model");
            end = PromptEnd::answer;
        }
        return Prompt{std::move(out_.pieces()), end, std::move(answers_)};
    }

  private:
    void message(size_t index) {
        const Message& message = conversation_.messages[index];
        switch (message.role) {
            case Role::system:
            case Role::developer:
                // The published template takes the first part of a list.
                for_user_.push_back(message.parts.empty() ? std::string() : message.parts.front().text);
                return;
            case Role::assistant: return model_turn(message, index);
            case Role::tool: return result_turn(message);
            case Role::user:
            case Role::other: return user_turn([&] { write_parts(message); });
        }
    }

    template <class Body>
    void user_turn(Body&& body) {
        open_turn("user");
        if (!tools_told_) for_user_.push_back(explained(conversation_.tools));
        tools_told_ = true;
        for (const std::string& text : for_user_) {
            out_.untrusted(text);
            out_.trusted("\n\n");
        }
        for_user_.clear();
        body();
        close_turn();
    }

    void model_turn(const Message& message, size_t index) {
        open_turn("model");
        const size_t begin = out_.size();
        write_parts(message);
        Json calls = Json::array();
        for (const ToolCall& call : message.tool_calls) calls.push_back(call_json(call.name, call.arguments));
        if (!calls.empty()) out_.untrusted(json_text(calls.size() == 1 ? calls[0] : calls));
        answers_.push_back({.begin = begin, .end = out_.size() + kGemma3TurnClose.size(), .message = index});
        close_turn();
        for (const ToolResponse& response : message.tool_responses) {
            user_turn(
                [&] { out_.untrusted(json_text(Json{{"name", response.name}, {"response", response.response}})); });
        }
    }

    void result_turn(const Message& message) {
        user_turn([&] {
            if (message.value) {
                out_.untrusted(json_text(*message.value));
            } else {
                write_parts(message);
            }
        });
    }

    void write_parts(const Message& message) {
        for (const Part& part : message.parts) {
            if (part.kind == PartKind::text) {
                out_.untrusted(trim(part.text));
            } else {
                out_.trusted(kGemma3Image);
            }
        }
    }

    void open_turn(std::string_view role) {
        out_.trusted(kGemma3TurnOpen);
        out_.trusted(role);
        out_.trusted("\n");
    }

    void close_turn() {
        out_.trusted(kGemma3TurnClose);
        out_.trusted("\n");
    }

    const Conversation& conversation_;
    RenderOptions options_;
    PieceWriter out_;
    std::vector<Answer> answers_;
    std::vector<std::string> for_user_;  // what the system says to the next turn of the user
    bool tools_told_ = conversation_.tools.empty();
};

std::string_view without_fence(std::string_view text) {
    if (!text.starts_with(kFence) || !text.ends_with(kFence) || text.size() < 2 * kFence.size()) return text;
    text = text.substr(kFence.size(), text.size() - 2 * kFence.size());
    for (const std::string_view word : kFenceWords) {
        if (!text.starts_with(word)) continue;
        return trim(text.substr(word.size()));
    }
    return text;
}

std::optional<ToolCall> prompted_call(const Json& written, std::span<const Tool> tools) {
    const std::string_view name = string_of(member(written, "name"));
    const bool known = std::ranges::any_of(tools, [&](const Tool& tool) { return tool.name == name; });
    if (!known) return std::nullopt;
    const Json* arguments = &member(written, "parameters");
    if (arguments->is_null()) arguments = &member(written, "arguments");
    if (!arguments->is_object() && !arguments->is_null()) return std::nullopt;
    const size_t members = arguments->is_null() ? 1 : 2;
    if (written.size() > members) return std::nullopt;
    return ToolCall{
        .id = {}, .name = std::string(name), .arguments = arguments->is_null() ? Json::object() : *arguments};
}

}  // namespace

Result<Prompt> render_gemma3(const Conversation& conversation, const RenderOptions& options) {
    return Gemma3Renderer(conversation, options).run();
}

Json prompted_call_schema(std::span<const Tool> tools) {
    Json any = Json::array();
    for (const Tool& tool : tools) {
        const bool free = !tool.parameters.is_object();
        any.push_back(
            {{"type", "object"},
             {"properties",
              {{"name", {{"const", tool.name}}}, {"parameters", free ? Json{{"type", "object"}} : tool.parameters}}},
             {"required", {"name", "parameters"}},
             {"additionalProperties", false}});
    }
    return Json{{"anyOf", std::move(any)}};
}

std::vector<ToolCall> prompted_calls(std::string_view answer, std::span<const Tool> tools) {
    const auto written = parse_json(without_fence(trim(answer)), "the answer");
    if (!written) return {};
    if (!written->is_array()) {
        auto call = prompted_call(*written, tools);
        return call ? std::vector{*std::move(call)} : std::vector<ToolCall>{};
    }
    std::vector<ToolCall> calls;
    for (const Json& entry : *written) {
        auto call = prompted_call(entry, tools);
        if (!call) return {};
        calls.push_back(*std::move(call));
    }
    return calls;
}

bool may_be_prompted_calls(std::string_view begun) {
    while (!begun.empty() && is_blank(begun[0])) begun.remove_prefix(1);
    return begun.empty() || begun[0] == '{' || begun[0] == '[' || begun.starts_with(kFence) ||
           kFence.starts_with(begun);
}

}  // namespace lapidary::chat

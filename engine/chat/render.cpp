#include "chat/render.h"

#include <span>

#include "base/edition.h"
#include "chat/markers.h"
#include "chat/render_gemma3.h"
#include "chat/text.h"
#include "chat/tools.h"
#include "chat/value_syntax.h"

namespace lapidary::chat {
namespace {

// The text of a model message without the thoughts that were left in it.
std::string without_thoughts(std::string_view text) {
    std::string kept;
    while (true) {
        const size_t end = text.find(kChannelClose);
        const std::string_view piece = text.substr(0, end);
        kept += piece.substr(0, piece.find(kChannelOpen));
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + kChannelClose.size());
    }
    return std::string(trim(kept));
}

std::string_view placeholder(PartKind kind) {
    switch (kind) {
        case PartKind::image: return kImage;
        case PartKind::audio: return kAudio;
        case PartKind::video: return kVideo;
        case PartKind::text: break;
    }
    return {};
}

class Renderer {
  public:
    Renderer(const Conversation& conversation, const RenderOptions& options)
        : tools_(conversation.tools), messages_(conversation.messages), options_(options) {
        if (is_function_gemma()) out_ = PieceWriter(as_function_marker);
    }

    Result<Prompt> run() {
        out_.trusted(kBos);
        TRY(system_turn());
        for (size_t i = 0; i < messages_.size(); ++i) {
            if (messages_[i].role == Role::user) last_user_ = ptrdiff_t(i);
        }
        for (size_t i = 0; i < messages_.size(); ++i) {
            // Results are written by the message whose calls they answer.
            if (messages_[i].role != Role::tool) message(i);
        }
        if (options_.generation != GenerationPrompt::none) generation_prompt();
        return Prompt{std::move(out_.pieces()), end_, std::move(answers_), std::move(media_)};
    }

  private:
    [[nodiscard]] bool is_function_gemma() const { return has_everything() && options_.turns == Turns::function_gemma; }

    Status system_turn() {
        const bool has_text =
            !messages_.empty() && (messages_.front().role == Role::system || messages_.front().role == Role::developer);
        if (!has_text && tools_.empty() && !options_.thinking) return {};
        open_turn(is_function_gemma() ? "developer" : "system");
        if (options_.thinking) {
            out_.trusted(kThink);
            out_.trusted("\n");
        }
        if (has_text) {
            const Message& first = messages_.front();
            for (size_t i = 0; i < first.parts.size(); ++i) {
                if (first.parts[i].kind != PartKind::text) {
                    return fail(Code::unsupported,
                                "messages[0].content[{}] is not text; a system message can only hold text", i);
                }
                out_.untrusted(trim(first.parts[i].text));
                if (first.content_is_list) out_.trusted(" ");
            }
            messages_ = messages_.subspan(1);
            taken_ = 1;
            if (is_function_gemma() && !tools_.empty()) out_.trusted("\n");
        }
        if (is_function_gemma() && !tools_.empty()) {
            out_.trusted("You can do function calling with the following functions:");
        }
        for (const Tool& tool : tools_) write_tool(out_, tool);
        close_turn();
        return {};
    }

    void message(size_t index) {
        const Message& message = messages_[index];
        const bool model = message.role == Role::assistant;
        if (!model || !previous_was_model_) open_turn(model ? "model" : role_text(message));
        const bool opened = model && !previous_was_model_;
        previous_was_model_ = model;

        // Thoughts are for the work at hand; those before the last question are forgotten.
        const bool thought = !message.reasoning.empty() && ptrdiff_t(index) > last_user_;
        if (options_.as_generated && opened && !thought && ptrdiff_t(index) > last_user_) empty_thought();
        size_t begin = out_.size();
        if (thought) {
            open_thought();
            out_.untrusted(message.reasoning);
            out_.trusted("\n");
            out_.trusted(kChannelClose);
        }
        for (const ToolCall& call : message.tool_calls) write_call(call);
        size_t next = index + 1;
        while (next < messages_.size() && messages_[next].role == Role::tool) ++next;
        const size_t called = out_.size();
        const bool answered = write_results(message, messages_.subspan(index + 1, next - index - 1));
        if (answered) {
            // The model asks for results by beginning the first of them.
            const bool asked = !message.tool_calls.empty();
            add_answer(message, {begin, called + (asked ? out_.word(kResponseOpen).size() : 0), index});
            begin = out_.size();
        }
        const bool has_body = write_body(message);
        closed_after_results_ = answered && has_body;

        if (!message.tool_calls.empty() && !answered) {
            out_.trusted(kResponseOpen);
            end_ = PromptEnd::awaiting_results;
            add_answer(message, {begin, out_.size(), index});
            return;
        }
        // The turn stays open for the next message of the model, or for what it will say to the results.
        const bool last = next == messages_.size();
        const bool open = last ? answered && !has_body : model && messages_[next].role == Role::assistant;
        add_answer(message, {begin, out_.size() + (open ? 0 : out_.word(kTurnClose).size()), index});
        if (open) {
            end_ = PromptEnd::answer;
        } else {
            close_turn();
        }
    }

    void add_answer(const Message& message, Answer answer) {
        answer.message += taken_;
        if (message.role == Role::assistant && answer.begin < answer.end) answers_.push_back(answer);
    }

    void write_call(const ToolCall& call) {
        out_.trusted(kCallOpen);
        out_.trusted("call:");
        out_.untrusted(call.name);
        out_.trusted("{");
        if (call.arguments.is_string()) {
            out_.untrusted(string_of(call.arguments));
        } else {
            write_members(out_, call.arguments, KeyStyle::bare);
        }
        out_.trusted("}");
        out_.trusted(kCallClose);
    }

    // Whether there were any.
    bool write_results(const Message& message, std::span<const Message> following) {
        if (!message.tool_responses.empty()) {
            for (const ToolResponse& response : message.tool_responses) write_result(response.name, response.response);
            return true;
        }
        if (message.tool_calls.empty()) return false;
        for (const Message* const given : in_order_of_calls(following, message.tool_calls)) {
            const Message& result = *given;
            const std::string_view name = name_of(result, message.tool_calls);
            if (result.value) {
                write_result(name, *result.value);
                continue;
            }
            std::string text;
            for (const Part& part : result.parts) text += part.text;
            write_result(name, Json(std::move(text)));
            for (const Part& part : result.parts) write_media(part);
        }
        return !following.empty();
    }

    // The prompt does not say which call a result belongs to: the model tells two calls of one function apart by their
    // order alone. So results that name their call by its id change places among themselves until they stand as the
    // calls do; the others stay where they are.
    static std::vector<const Message*> in_order_of_calls(std::span<const Message> results,
                                                         std::span<const ToolCall> calls) {
        std::vector<size_t> call_of(results.size(), calls.size());
        std::vector<size_t> begins(calls.size() + 1, 0);  // of each call's results among those of all calls
        for (size_t i = 0; i < results.size(); ++i) {
            if (results[i].tool_call_id.empty()) continue;
            while (call_of[i] > 0 && calls[call_of[i] - 1].id != results[i].tool_call_id) --call_of[i];
            call_of[i] = call_of[i] == 0 ? calls.size() : call_of[i] - 1;
            if (call_of[i] < calls.size()) ++begins[call_of[i] + 1];
        }
        for (size_t call = 0; call < calls.size(); ++call) begins[call + 1] += begins[call];
        std::vector<const Message*> known(begins.back());
        for (size_t i = 0; i < results.size(); ++i) {
            if (call_of[i] < calls.size()) known[begins[call_of[i]]++] = &results[i];
        }
        std::vector<const Message*> out;
        size_t next = 0;
        for (size_t i = 0; i < results.size(); ++i) {
            out.push_back(call_of[i] < calls.size() ? known[next++] : &results[i]);
        }
        return out;
    }

    static std::string_view name_of(const Message& result, std::span<const ToolCall> calls) {
        for (const ToolCall& call : calls) {
            if (!result.tool_call_id.empty() && call.id == result.tool_call_id) return call.name;
        }
        return result.name.empty() ? std::string_view("unknown") : std::string_view(result.name);
    }

    void write_result(std::string_view name, const Json& value) {
        out_.trusted(kResponseOpen);
        out_.trusted("response:");
        out_.untrusted(name);
        out_.trusted("{");
        if (value.is_object()) {
            write_members(out_, value, KeyStyle::bare);
        } else {
            out_.trusted("value:");
            write_value(out_, value, KeyStyle::bare);
        }
        out_.trusted("}");
        out_.trusted(kResponseClose);
    }

    void write_media(const Part& part) {
        if (part.kind == PartKind::text) return;
        for (size_t i = 0; i < part.frames.size(); ++i) {
            out_.trusted((i > 0 ? " " : "") + clock_text(part.frames[i].seconds) + " ");
            out_.trusted(kVideo);
            media_.push_back(part.frames[i].media);
        }
        if (!part.frames.empty()) return;
        out_.trusted(placeholder(part.kind));
        media_.push_back(part.media);
    }

    // Whether anything was written.
    bool write_body(const Message& message) {
        bool any = false;
        for (const Part& part : message.parts) {
            if (part.kind != PartKind::text) {
                write_media(part);
                any = true;
                continue;
            }
            const std::string text =
                message.role == Role::assistant ? without_thoughts(part.text) : std::string(trim(part.text));
            out_.untrusted(text);
            any = any || !text.empty();
        }
        return any;
    }

    void generation_prompt() {
        if (end_ == PromptEnd::awaiting_results) return;
        if (end_ == PromptEnd::answer) {
            if (options_.thinking) {
                open_thought();
                end_ = PromptEnd::thought;
            }
            return;
        }
        if (closed_after_results_ && options_.generation == GenerationPrompt::as_template) return;
        open_turn("model");
        empty_thought();
        end_ = PromptEnd::answer;
    }

    void open_turn(std::string_view role) {
        out_.trusted(kTurnOpen);
        out_.trusted(role);
        out_.trusted("\n");
    }

    void close_turn() {
        out_.trusted(kTurnClose);
        out_.trusted("\n");
        end_ = PromptEnd::closed;
    }

    // How a large model is told not to think.
    void empty_thought() {
        if (options_.thinking || options_.size != ModelSize::large) return;
        open_thought();
        out_.trusted(kChannelClose);
    }

    void open_thought() {
        out_.trusted(kChannelOpen);
        out_.trusted(kThoughtName);
    }

    std::span<const Tool> tools_;
    std::span<const Message> messages_;  // without the first once the system turn has taken it
    RenderOptions options_;
    size_t taken_ = 0;  // messages the system turn has taken
    PieceWriter out_;
    std::vector<uint32_t> media_;
    std::vector<Answer> answers_;
    PromptEnd end_ = PromptEnd::closed;
    ptrdiff_t last_user_ = -1;
    bool previous_was_model_ = false;
    bool closed_after_results_ = false;  // the last message had calls, their results, and text
};

}  // namespace

std::string Prompt::text() const {
    std::string out;
    for (const Piece& piece : pieces) out += piece.text;
    return out;
}

Result<Prompt> render_pieces(const Conversation& conversation, const RenderOptions& options) {
    if (conversation.messages.empty()) {
        return fail(Code::invalid_argument, "the conversation is empty; one message is the least");
    }
    if (has_everything() && options.turns == Turns::gemma3) return render_gemma3(conversation, options);
    return Renderer(conversation, options).run();
}

Result<std::string> render(const Conversation& conversation, const RenderOptions& options) {
    return TRY(render_pieces(conversation, options)).text();
}

}  // namespace lapidary::chat

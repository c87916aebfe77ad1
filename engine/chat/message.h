// A conversation in plain types, and how to get one from the JSON that OpenAI-style clients send.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "chat/json.h"

namespace lapidary::chat {

enum class Role : uint8_t { system, developer, user, assistant, tool, other };

enum class PartKind : uint8_t { text, image, audio, video };

// A picture of a video, and when it is.
struct VideoFrame {
    uint32_t media = 0;
    uint64_t seconds = 0;
};

// A piece of a message. Media are placeholders: where they stand, and by which number somebody else knows them, is all the
// prompt needs to know.
struct Part {
    PartKind kind = PartKind::text;
    std::string text;
    uint32_t media = 0;              // of an image or a sound; 0: nobody said
    std::vector<VideoFrame> frames;  // of a video; none: nobody said
};

struct ToolCall {
    std::string id;  // may be empty
    std::string name;
    Json arguments = Json::object();  // an object; or a string, which is copied into the prompt as it is
};

// The result of a call, carried by the assistant's own message instead of a message of role `tool`.
struct ToolResponse {
    std::string name;
    Json response;
};

struct Message {
    Role role = Role::user;
    std::string other_role;  // the role's text when it is none of those we know
    std::vector<Part> parts;
    // Whether the content came as a list: the template spaces the parts of a system message differently then.
    bool content_is_list = false;
    // The content of a `tool` message that is neither a text nor a list of parts: an object, a number, null.
    std::optional<Json> value;
    std::string reasoning;                     // assistant
    std::vector<ToolCall> tool_calls;          // assistant
    std::vector<ToolResponse> tool_responses;  // assistant
    std::string tool_call_id;                  // tool
    std::string name;                          // tool: the function that was called
};

// A function the model may call.
struct Tool {
    std::string name;
    std::string description;
    Json parameters;  // a JSON schema, or null
    Json response;    // a JSON schema, or null
};

struct Conversation {
    std::vector<Message> messages;
    std::vector<Tool> tools;
};

// "assistant" for Role::assistant, and so on; the message's own word for Role::other.
std::string_view role_text(const Message& message);

// `messages` is a list, `tools` a list or null. An error names the place: "messages[2].content[0] has no 'type'".
Result<Conversation> conversation_from_json(const Json& messages, const Json& tools);

// The same from a text: an object with `messages` and, if there are any, `tools`. Other members are ignored.
Result<Conversation> parse_conversation(std::string_view text);

}  // namespace lapidary::chat

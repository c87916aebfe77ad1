#include "chat/message.h"

#include <array>
#include <utility>

#include "chat/text.h"

namespace lapidary::chat {
namespace {

constexpr size_t kMaxMessages = 65536;
constexpr size_t kMaxParts = 4096;
// Calls are matched with their results by looking through the list, so the list stays short.
constexpr size_t kMaxToolCalls = 1024;
constexpr size_t kMaxTools = 4096;
constexpr size_t kLongestRole = 64;

constexpr std::array<std::pair<std::string_view, Role>, 6> kRoles = {{
    {"system", Role::system},
    {"developer", Role::developer},
    {"user", Role::user},
    {"assistant", Role::assistant},
    {"model", Role::assistant},  // what the model itself calls the role
    {"tool", Role::tool},
}};

constexpr std::array<std::pair<std::string_view, PartKind>, 12> kPartTypes = {{
    {"text", PartKind::text},
    {"input_text", PartKind::text},
    {"output_text", PartKind::text},
    {"image", PartKind::image},
    {"image_url", PartKind::image},
    {"input_image", PartKind::image},
    {"audio", PartKind::audio},
    {"audio_url", PartKind::audio},
    {"input_audio", PartKind::audio},
    {"video", PartKind::video},
    {"video_url", PartKind::video},
    {"input_video", PartKind::video},
}};

template <class Table>
const auto* find_in(const Table& table, std::string_view key) {
    for (const auto& entry : table) {
        if (entry.first == key) return &entry.second;
    }
    return static_cast<decltype(&table.front().second)>(nullptr);
}

// "a string", "a list": what a value is, for sentences.
std::string_view kind_of(const Json& value) {
    if (value.is_null()) return "null";
    if (value.is_string()) return "a string";
    if (value.is_array()) return "a list";
    if (value.is_object()) return "an object";
    if (value.is_boolean()) return "a boolean";
    return "a number";
}

std::unexpected<Error> wrong_kind(std::string_view place, const Json& value, std::string_view wanted) {
    return fail(Code::invalid_argument, "{} is {}; {} is expected", place, kind_of(value), wanted);
}

Status check_list(const Json& value, std::string_view place, size_t limit) {
    if (!value.is_array()) return wrong_kind(place, value, "a list");
    if (value.size() > limit) {
        return fail(Code::limit, "{} has {} entries; at most {} are accepted", place, value.size(), limit);
    }
    return {};
}

// An optional string member; null counts as absent.
Result<std::string> optional_string(const Json& object, const char* key, std::string_view place) {
    const Json& value = member(object, key);
    if (value.is_null()) return std::string();
    if (!value.is_string()) return wrong_kind(format("{}.{}", place, key), value, "a string");
    return std::string(string_of(value));
}

// A name that will stand bare in the prompt.
Result<std::string> tool_name(const Json& object, const char* key, std::string_view place) {
    std::string name = TRY(optional_string(object, key, place));
    if (name.empty()) return fail(Code::invalid_argument, "{} has no '{}'", place, key);
    if (!is_tool_name(name)) {
        return fail(Code::invalid_argument, "{}.{} '{}' is not usable as the name of a function", place, key,
                    printable(name));
    }
    return name;
}

// A whole number that a member of an object has; 0 where there is none.
Result<uint64_t> whole_number(const Json& object, const char* key, uint64_t most, std::string_view place) {
    const Json& value = member(object, key);
    if (value.is_null()) return 0u;
    const bool small = value.is_number_unsigned() && value.get<uint64_t>() <= most;
    if (!small) return fail(Code::invalid_argument, "{}.{} must be a whole number of at most {}", place, key, most);
    return value.get<uint64_t>();
}

Status read_media(const Json& value, const std::string& place, Part& part) {
    constexpr uint64_t kLargestId = UINT32_MAX;
    constexpr uint64_t kLongest = 1 << 26;  // seconds
    part.media = uint32_t(TRY(whole_number(value, "media", kLargestId, place)));
    const Json& frames = member(value, "frames");
    if (frames.is_null()) return {};
    if (part.kind != PartKind::video) return fail(Code::invalid_argument, "{} has frames and is no video", place);
    TRY(check_list(frames, place + ".frames", kMaxParts));
    for (size_t i = 0; i < frames.size(); ++i) {
        const std::string here = format("{}.frames[{}]", place, i);
        if (!frames[i].is_object()) return wrong_kind(here, frames[i], "an object with 'media' and 'seconds'");
        VideoFrame frame{.media = uint32_t(TRY(whole_number(frames[i], "media", kLargestId, here))),
                         .seconds = TRY(whole_number(frames[i], "seconds", kLongest, here))};
        if (frame.media == 0) return fail(Code::invalid_argument, "{} has no 'media'", here);
        part.frames.push_back(frame);
    }
    return {};
}

Result<Part> read_part(const Json& value, const std::string& place) {
    if (value.is_string()) return Part{.text = std::string(string_of(value))};
    if (!value.is_object()) return wrong_kind(place, value, "an object with a 'type'");
    const Json& type = member(value, "type");
    if (type.is_null()) return fail(Code::invalid_argument, "{} has no 'type'", place);
    if (!type.is_string()) return wrong_kind(place + ".type", type, "a string");
    const PartKind* kind = find_in(kPartTypes, string_of(type));
    if (kind == nullptr) {
        return fail(Code::unsupported, "{}.type '{}' is not known; text, image_url, input_audio and video are", place,
                    printable(string_of(type)));
    }
    Part part{.kind = *kind};
    if (*kind != PartKind::text) {
        TRY(read_media(value, place, part));
        return part;
    }
    const Json& text = member(value, "text");
    if (text.is_null()) return fail(Code::invalid_argument, "{} has no 'text'", place);
    if (!text.is_string()) return wrong_kind(place + ".text", text, "a string");
    part.text = string_of(text);
    return part;
}

Status read_content(const Json& value, const std::string& place, Message& message) {
    const Json& content = member(value, "content");
    const std::string here = place + ".content";
    if (content.is_string()) {
        message.parts.push_back({.text = std::string(string_of(content))});
    } else if (content.is_array()) {
        TRY(check_list(content, here, kMaxParts));
        message.content_is_list = true;
        for (size_t i = 0; i < content.size(); ++i) {
            message.parts.push_back(TRY(read_part(content[i], format("{}[{}]", here, i))));
        }
    } else if (!value.contains("content")) {
        // An assistant that only called tools has nothing to say; anybody else forgot something.
        if (message.role != Role::assistant) return fail(Code::invalid_argument, "{} has no 'content'", place);
    } else if (message.role == Role::tool) {
        message.value = content;
    } else if (!content.is_null()) {
        return wrong_kind(here, content, "a string or a list of parts");
    }
    return {};
}

Result<ToolCall> read_call(const Json& value, const std::string& place) {
    if (!value.is_object()) return wrong_kind(place, value, "an object");
    const Json& type = member(value, "type");
    if (!type.is_null() && string_of(type) != "function") {
        return fail(Code::unsupported, "{}.type is not 'function', the only kind of call there is", place);
    }
    ToolCall call;
    call.id = TRY(optional_string(value, "id", place));
    const Json& function = member(value, "function");
    if (function.is_null()) return fail(Code::invalid_argument, "{} has no 'function'", place);
    if (!function.is_object()) return wrong_kind(place + ".function", function, "an object");
    call.name = TRY(tool_name(function, "name", place + ".function"));

    const Json& arguments = member(function, "arguments");
    const std::string here = place + ".function.arguments";
    if (arguments.is_object()) {
        call.arguments = arguments;
    } else if (arguments.is_string()) {
        const std::string_view text = trim(string_of(arguments));
        if (text.empty()) return call;
        auto parsed = parse_json(text, here);
        if (!parsed && parsed.error().code == Code::limit) return std::unexpected(std::move(parsed).error());
        if (parsed && parsed->is_object()) {
            call.arguments = *std::move(parsed);
        } else {
            call.arguments = arguments;  // not JSON, or not an object: what the caller wrote is what the model sees
        }
    } else if (!arguments.is_null()) {
        return wrong_kind(here, arguments, "an object, or a string with one,");
    }
    return call;
}

Result<ToolResponse> read_response(const Json& value, const std::string& place) {
    if (!value.is_object()) return wrong_kind(place, value, "an object");
    ToolResponse response;
    response.name = member(value, "name").is_null() ? "unknown" : TRY(tool_name(value, "name", place));
    response.response = member(value, "response");
    return response;
}

Status read_assistant(const Json& value, const std::string& place, Message& message) {
    message.reasoning = TRY(optional_string(value, "reasoning", place));
    if (message.reasoning.empty()) message.reasoning = TRY(optional_string(value, "reasoning_content", place));
    if (const Json& calls = member(value, "tool_calls"); !calls.is_null()) {
        TRY(check_list(calls, place + ".tool_calls", kMaxToolCalls));
        for (size_t i = 0; i < calls.size(); ++i) {
            message.tool_calls.push_back(TRY(read_call(calls[i], format("{}.tool_calls[{}]", place, i))));
        }
    }
    if (const Json& responses = member(value, "tool_responses"); !responses.is_null()) {
        TRY(check_list(responses, place + ".tool_responses", kMaxToolCalls));
        for (size_t i = 0; i < responses.size(); ++i) {
            const std::string here = format("{}.tool_responses[{}]", place, i);
            message.tool_responses.push_back(TRY(read_response(responses[i], here)));
        }
    }
    return {};
}

Status read_role(const Json& value, const std::string& place, Message& message) {
    const Json& role = member(value, "role");
    if (role.is_null()) return fail(Code::invalid_argument, "{} has no 'role'", place);
    if (!role.is_string()) return wrong_kind(place + ".role", role, "a string");
    const std::string_view text = string_of(role);
    if (const Role* known = find_in(kRoles, text)) {
        message.role = *known;
        return {};
    }
    // The word is written into the prompt as it is, so it must not be able to end the turn it names.
    bool plain = !text.empty() && text.size() <= kLongestRole;
    for (const char c : text) {
        plain = plain &&
                ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-');
    }
    if (!plain) {
        return fail(Code::invalid_argument, "{}.role '{}' may only contain letters, digits, '_' and '-'", place,
                    printable(text));
    }
    message.role = Role::other;
    message.other_role = text;
    return {};
}

Result<Message> read_message(const Json& value, const std::string& place) {
    if (!value.is_object()) return wrong_kind(place, value, "an object");
    Message message;
    TRY(read_role(value, place, message));
    TRY(read_content(value, place, message));
    if (message.role == Role::assistant) TRY(read_assistant(value, place, message));
    if (message.role == Role::tool) {
        message.tool_call_id = TRY(optional_string(value, "tool_call_id", place));
        for (const char* key : {"name", "tool_name"}) {
            if (message.name.empty() && !string_of(member(value, key)).empty()) {
                message.name = TRY(tool_name(value, key, place));
            }
        }
    }
    return message;
}

Result<Tool> read_tool(const Json& value, const std::string& place) {
    if (!value.is_object()) return wrong_kind(place, value, "an object");
    const Json& type = member(value, "type");
    if (!type.is_null() && string_of(type) != "function") {
        return fail(Code::unsupported, "{}.type is not 'function', the only kind of tool there is", place);
    }
    // Some clients send the declaration itself, without the wrapping.
    const bool wrapped = value.contains("function");
    const Json& function = wrapped ? member(value, "function") : value;
    const std::string here = wrapped ? place + ".function" : place;
    if (!function.is_object()) return wrong_kind(here, function, "an object");
    Tool tool;
    tool.name = TRY(tool_name(function, "name", here));
    tool.description = TRY(optional_string(function, "description", here));
    for (const auto& [key, target] :
         {std::pair{"parameters", &tool.parameters}, std::pair{"response", &tool.response}}) {
        const Json& schema = member(function, key);
        if (!schema.is_null() && !schema.is_object()) return wrong_kind(here + "." + key, schema, "an object");
        *target = schema;
    }
    return tool;
}

}  // namespace

std::string_view role_text(const Message& message) {
    if (message.role == Role::other) return message.other_role;
    for (const auto& [text, role] : kRoles) {
        if (role == message.role) return text;
    }
    return "user";
}

Result<Conversation> conversation_from_json(const Json& messages, const Json& tools) {
    TRY(check_bounds(messages, "messages"));
    TRY(check_bounds(tools, "tools"));
    TRY(check_list(messages, "messages", kMaxMessages));
    if (messages.empty()) return fail(Code::invalid_argument, "messages is empty; one message is the least");

    Conversation conversation;
    bool results_welcome = false;  // a `tool` message may come here: it answers the calls before it
    for (size_t i = 0; i < messages.size(); ++i) {
        const std::string place = format("messages[{}]", i);
        Message message = TRY(read_message(messages[i], place));
        if (message.role != Role::tool) {
            results_welcome = !message.tool_calls.empty();
        } else if (!results_welcome) {
            return fail(Code::invalid_argument,
                        "{} is the result of a tool, but does not follow an assistant message with tool_calls", place);
        }
        conversation.messages.push_back(std::move(message));
    }
    if (!tools.is_null()) {
        TRY(check_list(tools, "tools", kMaxTools));
        for (size_t i = 0; i < tools.size(); ++i) {
            conversation.tools.push_back(TRY(read_tool(tools[i], format("tools[{}]", i))));
        }
    }
    return conversation;
}

Result<Conversation> parse_conversation(std::string_view text) {
    const Json request = TRY(parse_json(text, "the request"));
    if (!request.is_object()) return wrong_kind("the request", request, "an object with 'messages'");
    if (!request.contains("messages")) return fail(Code::invalid_argument, "the request has no 'messages'");
    return conversation_from_json(member(request, "messages"), member(request, "tools"));
}

}  // namespace lapidary::chat

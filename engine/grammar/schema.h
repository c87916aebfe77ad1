// From a JSON schema to the program that reads exactly the JSON we are willing to let a model write for it.
//
// What the program accepts always satisfies the schema. It may be less than the schema allows: properties come in the order they are
// declared and the others after them, a tuple ends where its list of schemas ends, numbers have a bounded number of digits, and a
// schema whose keywords speak of objects means objects. What cannot be followed is refused by name
// (docs/notes/json-schema.md says which keywords, and how it works).
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/task.h"
#include "chat/json.h"
#include "chat/message.h"
#include "grammar/program.h"

namespace lapidary::grammar {

using chat::Json;
using ProgramResult = Result<std::shared_ptr<const Program>>;

// Between pieces of work; an error ends it.
using Pause = std::function<Task<Status>()>;

ProgramResult compile_schema(const Json& schema);
// The same with pauses, so that a large schema holds nobody up.
Task<ProgramResult> compile_schema(const Json& schema, Pause pause);

// Any JSON object.
ProgramResult compile_json_object();

// A call of one of the tools as the model writes it between <|tool_call> and <tool_call|>, its arguments as the tool's
// parameters say. Tokens <|"|> are the byte kQuoteByte.
ProgramResult compile_calls(std::span<const chat::Tool> tools);
Task<ProgramResult> compile_calls(std::span<const chat::Tool> tools, Pause pause);

// OpenAI's `response_format`: null and {type: "text"} give no program, {type: "json_object"} and
// {type: "json_schema", json_schema: {schema}} one.
ProgramResult compile_response_format(const Json& format);
Task<ProgramResult> compile_response_format(const Json& format, Pause pause);

}  // namespace lapidary::grammar

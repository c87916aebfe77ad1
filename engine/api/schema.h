// Every method with the tables of what it takes and gives: for documents, TypeScript and tests. No method needs it to run.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "api/message.h"

namespace lapidary::api {

struct MethodSchema {
    std::string_view name;
    bool workshop;  // only lapidary-workshop.wasm has it
    const Nested* arguments;
    const Nested* result;
    std::span<const Nested* const> events;
    std::string_view blob_in;  // bytes beside the arguments
    std::string_view blob_out;
    std::string_view about;
};

std::span<const MethodSchema> method_schemas();

// packages/lapidary/src/messages.ts, and docs/messages.md.
std::string messages_ts();
std::string messages_md();

}  // namespace lapidary::api

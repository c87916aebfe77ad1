// What a token of a vocabulary is there for.
#pragma once

#include <cstdint>

namespace lapidary::tokenizer {

enum class TokenKind : uint8_t {
    normal,        // text; the space mark stands for a space
    unknown,       // like control
    control,       // structure of a conversation: matched in input and shown in output only when asked for
    user_defined,  // matched in input and shown in output always
    byte,          // one byte, written <0xXX>
};

}  // namespace lapidary::tokenizer

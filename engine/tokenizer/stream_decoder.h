// StreamDecoder: the ids of an answer, one by one, → text that can be shown at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8_stream.h"

namespace lapidary::tokenizer {

class StreamDecoder {
  public:
    // With `special`, control tokens appear as their text; without, they are left out.
    explicit StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool special = false)
        : tokenizer_(std::move(tokenizer)), special_(special) {}

    // The text this id completes: valid UTF-8, never half a character, perhaps empty. See Utf8Stream.
    std::string feed(int32_t id);
    // What is left when no more ids come. The decoder can then be used for another answer.
    std::string finish() { return characters_.finish(); }

  private:
    std::shared_ptr<const Tokenizer> tokenizer_;
    bool special_;
    Utf8Stream characters_;
};

}  // namespace lapidary::tokenizer

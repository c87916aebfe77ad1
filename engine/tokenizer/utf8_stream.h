// Utf8Stream: bytes in any portions → whole characters of valid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace lapidary::tokenizer {

class Utf8Stream {
  public:
    // The characters that are complete now, in order. Bytes that can no longer become a character are replaced
    // by U+FFFD, one for each longest piece that could have begun a character, as browsers do it.
    std::string feed(std::string_view bytes);
    // What is left, with U+FFFD for an unfinished character. The stream is empty again afterwards.
    std::string finish();

  private:
    std::string pending_;  // the beginning of a character: at most 3 bytes between calls
};

}  // namespace lapidary::tokenizer

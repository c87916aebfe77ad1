// A picture or a sound in a prompt.
#pragma once

#include <functional>
#include <span>

#include "infer/session.h"

namespace lapidary::api {

struct PromptMedia {
    bool is_sound = false;
    uint64_t digest = 0;
    infer::SoftPart part;  // but for where it begins
};

// By the number that media.image and media.sound gave.
using FindMedia = std::function<Result<PromptMedia>(uint32_t media)>;

// Its soft tokens at the end of the prompt, unless that would be longer than any context of `most`.
Status append_media(PromptMedia media, size_t most, infer::Prompt& prompt);

}  // namespace lapidary::api

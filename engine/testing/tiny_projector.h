// A projector for a model of any width, small enough to be made in a test: 12B's kind, with patches of 48 and frames of 640.
#pragma once

#include "base/byte_source.h"

namespace lapidary::testing {

Bytes tiny_projector(uint32_t width);

}  // namespace lapidary::testing

// How much there is to compute: what a GPU of a given speed needs at least.
#pragma once

#include "towers/projector.h"

namespace lapidary::towers {

// Additions and multiplications of matrices and of attention; all else is little.
double operations_of_picture(const Vision& tower, uint32_t width, uint32_t height);
double operations_of_sound(const Audio& tower, uint64_t tokens);

}  // namespace lapidary::towers

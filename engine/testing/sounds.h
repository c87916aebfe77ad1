// The sounds of the fixtures, at 16 kHz.
#pragma once

#include <string>
#include <vector>

namespace lapidary::testing {

// NAME.wav; or "thirty": 31 seconds made of second.wav.
std::vector<float> read_sound(const std::string& name);

}  // namespace lapidary::testing

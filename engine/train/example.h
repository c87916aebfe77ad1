// One example of a data set, as tokens: what a data reader hands over and a training session packs into sequences.
#pragma once

#include <cstdint>
#include <vector>

namespace lapidary::train {

struct Example {
    std::vector<int32_t> tokens;
    std::vector<float> weights;  // [tokens]: how much predicting tokens[i + 1] from position i counts; the last is 0
};

}  // namespace lapidary::train

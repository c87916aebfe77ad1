#include "testing/sounds.h"

#include "audio/resample.h"
#include "audio/wav.h"
#include "testing/files.h"

namespace lapidary::testing {

std::vector<float> read_sound(const std::string& name) {
    if (name == "thirty") {
        constexpr size_t kSamples = 496000;
        const std::vector<float> second = read_sound("second");
        std::vector<float> out(kSamples);
        for (size_t i = 0; i < kSamples; ++i) {
            out[i] = float(double(second[i % second.size()]) * (0.25 + 0.75 * double(i) / kSamples));
        }
        return out;
    }
    const auto file = read_file("tests/data/media/wav/" + name + ".wav");
    const audio::Resampled heard(*audio::read_wav(*file));
    std::vector<float> out(heard.samples());
    heard.read(0, out);
    return out;
}

}  // namespace lapidary::testing

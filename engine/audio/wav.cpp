#include "audio/wav.h"

#include <cstring>
#include <optional>
#include <string_view>

namespace lapidary::audio {
namespace {

// Little-endian, inside of what was checked to be there.
uint32_t number_at(std::span<const uint8_t> bytes, size_t at, size_t size) {
    uint32_t value = 0;
    for (size_t i = 0; i < size; ++i) value |= uint32_t(bytes[at + i]) << 8 * i;
    return value;
}

bool says(std::span<const uint8_t> bytes, size_t at, std::string_view text) {
    return at + text.size() <= bytes.size() && std::memcmp(bytes.data() + at, text.data(), text.size()) == 0;
}

// How one sample of one channel is written.
enum class Sample : uint8_t { u8, s16, s24, s32, f32, f64 };

size_t size_of(Sample sample) {
    switch (sample) {
        case Sample::u8: return 1;
        case Sample::s16: return 2;
        case Sample::s24: return 3;
        case Sample::s32:
        case Sample::f32: return 4;
        case Sample::f64: return 8;
    }
    return 1;
}

// In [−1, 1), but for floats, which are what they are. Doubles, so that 32 bits and sums of channels keep theirs.
double value_of(Sample sample, const uint8_t* at) {
    const auto whole = [at](unsigned bytes) {
        uint32_t bits = 0;
        for (unsigned i = 0; i < bytes; ++i) bits |= uint32_t(at[i]) << 8 * (4 - bytes + i);
        return double(int32_t(bits)) / 0x1p31;  // at the top of 32 bits, so the sign is where it belongs
    };
    switch (sample) {
        case Sample::u8: return (double(*at) - 128) / 128;
        case Sample::s16: return whole(2);
        case Sample::s24: return whole(3);
        case Sample::s32: return whole(4);
        case Sample::f32: {
            float value = 0;
            std::memcpy(&value, at, sizeof value);
            return double(value);
        }
        case Sample::f64: {
            double value = 0;
            std::memcpy(&value, at, sizeof value);
            return value;
        }
    }
    return 0;
}

struct Layout {
    Sample sample = Sample::s16;
    uint32_t channels = 0;
    uint32_t rate = 0;
};

// What the `fmt ` chunk says.
Result<Layout> layout_of(std::span<const uint8_t> chunk) {
    constexpr uint32_t kPcm = 1;
    constexpr uint32_t kFloat = 3;
    constexpr uint32_t kExtensible = 0xFFFE;  // the tag proper comes in a longer form, further back
    if (chunk.size() < 16) return fail(Code::bad_file, "the WAV file's description of its samples is cut short");
    uint32_t tag = number_at(chunk, 0, 2);
    if (tag == kExtensible) {
        if (chunk.size() < 26) return fail(Code::bad_file, "the WAV file's description of its samples is cut short");
        tag = number_at(chunk, 24, 2);
    }
    Layout out{.channels = number_at(chunk, 2, 2), .rate = number_at(chunk, 4, 4)};
    const uint32_t frame = number_at(chunk, 12, 2);
    const uint32_t bits = number_at(chunk, 14, 2);
    if (tag != kPcm && tag != kFloat) {
        return fail(Code::unsupported,
                    "the WAV file is compressed (format {}); plain samples and floats are understood", tag);
    }
    TRY(check_sound(out.rate, out.channels, 1));
    // Numbers of 12 or 20 bits lie at the top of the next whole number of bytes.
    const uint32_t bytes = (bits + 7) / 8;
    if (bits == 0 || frame != bytes * out.channels) {
        return fail(Code::bad_file, "the WAV file says that {} channels of {} bits make {} bytes", out.channels, bits,
                    frame);
    }
    if (tag == kFloat && bits == 32) return out.sample = Sample::f32, out;
    if (tag == kFloat && bits == 64) return out.sample = Sample::f64, out;
    if (tag == kPcm && bytes <= 4) {
        constexpr Sample kBySize[] = {Sample::u8, Sample::s16, Sample::s24, Sample::s32};
        return out.sample = kBySize[bytes - 1], out;
    }
    return fail(Code::unsupported,
                "the WAV file has {} of {} bits; numbers of 8 to 32 and floats of 32 or 64 are understood",
                tag == kFloat ? "floats" : "numbers", bits);
}

float averaged(const Layout& layout, const uint8_t* frame) {
    double sum = 0;
    for (uint32_t c = 0; c < layout.channels; ++c) sum += value_of(layout.sample, frame + c * size_of(layout.sample));
    return float(sum / layout.channels);
}

}  // namespace

bool is_wav(std::span<const uint8_t> file) {
    return (says(file, 0, "RIFF") || says(file, 0, "RF64")) && says(file, 8, "WAVE");
}

Result<Sound> read_wav(std::span<const uint8_t> file) {
    if (!is_wav(file)) return fail(Code::bad_file, "this is no WAV file");
    // What programs write that do not know the length yet, and files beyond 4 GiB, whose size stands elsewhere.
    constexpr uint32_t kToTheEnd = 0xFFFFFFFF;
    std::optional<Layout> layout;
    for (uint64_t at = 12; at + 8 <= file.size();) {
        const uint32_t said = number_at(file, at + 4, 4);
        const uint64_t left = file.size() - at - 8;
        const bool data = says(file, at, "data");
        const uint64_t size = data && said == kToTheEnd ? left : said;
        if (size > left) {
            return fail(Code::truncated, "the WAV file ends before its {} does: {} of {} bytes are there",
                        data ? "sound" : "description", left, size);
        }
        const auto chunk = file.subspan(at + 8, size);
        if (says(file, at, "fmt ")) layout = TRY(layout_of(chunk));
        if (data) {
            if (!layout) return fail(Code::bad_file, "the WAV file does not say how its samples are written");
            const size_t frame = size_of(layout->sample) * layout->channels;
            const uint64_t samples = chunk.size() / frame;
            TRY(check_sound(layout->rate, layout->channels, samples));
            if (layout->sample == Sample::f32 || layout->sample == Sample::f64) {
                for (uint64_t i = 0; i < samples; ++i)
                    TRY(check_sample(averaged(*layout, chunk.data() + i * frame), i));
            }
            return Sound{.rate = layout->rate,
                         .samples = samples,
                         .read = [chunk, frame, layout = *layout](uint64_t first, std::span<float> out) {
                             const uint8_t* from = chunk.data() + first * frame;
                             for (size_t i = 0; i < out.size(); ++i) out[i] = averaged(layout, from + i * frame);
                         }};
        }
        at += 8 + size + size % 2;  // chunks begin at even places
    }
    return fail(Code::truncated, "the WAV file has no sound in it");
}

}  // namespace lapidary::audio

// WAV files for tests: right ones, and the parts to make wrong ones of.
#pragma once

#include <cstring>
#include <string_view>

#include "base/byte_source.h"

namespace lapidary::testing {

inline void put(Bytes& out, uint64_t value, size_t size) {
    for (size_t i = 0; i < size; ++i) out.push_back(uint8_t(value >> 8 * i));
}
inline void put(Bytes& out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
}

struct WavFormat {
    uint32_t tag = 1;
    uint32_t channels = 1;
    uint32_t rate = 16000;
    uint32_t bits = 16;
    bool extensible = false;
};

inline Bytes wav_chunk(std::string_view name, const Bytes& content) {
    Bytes out;
    put(out, name);
    put(out, content.size(), 4);
    out.insert(out.end(), content.begin(), content.end());
    if (content.size() % 2 != 0) out.push_back(0);
    return out;
}

inline Bytes wav_format(const WavFormat& format) {
    Bytes out;
    const uint32_t frame = (format.bits + 7) / 8 * format.channels;
    put(out, format.extensible ? 0xFFFE : format.tag, 2);
    put(out, format.channels, 2);
    put(out, format.rate, 4);
    put(out, uint64_t{format.rate} * frame, 4);
    put(out, frame, 2);
    put(out, format.bits, 2);
    if (format.extensible) {
        put(out, 22, 2);
        put(out, format.bits, 2);
        put(out, 0, 4);
        put(out, format.tag, 2);
        put(out, std::string_view("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71", 14));
    }
    return wav_chunk("fmt ", out);
}

inline Bytes wav_of(std::initializer_list<Bytes> chunks) {
    Bytes content;
    put(content, "WAVE");
    for (const Bytes& chunk : chunks) content.insert(content.end(), chunk.begin(), chunk.end());
    return wav_chunk("RIFF", content);
}

inline Bytes wav_file(const WavFormat& format, const Bytes& samples) {
    return wav_of({wav_format(format), wav_chunk("data", samples)});
}

}  // namespace lapidary::testing

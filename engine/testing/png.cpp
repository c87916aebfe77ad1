#include "testing/png.h"

#include <array>
#include <cstdlib>

#include "testing/files.h"

namespace lapidary::testing {
namespace {

// Deflate, a bit at a time (RFC 1951).
class Inflate {
  public:
    explicit Inflate(std::span<const uint8_t> bytes) : bytes_(bytes) {}

    Bytes run() {
        bool last = false;
        while (!last) {
            last = bits(1) != 0;
            const uint32_t kind = bits(2);
            if (kind == 0) {
                stored();
            } else {
                kind == 1 ? fixed() : dynamic();
                block();
            }
        }
        return std::move(out_);
    }

  private:
    struct Code {
        std::array<uint16_t, 16> counts{};
        std::vector<uint16_t> symbols;

        explicit Code(std::span<const uint8_t> lengths) : symbols(lengths.size()) {
            for (const uint8_t length : lengths) ++counts[length];
            counts[0] = 0;
            std::array<uint16_t, 16> at{};
            for (size_t i = 1; i < 15; ++i) at[i + 1] = uint16_t(at[i] + counts[i]);
            for (size_t i = 0; i < lengths.size(); ++i) {
                if (lengths[i] != 0) symbols[at[lengths[i]]++] = uint16_t(i);
            }
        }
    };

    uint32_t bits(uint32_t count) {
        uint32_t out = 0;
        for (uint32_t i = 0; i < count; ++i, ++at_) out |= uint32_t(bytes_[at_ / 8] >> at_ % 8 & 1) << i;
        return out;
    }
    uint32_t symbol(const Code& code) {
        int value = 0;
        int first = 0;
        int index = 0;
        for (size_t length = 1; length < 16; ++length) {
            value |= int(bits(1));
            const int count = code.counts[length];
            if (value - count < first) return code.symbols[size_t(index + value - first)];
            index += count;
            first = (first + count) << 1;
            value <<= 1;
        }
        std::abort();
    }
    void stored() {
        at_ = (at_ + 7) / 8 * 8;
        const uint32_t size = bits(16);
        bits(16);
        for (uint32_t i = 0; i < size; ++i) out_.push_back(uint8_t(bits(8)));
    }
    void fixed() {
        std::array<uint8_t, 288> lengths{};
        for (size_t i = 0; i < lengths.size(); ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
        std::array<uint8_t, 30> five{};
        five.fill(5);
        literals_.emplace(lengths);
        distances_.emplace(five);
    }
    void dynamic() {
        static constexpr std::array<uint8_t, 19> kOrder = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                                           11, 4,  12, 3, 13, 2, 14, 1, 15};
        const uint32_t literals = bits(5) + 257;
        const uint32_t distances = bits(5) + 1;
        const uint32_t codes = bits(4) + 4;
        std::array<uint8_t, 19> lengths{};
        for (uint32_t i = 0; i < codes; ++i) lengths[kOrder[i]] = uint8_t(bits(3));
        const Code code(lengths);
        std::vector<uint8_t> all;
        while (all.size() < literals + distances) {
            const uint32_t one = symbol(code);
            if (one < 16) {
                all.push_back(uint8_t(one));
            } else {
                const uint8_t before = one == 16 ? all.back() : 0;
                const uint32_t times = one == 16 ? 3 + bits(2) : one == 17 ? 3 + bits(3) : 11 + bits(7);
                all.insert(all.end(), times, before);
            }
        }
        literals_.emplace(std::span(all).first(literals));
        distances_.emplace(std::span(all).subspan(literals));
    }
    void block() {
        for (uint32_t one = 0; (one = symbol(*literals_)) != 256;) {
            if (one < 256) {
                out_.push_back(uint8_t(one));
                continue;
            }
            one -= 257;
            const uint32_t extra = one < 8 || one == 28 ? 0 : one / 4 - 1;
            const uint32_t length = one == 28 ? 258 : one < 8 ? one + 3 : ((4 + one % 4) << extra) + 3 + bits(extra);
            const uint32_t place = symbol(*distances_);
            const uint32_t more = place < 4 ? 0 : place / 2 - 1;
            const uint32_t distance = place < 4 ? place + 1 : ((2 + place % 2) << more) + 1 + bits(more);
            for (uint32_t i = 0; i < length; ++i) out_.push_back(out_[out_.size() - distance]);
        }
    }

    std::span<const uint8_t> bytes_;
    size_t at_ = 0;
    std::optional<Code> literals_, distances_;
    Bytes out_;
};

int paeth(int a, int b, int c) {
    const int p = a + b - c;
    const int pa = std::abs(p - a);
    const int pb = std::abs(p - b);
    const int pc = std::abs(p - c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

}  // namespace

std::optional<Png> read_png(std::string_view path) {
    const auto file = read_file(path);
    if (!file || file->size() < 33) return std::nullopt;
    const auto number = [&](size_t at) {
        return uint32_t{(*file)[at]} << 24 | uint32_t{(*file)[at + 1]} << 16 | uint32_t{(*file)[at + 2]} << 8 |
               (*file)[at + 3];
    };
    Png out{.width = number(16), .height = number(20)};
    const uint32_t depth = (*file)[24];
    const uint32_t colour = (*file)[25];
    Bytes packed;
    Bytes palette;
    for (size_t at = 8; at + 12 <= file->size(); at += number(at) + 12) {
        const std::string_view name(reinterpret_cast<const char*>(file->data() + at + 4), 4);
        const auto body = std::span(*file).subspan(at + 8, number(at));
        if (name == "IDAT") packed.insert(packed.end(), body.begin(), body.end());
        if (name == "PLTE") palette.assign(body.begin(), body.end());
    }
    const uint32_t channels = colour == 2 ? 3 : colour == 6 ? 4 : 1;
    const size_t step = size_t{channels} * depth / 8;
    const size_t row = step * out.width;
    const Bytes raw = Inflate(std::span(packed).subspan(2)).run();
    Bytes pixels(row * out.height);
    for (size_t y = 0; y < out.height; ++y) {
        const uint8_t filter = raw[y * (row + 1)];
        for (size_t x = 0; x < row; ++x) {
            const int left = x >= step ? pixels[y * row + x - step] : 0;
            const int up = y > 0 ? pixels[(y - 1) * row + x] : 0;
            const int corner = x >= step && y > 0 ? pixels[(y - 1) * row + x - step] : 0;
            const int guess = filter == 1   ? left
                              : filter == 2 ? up
                              : filter == 3 ? (left + up) / 2
                              : filter == 4 ? paeth(left, up, corner)
                                            : 0;
            pixels[y * row + x] = uint8_t(raw[y * (row + 1) + 1 + x] + guess);
        }
    }
    if (depth == 16) {  // big-endian in the file
        for (size_t i = 0; i < pixels.size(); i += 2) std::swap(pixels[i], pixels[i + 1]);
    }
    if (colour == 3) {
        for (const uint8_t index : pixels) {
            for (size_t c = 0; c < 3; ++c) out.pixels.push_back(palette[size_t{index} * 3 + c]);
        }
        return out;
    }
    out.layout = colour == 2   ? image::Layout::rgb8
                 : colour == 6 ? image::Layout::rgba8
                 : depth == 16 ? image::Layout::grey16
                               : image::Layout::grey8;
    out.pixels = std::move(pixels);
    return out;
}

}  // namespace lapidary::testing

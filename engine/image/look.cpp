#include "image/look.h"

#include <algorithm>
#include <string_view>

namespace lapidary::image {
namespace {

using namespace std::string_view_literals;

// Numbers at a place of the file, nothing where it ends before.
class Bits {
  public:
    explicit Bits(std::span<const uint8_t> bytes, bool big = true) : bytes_(bytes), big_(big) {}

    [[nodiscard]] std::optional<uint32_t> number(size_t at, size_t size) const {
        if (at > bytes_.size() || size > bytes_.size() - at) return std::nullopt;
        uint32_t out = 0;
        for (size_t i = 0; i < size; ++i) out |= uint32_t{bytes_[at + i]} << 8 * (big_ ? size - 1 - i : i);
        return out;
    }
    [[nodiscard]] bool has(size_t at, std::string_view text) const {
        if (at > bytes_.size() || text.size() > bytes_.size() - at) return false;
        return std::ranges::equal(bytes_.subspan(at, text.size()), text, {}, {}, [](char c) { return uint8_t(c); });
    }
    // What there is of a part.
    [[nodiscard]] std::span<const uint8_t> part(size_t at, size_t size) const {
        if (at > bytes_.size()) return {};
        return bytes_.subspan(at, std::min(size, bytes_.size() - at));
    }
    [[nodiscard]] size_t size() const { return bytes_.size(); }

  private:
    std::span<const uint8_t> bytes_;
    bool big_;
};

std::unexpected<Error> broken(std::string_view what) {
    return fail(Code::bad_file, "the file begins like a {} and then is none: it is damaged", what);
}

void look_png(const Bits& file, Looked& out) {
    const auto width = file.number(16, 4);
    const auto height = file.number(20, 4);
    if (width && height) out.size = Size{*width, *height};
    for (size_t at = 8; const auto length = file.number(at, 4);) {
        if (file.has(at + 4, "eXIf")) out.orientation = exif_orientation(file.part(at + 8, *length));
        if (file.has(at + 4, "IDAT") || *length > file.size()) break;
        at += size_t{*length} + 12;
    }
}

Status look_jpeg(const Bits& file, Looked& out) {
    for (size_t at = 2; file.number(at, 2);) {
        if (*file.number(at, 1) != 0xFF) return broken("JPEG");
        const uint32_t marker = *file.number(at + 1, 1);
        if (marker == 0xFF) {  // any number of them may come before a marker
            ++at;
            continue;
        }
        const bool bare = marker == 0x01 || (marker >= 0xD0 && marker <= 0xD8);
        if (bare) {
            at += 2;
            continue;
        }
        if (marker == 0xDA || marker == 0xD9) return out.size ? Status{} : Status(broken("JPEG"));
        const auto length = file.number(at + 2, 2);
        if (!length) break;
        if (*length < 2) return broken("JPEG");
        if (marker == 0xE1 && file.has(at + 4, "Exif\0\0"sv) && *length > 8) {
            out.orientation = exif_orientation(file.part(at + 10, *length - 8));
        }
        const bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
        if (frame) {
            const auto height = file.number(at + 5, 2);
            const auto width = file.number(at + 7, 2);
            if (width && height) out.size = Size{*width, *height};
        }
        at += 2 + size_t{*length};
    }
    return {};
}

void look_webp(std::span<const uint8_t> bytes, Looked& out) {
    const Bits file(bytes, false);
    for (size_t at = 12; const auto length = file.number(at + 4, 4);) {
        const size_t body = at + 8;
        if (file.has(at, "VP8X")) {
            const auto width = file.number(body + 4, 3);
            const auto height = file.number(body + 7, 3);
            if (width && height) out.size = Size{*width + 1, *height + 1};
        } else if (file.has(at, "VP8 ") && !out.size) {
            const auto width = file.number(body + 6, 2);
            const auto height = file.number(body + 8, 2);
            if (width && height) out.size = Size{*width & 0x3FFF, *height & 0x3FFF};
        } else if (file.has(at, "VP8L") && !out.size) {
            if (const auto word = file.number(body + 1, 4)) {
                out.size = Size{(*word & 0x3FFF) + 1, (*word >> 14 & 0x3FFF) + 1};
            }
        } else if (file.has(at, "EXIF")) {
            auto exif = file.part(body, *length);
            if (file.has(body, "Exif\0\0"sv)) exif = exif.subspan(std::min<size_t>(6, exif.size()));
            out.orientation = exif_orientation(exif);
        }
        if (*length > file.size()) break;
        at = body + *length + (*length & 1);
    }
}

}  // namespace

std::string_view name_of(FileFormat format) {
    switch (format) {
        case FileFormat::png: return "png";
        case FileFormat::jpeg: return "jpeg";
        case FileFormat::webp: return "webp";
        case FileFormat::gif: return "gif";
        case FileFormat::unknown: break;
    }
    return "unknown";
}

uint32_t exif_orientation(std::span<const uint8_t> tiff) {
    constexpr uint32_t kOrientation = 0x0112;
    const bool big = Bits(tiff).has(0, "MM");
    if (!big && !Bits(tiff).has(0, "II")) return 1;
    const Bits file(tiff, big);
    if (file.number(2, 2) != 42) return 1;
    const auto directory = file.number(4, 4);
    if (!directory) return 1;
    const auto count = file.number(*directory, 2);
    if (!count) return 1;
    for (size_t i = 0; i < *count; ++i) {
        const size_t entry = size_t{*directory} + 2 + i * 12;
        const auto tag = file.number(entry, 2);
        if (!tag) break;
        if (*tag != kOrientation) continue;
        const auto value = file.number(entry + 8, 2);
        return value && *value >= 1 && *value <= 8 ? *value : 1;
    }
    return 1;
}

Result<Looked> look(std::span<const uint8_t> bytes) {
    Looked out;
    const Bits file(bytes);
    if (file.has(0, "\x89PNG\r\n\x1a\n")) {
        out.format = FileFormat::png;
        if (file.size() > 16 && !file.has(12, "IHDR")) return broken("PNG");
        look_png(file, out);
    } else if (file.has(0, "\xFF\xD8\xFF")) {
        out.format = FileFormat::jpeg;
        TRY(look_jpeg(file, out));
    } else if (file.has(0, "RIFF") && file.has(8, "WEBP")) {
        out.format = FileFormat::webp;
        look_webp(bytes, out);
    } else if (file.has(0, "GIF87a") || file.has(0, "GIF89a")) {
        out.format = FileFormat::gif;
        const Bits little(bytes, false);
        const auto width = little.number(6, 2);
        const auto height = little.number(8, 2);
        if (width && height) out.size = Size{*width, *height};
    }
    if (out.size) TRY(check_size(out.size->width, out.size->height));
    return out;
}

}  // namespace lapidary::image

#include "lora/zip.h"

#include <array>
#include <cstring>

namespace lapidary::lora {
namespace {

constexpr uint32_t kLocalMark = 0x04034b50;
constexpr uint32_t kCentralMark = 0x02014b50;
constexpr uint32_t kEndMark = 0x06054b50;
constexpr size_t kLocalBytes = 30;
constexpr size_t kCentralBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kMaxComment = 65535;
constexpr size_t kMaxEntries = 4096;
constexpr uint16_t kVersion = 20;  // 2.0: folders and nothing newer
constexpr uint16_t kUtf8Names = 1 << 11;
constexpr uint16_t kEncrypted = 1;
constexpr uint16_t kDate = (2026 - 1980) << 9 | 1 << 5 | 1;  // the engine has no calendar

class Out {
  public:
    template <class T>
    void put(T value) {
        const size_t at = bytes.size();
        bytes.resize(at + sizeof value);
        std::memcpy(bytes.data() + at, &value, sizeof value);
    }
    void put_bytes(std::span<const uint8_t> more) { bytes.insert(bytes.end(), more.begin(), more.end()); }
    void put_text(std::string_view text) { bytes.insert(bytes.end(), text.begin(), text.end()); }

    Bytes bytes;
};

template <class T>
T get(std::span<const uint8_t> bytes, size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

// The fields that an entry has both before its bytes and in the list at the end.
void put_common(Out& out, const ZipEntry& entry, uint32_t crc) {
    out.put<uint16_t>(kVersion);
    out.put<uint16_t>(kUtf8Names);
    out.put<uint16_t>(0);  // stored
    out.put<uint16_t>(0);  // midnight
    out.put<uint16_t>(kDate);
    out.put<uint32_t>(crc);
    out.put<uint32_t>(uint32_t(entry.bytes.size()));
    out.put<uint32_t>(uint32_t(entry.bytes.size()));
    out.put<uint16_t>(uint16_t(entry.name.size()));
    out.put<uint16_t>(0);  // extra fields
}

constexpr std::array<uint32_t, 256> kCrcTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t value = i;
        for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? value >> 1 ^ 0xEDB88320u : value >> 1;
        table[i] = value;
    }
    return table;
}();

std::unexpected<Error> damaged() {
    return fail(Code::bad_file, "the zip archive is damaged");
}

// The record at the end that says where the list of entries is.
Result<size_t> find_end(std::span<const uint8_t> archive) {
    if (archive.size() < kEndBytes) return damaged();
    const size_t last = archive.size() - kEndBytes;
    for (size_t back = 0; back <= std::min(last, kMaxComment); ++back) {
        const size_t at = last - back;
        if (get<uint32_t>(archive, at) == kEndMark && get<uint16_t>(archive, at + 20) == back) return at;
    }
    return damaged();
}

// The bytes of an entry, which lie behind a header of their own.
Result<std::span<const uint8_t>> contents(std::span<const uint8_t> archive, uint64_t local, uint64_t size) {
    if (local + kLocalBytes > archive.size() || get<uint32_t>(archive, size_t(local)) != kLocalMark) return damaged();
    const uint64_t begin =
        local + kLocalBytes + get<uint16_t>(archive, size_t(local) + 26) + get<uint16_t>(archive, size_t(local) + 28);
    if (begin + size > archive.size()) return damaged();
    return archive.subspan(size_t(begin), size_t(size));
}

}  // namespace

uint32_t crc32(std::span<const uint8_t> bytes) {
    uint32_t crc = 0xFFFFFFFFu;
    for (const uint8_t byte : bytes) crc = kCrcTable[(crc ^ byte) & 0xFF] ^ crc >> 8;
    return ~crc;
}

Result<Bytes> write_zip(std::span<const ZipEntry> entries) {
    uint64_t total = kEndBytes;
    for (const ZipEntry& entry : entries)
        total += kLocalBytes + kCentralBytes + 2 * entry.name.size() + entry.bytes.size();
    if (total > UINT32_MAX || entries.size() > kMaxEntries) {
        return fail(Code::limit, "the archive would have {}; a zip file holds 4 GiB", format_bytes(total));
    }
    Out out;
    out.bytes.reserve(size_t(total));
    Out list;
    for (const ZipEntry& entry : entries) {
        const uint32_t crc = crc32(entry.bytes);
        list.put<uint32_t>(kCentralMark);
        list.put<uint16_t>(kVersion);
        put_common(list, entry, crc);
        list.put<uint16_t>(0);  // comment
        list.put<uint16_t>(0);  // disk
        list.put<uint16_t>(0);  // attributes, inside and outside
        list.put<uint32_t>(0);
        list.put<uint32_t>(uint32_t(out.bytes.size()));
        list.put_text(entry.name);
        out.put<uint32_t>(kLocalMark);
        put_common(out, entry, crc);
        out.put_text(entry.name);
        out.put_bytes(entry.bytes);
    }
    const auto list_at = uint32_t(out.bytes.size());
    out.put_bytes(list.bytes);
    out.put<uint32_t>(kEndMark);
    out.put<uint16_t>(0);  // this disk, and the one with the list
    out.put<uint16_t>(0);
    out.put<uint16_t>(uint16_t(entries.size()));
    out.put<uint16_t>(uint16_t(entries.size()));
    out.put<uint32_t>(uint32_t(list.bytes.size()));
    out.put<uint32_t>(list_at);
    out.put<uint16_t>(0);  // comment
    return std::move(out.bytes);
}

Result<std::vector<ZipEntry>> read_zip(std::span<const uint8_t> archive) {
    const size_t end = TRY(find_end(archive));
    const size_t count = get<uint16_t>(archive, end + 10);
    uint64_t at = get<uint32_t>(archive, end + 16);
    if (count > kMaxEntries) return fail(Code::limit, "the zip archive has {} entries", count);
    std::vector<ZipEntry> out;
    uint64_t total = 0;
    for (size_t i = 0; i < count; ++i) {
        if (at + kCentralBytes > end || get<uint32_t>(archive, size_t(at)) != kCentralMark) return damaged();
        const auto field = [&]<class T>(size_t offset, T) { return get<T>(archive, size_t(at) + offset); };
        const size_t name_bytes = field(28, uint16_t{});
        const uint64_t next = at + kCentralBytes + name_bytes + field(30, uint16_t{}) + field(32, uint16_t{});
        if (next > end) return damaged();
        ZipEntry entry;
        entry.name.assign(reinterpret_cast<const char*>(archive.data()) + at + kCentralBytes, name_bytes);
        const bool folder = entry.name.ends_with('/');
        if (!folder && (field(10, uint16_t{}) != 0 || (field(8, uint16_t{}) & kEncrypted) != 0)) {
            return fail(Code::unsupported,
                        "'{}' in the zip archive is compressed or encrypted: unpack the archive first",
                        printable(entry.name));
        }
        entry.bytes = TRY(contents(archive, field(42, uint32_t{}), folder ? 0 : field(24, uint32_t{})));
        // Entries that share bytes would make a small archive a large one.
        total += entry.bytes.size();
        if (total > archive.size()) return damaged();
        if (!folder && crc32(entry.bytes) != field(16, uint32_t{})) {
            return fail(Code::bad_file, "'{}' in the zip archive is damaged: its checksum is another one",
                        printable(entry.name));
        }
        if (!folder) out.push_back(std::move(entry));
        at = next;
    }
    return out;
}

}  // namespace lapidary::lora

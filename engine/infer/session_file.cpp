#include "infer/session_file.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/checksum.h"

namespace lapidary::infer {
namespace {

constexpr std::array<char, 8> kMagic = {'L', 'A', 'P', 'I', 'D', 'K', 'V', '\n'};
constexpr uint32_t kVersion = 1;

// Little-endian, as every machine WebAssembly runs on.
struct Header {
    std::array<char, 8> magic = kMagic;
    uint32_t version = kVersion;
    uint32_t tokens = 0;
    uint64_t fingerprint = 0;
    uint64_t state_bytes = 0;
    std::array<char, 24> layout = {};  // of the state, padded with zeros
    uint64_t checksum = 0;             // of everything above
};
static_assert(sizeof(Header) == 64);

std::array<char, 24> layout_of(Runner& runner) {
    std::array<char, 24> out = {};
    const std::string name = runner.state_layout();
    std::copy_n(name.begin(), std::min(name.size(), out.size() - 1), out.begin());
    return out;
}

Bytes to_bytes(const void* data, size_t size) {
    Bytes out(size);
    if (size > 0) std::memcpy(out.data(), data, size);
    return out;
}

uint64_t checksum_of(const Header& header) {
    Checksum sum;
    sum.add({reinterpret_cast<const uint8_t*>(&header), offsetof(Header, checksum)});
    return sum.value();
}

std::string layout_name(const Header& header) {
    return printable(std::string_view(header.layout.data(), strnlen(header.layout.data(), header.layout.size())));
}

Status check(const Header& header, Session& session, uint64_t file_bytes, uint64_t fingerprint) {
    if (header.magic != kMagic) return fail(Code::bad_file, "this is not a saved session");
    if (header.version != kVersion) {
        return fail(Code::unsupported, "the session was saved in version {} of the format; this is version {}",
                    header.version, kVersion);
    }
    if (header.checksum != checksum_of(header)) {
        return fail(Code::bad_file, "the saved session is damaged: its header is not what was written");
    }
    if (header.fingerprint != fingerprint) {
        return fail(Code::invalid_argument, "the session was saved with another model");
    }
    Runner& runner = session.runner();
    if (header.layout != layout_of(runner)) {
        return fail(Code::invalid_argument, "the session was saved with keys and values as '{}'; this one keeps '{}'",
                    layout_name(header), runner.state_layout());
    }
    if (header.tokens > runner.context()) {
        return fail(Code::limit, "the saved session has {} tokens and the context holds {}", header.tokens,
                    runner.context());
    }
    if (header.state_bytes != runner.state_bytes(header.tokens)) {
        return fail(Code::bad_file, "the saved session has {} bytes of memory where {} tokens have {}",
                    header.state_bytes, header.tokens, runner.state_bytes(header.tokens));
    }
    const uint64_t wanted = sizeof(Header) + uint64_t(header.tokens) * 4 + header.state_bytes + 8;
    if (file_bytes < wanted) {
        return fail(Code::truncated, "the saved session ends after {} of {} bytes", file_bytes, wanted);
    }
    if (file_bytes > wanted) return fail(Code::bad_file, "the saved session has more than its {} bytes", wanted);
    return {};
}

// Where we are in the source.
struct Reader {
    ByteSource& source;
    const SessionFile& file;
    uint64_t at = sizeof(Header);
    Checksum sum;

    Task<Result<Bytes>> next(uint64_t size) {
        // A backend that asks for more than there is would read the checksum as its state.
        if (size > source.size() - 8 - at) co_return fail(Code::truncated, "the saved session ends too early");
        Bytes bytes = CO_TRY(co_await source.read({at, size}, file.cancel));
        sum.add(bytes);
        at += size;
        if (file.progress) file.progress(at, source.size());
        co_return bytes;
    }
};

}  // namespace

Task<Result<uint64_t>> save_session(Session& session, ByteSink& sink, SessionFile file) {
    Runner& runner = session.runner();
    if (runner.position() > session.tokens().size()) {
        co_return fail(Code::invalid_argument, "the session holds what was only measured: there is nothing to save");
    }
    const auto tokens = session.tokens().first(runner.position());
    Header header{.tokens = uint32_t(tokens.size()),
                  .fingerprint = file.fingerprint,
                  .state_bytes = runner.state_bytes(uint32_t(tokens.size())),
                  .layout = layout_of(runner)};
    header.checksum = checksum_of(header);
    const uint64_t total = sizeof(Header) + tokens.size_bytes() + header.state_bytes + 8;
    uint64_t at = 0;
    Checksum sum;
    const auto put = [&](Bytes bytes) -> Task<Status> {
        sum.add(bytes);
        const uint64_t size = bytes.size();
        CO_TRY(co_await sink.write(at, std::move(bytes), file.cancel));
        at += size;
        if (file.progress) file.progress(at, total);
        co_return Status{};
    };
    CO_TRY(co_await put(to_bytes(&header, sizeof(header))));
    sum = {};
    CO_TRY(co_await put(to_bytes(tokens.data(), tokens.size_bytes())));
    CO_TRY(co_await runner.save_state(put));
    const uint64_t checksum = sum.value();
    CO_TRY(co_await put(to_bytes(&checksum, sizeof(checksum))));
    if (at != total) co_return fail(Code::internal, "{} bytes were saved instead of {}", at, total);
    co_return total;
}

Task<Status> restore_session(Session& session, ByteSource& source, SessionFile file) {
    if (source.size() < sizeof(Header) + 8) co_return fail(Code::bad_file, "this is not a saved session");
    Header header;
    const Bytes first = CO_TRY(co_await source.read({0, sizeof(Header)}, file.cancel));
    std::memcpy(&header, first.data(), sizeof(Header));
    CO_TRY(check(header, session, source.size(), file.fingerprint));

    Reader reader{.source = source, .file = file};
    const Bytes ids = CO_TRY(co_await reader.next(uint64_t(header.tokens) * 4));
    std::vector<int32_t> tokens(header.tokens);
    if (!tokens.empty()) std::memcpy(tokens.data(), ids.data(), ids.size());
    for (const int32_t token : tokens) {
        // Those below zero stand for soft tokens.
        if (token >= 0 && uint32_t(token) >= session.runner().vocabulary()) {
            co_return fail(Code::bad_file, "the saved session is damaged: it has a token {}", token);
        }
    }
    CO_TRY(co_await session.restore(std::move(tokens), [&](uint64_t size) { return reader.next(size); }));
    uint64_t checksum = 0;
    auto last = co_await source.read({source.size() - 8, 8}, file.cancel);
    if (last) std::memcpy(&checksum, last->data(), 8);
    if (!last || reader.at != source.size() - 8 || checksum != reader.sum.value()) {
        session.reset();
        if (!last) co_return std::unexpected(std::move(last).error());
        co_return fail(Code::bad_file, "the saved session is damaged: its bytes are not those that were written");
    }
    co_return Status{};
}

}  // namespace lapidary::infer

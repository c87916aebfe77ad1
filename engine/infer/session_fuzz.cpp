// Arbitrary bytes as a saved session of the smallest model in the repository, with and without the checksums set right
// that would keep most of them out.
#include <algorithm>
#include <cstring>

#include "base/checksum.h"
#include "gguf/file.h"
#include "infer/session_file.h"
#include "reference/forward.h"
#include "reference/weights.h"
#include "testing/fuzz.h"

namespace lapidary::infer {
namespace {

using testing::check;

constexpr uint32_t kContext = 12;
constexpr uint64_t kPrint = 77;
constexpr size_t kHeaderBytes = 64;

struct Model {
    std::shared_ptr<const model::Config> config;
    std::shared_ptr<const model::WeightTable> table;
    std::shared_ptr<const reference::Weights> weights;
};

const Model& small_model() {
    static const auto* made = [] {
        auto source =
            std::make_shared<MemorySource>(testing::repository_file("tests/data/fixtures/tiny-e2b-q4_0.gguf"));
        const auto file = *gguf::File::open({source}, {}).run_now();
        check(file.has_value());
        auto* out = new Model;
        out->config = std::make_shared<const model::Config>(*model::read_config(*file));
        const auto lookup = [&](std::string_view name) -> const gguf::TensorInfo* {
            const gguf::FileTensor* tensor = file->find(name);
            return tensor == nullptr ? nullptr : &tensor->info;
        };
        out->table = std::make_shared<const model::WeightTable>(*model::find_weights(*out->config, lookup));
        out->weights = **reference::Weights::load(*file, *out->table, nullptr, {}).run_now();
        return out;
    }();
    return *made;
}

class MemorySink final : public ByteSink {
  public:
    Bytes bytes;
    Task<Status> write(uint64_t offset, Bytes piece, Cancel /*cancel*/) override {
        check(offset == bytes.size());
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        co_return Status{};
    }
};

// What a saved session of `tokens` tokens begins with; its bytes up to the tokens are always the same.
Bytes good_header(uint32_t tokens, Runner& runner) {
    Bytes out(kHeaderBytes);
    const auto put = [&](size_t at, auto value) { std::memcpy(out.data() + at, &value, sizeof(value)); };
    std::memcpy(out.data(), "LAPIDKV\n", 8);
    put(8, uint32_t{1});
    put(12, tokens);
    put(16, kPrint);
    put(24, runner.state_bytes(tokens));
    const std::string layout = runner.state_layout();
    std::copy_n(layout.begin(), std::min<size_t>(layout.size(), 23), out.begin() + 32);
    return out;
}

void put_checksum(Bytes& bytes, size_t begin, size_t end) {
    Checksum sum;
    sum.add(std::span(bytes).subspan(begin, end - begin));
    const uint64_t value = sum.value();
    std::memcpy(bytes.data() + end, &value, sizeof(value));
}

// Whatever the bytes were: the session is as it was, or empty, or holds what they say and says the same again.
void fuzz(Bytes file) {
    const auto& [config, table, weights] = small_model();
    Session session(std::make_unique<reference::Forward>(config, table, weights, kContext), [] { return 0.0; });
    MemorySource source(file);
    const Status status = *restore_session(session, source, {.fingerprint = kPrint}).run_now();
    check(session.tokens().size() == session.runner().position());
    if (!status) {
        check(!status.error().message.empty() && session.tokens().empty());
        return;
    }
    check(session.tokens().size() <= kContext);
    for (const int32_t token : session.tokens()) check(token < 0 || uint32_t(token) < config->vocabulary);
    MemorySink sink;
    check((*save_session(session, sink, {.fingerprint = kPrint}).run_now()).has_value());
    check(sink.bytes == file);
}

// The first byte says what to set right: nothing; the header's checksum; or everything, after which the bytes are tokens
// and what is remembered of them.
void fuzz_input(uint8_t bits, std::span<const uint8_t> bytes) {
    Bytes file(bytes.begin(), bytes.end());
    if (bits % 4 == 1 && file.size() >= kHeaderBytes) {
        put_checksum(file, 0, kHeaderBytes - 8);
    } else if (bits % 4 >= 2) {
        const auto& [config, table, weights] = small_model();
        reference::Forward runner(config, table, weights, kContext);
        const uint32_t tokens = bits / 4 % (kContext + 2);
        file = good_header(tokens, runner);
        put_checksum(file, 0, kHeaderBytes - 8);
        const size_t end = kHeaderBytes + tokens * 4 + size_t(runner.state_bytes(tokens));
        file.resize(end + 8);
        for (size_t i = 0; i < bytes.size() && i < end - kHeaderBytes; ++i) file[kHeaderBytes + i] = bytes[i];
        put_checksum(file, kHeaderBytes, end);
        // One byte at the end may be too much or too little.
        if (bits % 4 == 3 && bytes.size() % 3 == 0) file.resize(file.size() - bytes.size() % 5);
    }
    fuzz(std::move(file));
}

}  // namespace
}  // namespace lapidary::infer

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size > 0) lapidary::infer::fuzz_input(data[0], {data + 1, size - 1});
    return 0;
}

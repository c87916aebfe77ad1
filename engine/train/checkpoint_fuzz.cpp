// Arbitrary bytes as the checkpoint of a training: whole files, and files that are put together, with the right checksum,
// from a description and numbers that need not fit each other.
#include <cmath>
#include <cstring>

#include "base/checksum.h"
#include "lora/safetensors.h"
#include "testing/fuzz.h"
#include "train/checkpoint.h"
#include "train/float_bytes.h"

namespace lapidary::train {
namespace {

using testing::check;

// What was read has numbers of the right size, and is the same when it is written and read again.
void fuzz_file(std::span<const uint8_t> file) {
    const auto read = read_checkpoint(file);
    if (!read) {
        check(!read.error().message.empty());
        return;
    }
    size_t numbers = 0;
    for (const lora::Update& update : read->adapter.updates) {
        check(update.rank <= lora::kMaxRank && std::isfinite(update.scale));
        check(update.a.size() == size_t{update.rank} * update.in &&
              update.b.size() == size_t{update.rank} * update.out);
        numbers += update.a.size() + update.b.size();
    }
    check(read->moments.first.size() == numbers && read->moments.second.size() == numbers);
    const Bytes again = write_checkpoint(*read);
    const auto copy = read_checkpoint(again);
    check(copy.has_value() && write_checkpoint(*copy) == again);
}

// A description, a zero, and numbers: those of the adapter and as many of each moment.
void fuzz_parts(uint8_t bits, std::string_view text) {
    const size_t end = std::min(text.find('\0'), text.size());
    const std::string_view description = text.substr(0, end);
    const std::string_view rest = text.substr(std::min(end + 1, text.size()));
    std::vector<float> values(rest.size() / 4);
    if (!values.empty()) std::memcpy(values.data(), rest.data(), values.size() * 4);
    // A few numbers go a long way.
    if ((bits & 1) != 0 && !values.empty()) values.resize(values.size() * 16, values.front());
    const size_t third = values.size() / 3;
    const std::span<const float> all(values);
    const auto parameters = all.first(third);
    const auto first = all.subspan(third, third);
    const auto second = all.subspan(2 * third, third);
    Checksum sum;
    sum.add(description);
    for (const auto part : {parameters, first, second}) sum.add(bytes_of(part));

    lora::SafeTensorsWriter writer;
    writer.set_metadata("kind", "lapidary training");
    writer.set_metadata("version", "1");
    writer.set_metadata("training", description);
    writer.set_metadata("checksum", format("{}", sum.value()));
    const uint64_t shape[] = {third};
    writer.add("parameters", shape, parameters);
    writer.add("first_moments", shape, first);
    writer.add("second_moments", shape, second);
    fuzz_file(writer.file());
}

}  // namespace
}  // namespace lapidary::train

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lapidary::train;
    if (size < 1) return 0;
    if (data[0] % 4 == 0) {
        fuzz_file({data + 1, size - 1});
    } else {
        fuzz_parts(data[0] / 4, {reinterpret_cast<const char*>(data) + 1, size - 1});
    }
    return 0;
}

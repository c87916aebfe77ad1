// session.save and session.restore: what a session remembers, in a file of the host's.
#include <algorithm>
#include <bit>

#include "api/api.h"
#include "api/messages/session.h"
#include "base/checksum.h"
#include "infer/session_file.h"

namespace lapidary::api {
namespace {

// What a session remembers was computed with its adapters: with others, or with none, it is of no use.
void add_adapters(Checksum& sum, std::span<const lora::Active> active) {
    for (const lora::Active& one : active) {
        sum.add(uint64_t{std::bit_cast<uint32_t>(one.scale)});
        for (const lora::Update& update : one.adapter->updates) {
            for (const uint32_t number :
                 {update.layer, uint32_t(update.target), update.rank, std::bit_cast<uint32_t>(update.scale)}) {
                sum.add(uint64_t{number});
            }
            for (const std::span<const float> values : {std::span(update.a), std::span(update.b)}) {
                sum.add({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()});
            }
        }
    }
}

// Tells models apart by their sizes, their table of tensors and a few of their weights: another training of the same
// model differs in nothing else.
Task<Result<uint64_t>> fingerprint(OpenModel& model, std::span<const lora::Active> adapters, Cancel cancel) {
    constexpr size_t kSamples = 8;
    constexpr uint64_t kSampleBytes = 4096;
    const auto config = CO_TRY(model.config());
    Checksum sum;
    for (const uint64_t number :
         {uint64_t{config->width}, uint64_t{config->vocabulary}, uint64_t{config->sliding_window},
          uint64_t{std::bit_cast<uint32_t>(config->norm_epsilon)},
          uint64_t{std::bit_cast<uint32_t>(config->rope_base_full)},
          uint64_t{std::bit_cast<uint32_t>(config->rope_base_sliding)}, uint64_t{config->experts.used}}) {
        sum.add(number);
    }
    const auto tensors = model.file.tensors();
    for (const gguf::FileTensor& tensor : tensors) {
        sum.add(tensor.info.name);
        sum.add(tensor.info.type->name);
        for (const uint64_t size : tensor.info.ne) sum.add(size);
    }
    const size_t step = std::max<size_t>(1, tensors.size() / kSamples);
    for (size_t i = 0; i < tensors.size(); i += step) {
        const uint64_t bytes = tensors[i].info.range.size;
        const uint64_t size = std::min(bytes, kSampleBytes);
        sum.add(CO_TRY(co_await model.file.read(tensors[i], (bytes - size) / 2, size, cancel)));
    }
    add_adapters(sum, adapters);
    co_return sum.value();
}

}  // namespace

Task<Result<Reply>> Api::session_save(Call& call) {
    SessionSaveArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    HostSink sink(ops_, args.sink);
    const uint64_t print = CO_TRY(co_await fingerprint(*open->model, open->session->adapters(), call.cancel));
    const uint64_t bytes =
        CO_TRY(co_await infer::save_session(*open->session, sink, {print, progress_of(call), call.cancel}));
    co_return reply(SessionSaveResult{.tokens = open->session->runner().position(), .bytes = int64_t(bytes)});
}

Task<Result<Reply>> Api::session_restore(Call& call) {
    SessionRestoreArgs args;
    CO_TRY(read_message(call.args, args));
    const auto open = CO_TRY(take_session(args.session));
    HostSource source(ops_, args.source.id, uint64_t(args.source.size));
    CO_TRY(co_await use_adapters(args.adapters, *open));
    const uint64_t print = CO_TRY(co_await fingerprint(*open->model, open->session->adapters(), call.cancel));
    CO_TRY(co_await infer::restore_session(*open->session, source, {print, progress_of(call), call.cancel}));
    co_return reply(SessionRestoreResult{.tokens = int64_t(open->session->tokens().size())});
}

}  // namespace lapidary::api

// A session as bytes: the tokens it holds and what its runner remembers of them, for going on another day without
// reading everything again.
//
//   header (64 bytes) | token ids, int32 | the runner's state | checksum of tokens and state, 8 bytes
#pragma once

#include <functional>

#include "base/byte_source.h"
#include "infer/session.h"

namespace lapidary::infer {

struct SessionFile {
    // Of the model; a session is of no use to another one.
    uint64_t fingerprint = 0;
    // Bytes done and in all; may be empty.
    std::function<void(uint64_t done, uint64_t total)> progress;
    Cancel cancel;
};

// The bytes written.
Task<Result<uint64_t>> save_session(Session& session, ByteSink& sink, SessionFile file);

// What the session held before is forgotten once the header has turned out to be right; bytes that turn out to be
// damaged after that leave it empty.
Task<Status> restore_session(Session& session, ByteSource& source, SessionFile file);

}  // namespace lapidary::infer

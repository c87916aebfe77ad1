// Arbitrary bytes through the reader and the writer of GGUF headers:
//   build/asan/engine/gguf_fuzz -max_len=4096 -malloc_limit_mb=64 NEW_FINDINGS tests/data/fuzz/gguf
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "testing/gguf_invariants.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string broken = lapidary::testing::broken_gguf_promise({data, size});
    if (!broken.empty()) {
        std::fprintf(stderr, "%s\n", broken.c_str());
        std::abort();
    }
    return 0;
}

// Errors are values: a code for programs and a sentence for people. Nothing in the engine throws or aborts.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include "base/format.h"

namespace lapidary {

enum class Code : uint8_t {
    invalid_argument,  // the caller asked for something that makes no sense
    not_found,         // a named thing does not exist
    io,                // reading or writing failed outside the engine
    truncated,         // the file ends before what it promises
    bad_file,          // the bytes are not what they claim to be
    unsupported,       // valid, but not something this engine runs
    missing_tensor,    // a weight the model needs is not in the file
    bad_shape,         // a weight has another shape than the metadata implies
    limit,             // larger than the engine is willing to handle
    out_of_memory,     // would not fit
    cancelled,         // the caller changed its mind
    needs_everything,  // for the other edition of the engine (base/edition.h)
    internal,          // our fault
};

// The stable spelling that crosses the C ABI: "invalid_argument", "not_found", …
std::string_view code_name(Code code);

struct Error {
    Code code = Code::internal;
    std::string message;
};

template <class T>
using Result = std::expected<T, Error>;
using Status = Result<void>;

// An error on its way up, new or passed on. It becomes whatever Result the function returns. Thousands of places return
// one, so the conversion is a function that they call: inlined, it made up a twentieth of the WebAssembly.
struct Failed {
    Error error;
    template <class T>
    // NOLINTNEXTLINE(google-explicit-constructor): `return fail(…)` is the point
    [[gnu::noinline, gnu::cold]] operator std::expected<T, Error>() && {
        return std::expected<T, Error>(std::unexpect, std::move(error));
    }
    // NOLINTNEXTLINE(google-explicit-constructor): for functions that only ever fail
    operator std::unexpected<Error>() && { return std::unexpected(std::move(error)); }
};
struct Passed {
    Error& error;
    template <class T>
    // NOLINTNEXTLINE(google-explicit-constructor): as above
    [[gnu::noinline, gnu::cold]] operator std::expected<T, Error>() && {
        return std::expected<T, Error>(std::unexpect, std::move(error));
    }
};

// For TRY: an error of a temporary or local Result is moved, a const one is copied.
inline Passed passed(Error& error) {
    return {error};
}
inline Failed passed(const Error& error) {
    return {error};
}

// return fail(Code::bad_file, "the file has no tensor '{}'", name);
template <class... Args>
[[gnu::noinline, gnu::cold]] Failed fail(Code code, FormatPattern<std::type_identity_t<Args>...> pattern,
                                         const Args&... args) {
    return {{code, format<Args...>(pattern, args...)}};
}

}  // namespace lapidary

// auto header = TRY(parse(bytes));   — the value, or return the error to our caller.
// CO_TRY is the same inside a coroutine. Both are GNU statement expressions, which clang supports on every
// target we build for; they keep the happy path readable without exceptions.
#define LAPIDARY_TRY_IMPL(return_keyword, expression)                 \
    ({                                                                \
        auto&& lapidary_result = (expression);                        \
        if (!lapidary_result) [[unlikely]]                            \
            return_keyword lapidary::passed(lapidary_result.error()); \
        *std::move(lapidary_result);                                  \
    })
#define TRY(expression) LAPIDARY_TRY_IMPL(return, expression)
#define CO_TRY(expression) LAPIDARY_TRY_IMPL(co_return, expression)

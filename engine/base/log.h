// Logging goes through the host: the engine itself prints nothing.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/format.h"

namespace lapidary {

enum class LogLevel : uint8_t { debug, info, warning, error };

using LogSink = void (*)(LogLevel level, std::string_view message);

// Set once by the door to the host (api/). Until then messages are dropped.
void set_log_sink(LogSink sink);

void log_message(LogLevel level, std::string_view message);

template <class... Args>
void log(LogLevel level, FormatPattern<std::type_identity_t<Args>...> pattern, const Args&... args) {
    log_message(level, format<Args...>(pattern, args...));
}

}  // namespace lapidary

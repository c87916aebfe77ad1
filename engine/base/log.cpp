#include "base/log.h"

namespace lapidary {
namespace {
LogSink g_sink = nullptr;
}

void set_log_sink(LogSink sink) {
    g_sink = sink;
}

void log_message(LogLevel level, std::string_view message) {
    if (g_sink != nullptr) g_sink(level, message);
}

}  // namespace lapidary

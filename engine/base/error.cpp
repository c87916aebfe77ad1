#include "base/error.h"

namespace lapidary {

std::string_view code_name(Code code) {
    switch (code) {
        case Code::invalid_argument: return "invalid_argument";
        case Code::not_found: return "not_found";
        case Code::io: return "io";
        case Code::truncated: return "truncated";
        case Code::bad_file: return "bad_file";
        case Code::unsupported: return "unsupported";
        case Code::missing_tensor: return "missing_tensor";
        case Code::bad_shape: return "bad_shape";
        case Code::limit: return "limit";
        case Code::out_of_memory: return "out_of_memory";
        case Code::cancelled: return "cancelled";
        case Code::needs_everything: return "needs_everything";
        case Code::internal: return "internal";
    }
    return "internal";
}

}  // namespace lapidary

// Which methods a WebAssembly module has besides those of a conversation. One source file a module defines it.
#pragma once

#include "api/api.h"

namespace lapidary::api {

Api::Methods more_methods();

}  // namespace lapidary::api

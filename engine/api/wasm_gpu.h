// Module "gpu" of the imports, behind GpuHost. In the WebAssembly build only.
#pragma once

#include "api/gpu_host.h"

namespace lapidary::api {

GpuHost& wasm_gpu();

}  // namespace lapidary::api

// Module "cpu" of the imports, behind cpu::Machine. In the WebAssembly build only.
#pragma once

#include "cpu/machine.h"

namespace lapidary::api {

cpu::Machine& wasm_cpu();

}  // namespace lapidary::api

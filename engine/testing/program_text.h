// A recorded program as text: what two versions of the engine are compared by, and what a person reads to see how a token
// is computed.
//
//     program decode greedy: 65 dispatches
//       %8 matvec.q4_k [8 1 1] text=3b5fcb2c kAdd=1 kCols=256 …
//           w=blk.0.ffn_gate.weight+0:163840 x=%5.h:1024 norms=#66ac8b79:3072 h=→h, in turn+0:1024 …
//
// What a dispatch reads is named by where it comes from: the dispatch and the binding that wrote it in this program; the
// checksum of constants; or the buffer's label, for weights and for what was there before. So buffers may be renamed or
// shared, and a wrong one still shows.
#pragma once

#include <string>
#include <string_view>

#include "gpu/plan_device.h"

namespace lapidary::testing {

// Below the line with the program's name.
std::string program_text(const gpu::PlanDevice& device, gpu::Id program);

// The lower half of a checksum.
std::string hex(uint64_t value);

// How a shader uses what it binds.
enum class BindingUse : uint8_t { read, write, update };
struct ShaderBinding {
    std::string name;
    BindingUse use = BindingUse::read;
};
// In the order of their numbers. A variable that is only ever assigned to is written; what is read first, or in part,
// updated.
std::vector<ShaderBinding> shader_bindings(std::string_view wgsl);

}  // namespace lapidary::testing

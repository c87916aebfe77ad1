// A recorded program as text: what two versions of the engine are compared by, and what a person reads to see how a token
// is computed.
//
//     program decode greedy: 65 dispatches
//       %8 gemv.q4_k [8 1 1] text=3b5fcb2c kAdd=1 kCols=256 …
//           w=blk.0.ffn_gate.weight+0:163840 x=%5.h:1024 norms=#66ac8b79:3072 h=→h, in turn+0:1024 …
//
// What a dispatch reads is named by where it comes from: the dispatch and the binding that wrote it in this program; the
// checksum of constants; or the buffer's label, for weights and for what was there before.
//
// The same again for tools (tools/programs/read.mjs), in lines that begin with "|": a JSON object each, one for a shader's
// text, a pipeline or a buffer where it is first met, and one for every dispatch.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/plan_device.h"

namespace lapidary::testing {

// How a shader uses what it binds.
enum class BindingUse : uint8_t { read, write, update };
struct ShaderBinding {
    std::string name;
    BindingUse use = BindingUse::read;
};
// In the order of their numbers. A variable that is only ever assigned to is written; what is read first, or in part,
// updated.
std::vector<ShaderBinding> shader_bindings(std::string_view wgsl);

// Without comments and spaces, and with numbers in place of all names that the text declares itself: two texts that
// differ in names and layout alone become the same.
std::string without_names(std::string_view wgsl);

// The lower half of a checksum.
std::string hex(uint64_t value);

// Prints the programs of one device. `canonical`: without the names that we give (of kernels, constants, bindings and
// buffers, weights excepted), so that renaming changes nothing.
class ProgramPrinter {
  public:
    ProgramPrinter(const gpu::PlanDevice& device, bool canonical) : device_(device), canonical_(canonical) {}

    // Below the line with the program's name.
    std::string text(gpu::Id program);

  private:
    struct Known {
        std::vector<ShaderBinding> bindings;
        std::string head;
    };
    const Known& known(gpu::Id pipeline);
    std::string for_tools(const gpu::Command& command);
    std::string buffer_name(gpu::Id buffer);
    [[nodiscard]] std::string binding_name(const Known& pipeline, size_t index) const;

    const gpu::PlanDevice& device_;
    bool canonical_;
    std::map<gpu::Id, Known> pipelines_;
    std::map<gpu::Id, size_t> buffers_;  // in the order in which they are first met
    std::set<uint64_t> told_texts_;      // and what tools have been told of, by checksum
    std::set<gpu::Id> told_;             // … pipelines and buffers
};

}  // namespace lapidary::testing

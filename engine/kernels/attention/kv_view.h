// What attention reads and writes: a layer's keys and values in their caches, the shape of its heads, and which keys a row sees.
#pragma once

#include "base/edition.h"
#include "kernels/dispatch.h"
#include "kernels/wgsl_modules.h"

namespace lapidary::kernels {

// Keys and values of a layer, or of the layer that it shares them with: position p of sequence s is in row
// s · ring + p mod ring.
struct KvView {
    gpu::Tensor k, v;
    uint32_t ring = 0;
    uint32_t sequences = 1;
};

struct HeadShape {
    uint32_t heads = 0;  // of queries
    uint32_t kv_heads = 0;
    uint32_t head_dim = 0;

    [[nodiscard]] uint32_t q_width() const { return heads * head_dim; }
    [[nodiscard]] uint32_t kv_width() const { return kv_heads * head_dim; }
};

// Which keys a row sees: all up to its own position, or the last `window` of them; of a canvas all of it too, and what its
// first row sees; or what a table says.
struct Visible {
    uint32_t window = 0;    // 0: all
    gpu::Tensor rows = {};  // [rows] of (position, first key, end of keys, sequence)
    bool canvas = false;
};

template <class K>
void fill_visible(Call<K>& d, const Visible& visible, const KvView& kv) {
    constexpr std::string_view kSlot = "visible";
    if (visible.rows) {
        d.template fill<wgsl::visible_rows>(kSlot, {.kSequences = kv.sequences});
        d.read(wgsl::visible_rows::Binding::rows, visible.rows);
    } else if (has_everything() && visible.canvas) {
        d.template fill<wgsl::visible_canvas>(kSlot, {.kWindow = visible.window});
    } else {
        d.template fill<wgsl::visible_causal>(kSlot, {.kWindow = visible.window});
    }
}

}  // namespace lapidary::kernels

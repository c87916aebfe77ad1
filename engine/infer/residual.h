// The residual stream: h, and what is still to be done to it. Layers say what is added; whoever reads the stream next does
// it on the way, because between two products of one token a dispatch would cost more than its work.
#pragma once

#include <utility>

#include "infer/ops.h"

namespace lapidary::infer {

class Residual {
  public:
    // h' = (h + rms(x; post)) · scale, or with a second branch (h + rms(rms(x; post_1) + rms(x2; post_2); post)) · scale.
    struct Pending {
        gpu::Tensor x = {}, x2 = {};  // empty: nothing is added
        Norm norms = {};              // post, then post_1 and post_2 where there is x2
        float scale = 1;

        [[nodiscard]] bool changes() const { return x.exists() || scale != 1; }
    };

    // twin: another buffer like h's; kernels whose workgroups all read h write h' there, and the two change places.
    explicit Residual(Ops& ops, gpu::Tensor h, gpu::Tensor twin = {}) : ops_(ops), h_(h), twin_(twin) {}

    // rms(h; norm), when somebody needs it.
    Activation normed(Norm norm) { return {.stream = this, .norm = std::move(norm)}; }
    // h itself.
    Activation plain() { return {.stream = this}; }
    // h += rms(x; post)
    void add(gpu::Tensor x, Norm post) {
        pending_.x = x;
        pending_.norms = std::move(post);
    }
    // h += rms(rms(a; post_a) + rms(b; post_b); post)
    void add(gpu::Tensor a, const Norm& post_a, gpu::Tensor b, const Norm& post_b, Norm post) {
        pending_.x = a;
        pending_.x2 = b;
        pending_.norms = std::move(post);
        pending_.norms.insert(pending_.norms.end(), post_a.begin(), post_a.end());
        pending_.norms.insert(pending_.norms.end(), post_b.begin(), post_b.end());
        if (ops_.adds_branches_at_once()) ops_.add_rms_norm(*this, {}, {});
    }
    void scale(float factor) { pending_.scale *= factor; }
    // What the activation stands for, by a dispatch of its own.
    gpu::Tensor make(const Activation& x, gpu::Tensor y = {}) { return ops_.add_rms_norm(*this, x.norm, y); }

    // h as it is; what is pending has not been added to it.
    [[nodiscard]] gpu::Tensor tensor() const { return h_; }

    // For those who do what is pending.
    [[nodiscard]] const Pending& pending() const { return pending_; }
    [[nodiscard]] gpu::Tensor twin() const { return twin_; }
    void done() { pending_ = {}; }
    // h' is in the twin now.
    void moved() {
        std::swap(h_, twin_);
        done();
    }
    // h' is there now, and h stays what it was.
    void moved_to(gpu::Tensor h) {
        h_ = h;
        done();
    }

  private:
    Ops& ops_;
    gpu::Tensor h_, twin_;
    Pending pending_;
};

}  // namespace lapidary::infer

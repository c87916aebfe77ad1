// What is done to rows of floats between products. An item is a row unless something else is said.
#include "cpu/kernels/digits.h"
#include "cpu/kernels/kernels.h"
#include "cpu/kernels/math.h"

namespace lapidary::cpu {
namespace {

constexpr float kHalfRoot = 0.70710678118654752f;

float rms_scale(const float* x, uint32_t n, float eps) {
    return 1.0f / __builtin_sqrtf(dot_floats(x, x, n) / float(n) + eps);
}

// y = x · scale · w
void scale_by(const float* x, const float* w, float scale, uint32_t n, float* y) {
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        const F4 v = load<F4>(x + i) * splat(scale);
        store(y + i, w == nullptr ? v : v * load<F4>(w + i));
    }
    for (; i < n; ++i) y[i] = x[i] * scale * (w == nullptr ? 1.0f : w[i]);
}

// f of all elements, four at a time; those at the end are filled up with zeros.
template <class F>
void map(const float* a, const float* b, float* y, uint32_t n, F&& f) {
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4) store(y + i, f(load<F4>(a + i), load<F4>(b + i)));
    if (i == n) return;
    float rest[2][4] = {};
    for (uint32_t k = i; k < n; ++k) rest[0][k - i] = a[k], rest[1][k - i] = b[k];
    const F4 out = f(load<F4>(rest[0]), load<F4>(rest[1]));
    for (uint32_t k = i; k < n; ++k) y[k] = out[k - i];
}

}  // namespace

void norm(const Memory& memory, const NormOp& op, Part part) {
    const float* post = memory.floats(op.post);
    const float* next = memory.floats(op.next);
    for (uint32_t t = part.first; t < part.end; ++t) {
        float* h = memory.row(op.h, t);
        if (op.x.at != 0) {
            float* x = memory.row(op.x, t);
            if (op.x2.at != 0) {
                float* x2 = memory.row(op.x2, t);
                scale_by(x, memory.floats(op.post_1), rms_scale(x, op.n, op.eps), op.n, x);
                scale_by(x2, memory.floats(op.post_2), rms_scale(x2, op.n, op.eps), op.n, x2);
                for (uint32_t i = 0; i < op.n; ++i) x[i] += x2[i];
            }
            const float scale = rms_scale(x, op.n, op.eps);
            for (uint32_t i = 0; i < op.n; ++i) {
                h[i] = (h[i] + x[i] * scale * (post == nullptr ? 1.0f : post[i])) * op.scale;
            }
        } else if (op.scale != 1) {
            scale_by(h, nullptr, op.scale, op.n, h);
        }
        if (op.y.at == 0) continue;
        float* y = memory.row(op.y, t);
        if (op.copies != 0) {
            __builtin_memcpy(y, h, 4 * size_t(op.n));
        } else {
            scale_by(h, next, rms_scale(h, op.n, op.eps), op.n, y);
            if (op.y_scale != 1) scale_by(y, nullptr, op.y_scale, op.n, y);
        }
    }
}

void digits(const Memory& memory, const DigitsOp& op, Part part) {
    with_digits(op.digits, [&]<class D>(D) {
        for (uint32_t t = part.first; t < part.end; ++t) {
            const float* x = memory.row(op.x, t);
            uint8_t* out = memory.at<uint8_t>(op.out) + size_t(t) * digit_row_bytes(op.digits, op.cols);
            for (uint32_t col = 0; col < op.cols; col += kBlock, out += D::kLayout.bytes) {
                const uint32_t n = op.cols - col < kBlock ? op.cols - col : kBlock;
                F4 most{};
                I4 all_numbers = ~I4{};
                for (uint32_t i = 0; i < n; i += 4) {
                    const auto v = load<F4>(x + col + i);
                    const F4 size = F4(I4(v) & 0x7FFFFFFF);
                    most = choose(size > most, size, most);
                    all_numbers &= size < splat(__builtin_inff());
                }
                float largest = 0;
                bool numbers = true;
                for (int i = 0; i < 4; ++i) {
                    largest = most[i] > largest ? most[i] : largest;
                    numbers = numbers && all_numbers[i] != 0;
                }
                // What is so small is nothing beside anything; and what is no number makes no number of the whole row.
                const bool nothing = !(largest > 1e-30f) || !numbers;
                const float inverse = nothing ? 0.0f : D::kLargest / largest;
                const float scale = numbers ? largest / D::kLargest : __builtin_nanf("");
                store(out + D::kLayout.scale, nothing && numbers ? 0.0f : scale);
                float before = 0;
                for (uint32_t sub = 0; sub < kBlock / 16; ++sub) {
                    int32_t sums[4] = {};
                    for (uint32_t quad = 4 * sub; quad < 4 * sub + 4; ++quad) {
                        I4 whole{};
                        if (4 * quad < n && numbers) {
                            const F4 v = load<F4>(x + col + 4 * quad) * splat(inverse);
                            whole = __builtin_convertvector(__builtin_elementwise_roundeven(v), I4);
                        }
                        D::put(out + quad * D::kQuadBytes, whole);
                        D::digit_sums(whole, sums);
                    }
                    const float sum = D::sum_value(sums);
                    store(out + D::kLayout.sums + 4 * sub, sum);
                    if (sub % 2 == 1) store(out + D::kLayout.pair_sums + 2 * (sub - 1), before + sum);
                    before = sum;
                    __builtin_memcpy(out + D::kLayout.digit_sums + 16 * sub, sums, 16);
                }
            }
        }
    });
}

void gelu_gate(const Memory& memory, const GeluGateOp& op, Part part) {
    for (uint32_t t = part.first; t < part.end; ++t) {
        map(memory.row(op.gate, t), memory.row(op.up, t), memory.row(op.y, t), op.cols,
            [](F4 gate, F4 up) { return gelu4(gate) * up; });
    }
}

void softcap(const Memory& memory, const SoftcapOp& op, Part part) {
    for (uint32_t t = part.first; t < part.end; ++t) {
        float* y = memory.row(op.y, t);
        map(y, y, y, op.cols, [&](F4 v, F4) { return splat(op.cap) * tanh4(v / splat(op.cap)); });
    }
}

void layer_inputs(const Memory& memory, const LayerInputsOp& op, Part part) {
    const float* weights = memory.floats(op.norm);
    for (uint32_t t = part.first; t < part.end; ++t) {
        for (uint32_t layer = 0; layer < op.layers; ++layer) {
            float* context = memory.row(op.context, t) + size_t(layer) * op.width;
            const float* token = memory.row(op.tokens, t) + size_t(layer) * op.width;
            float* y = memory.row(op.y, t) + size_t(layer) * op.width;
            scale_by(context, nullptr, op.scale, op.width, context);
            scale_by(context, weights, rms_scale(context, op.width, op.eps), op.width, context);
            for (uint32_t i = 0; i < op.width; ++i) y[i] = (context[i] + token[i]) * kHalfRoot;
        }
    }
}

void angles(const Memory& memory, const AnglesOp& op, const Step& step, Part part) {
    const auto* inverse = memory.at<const double>(op.inverse);
    for (uint32_t t = part.first; t < part.end; ++t) {
        auto* out = memory.at<Turn>(op.out) + size_t(t) * op.half;
        for (uint32_t i = 0; i < op.half; ++i) out[i] = turn_by(double(step.position + t) * inverse[i]);
    }
}

void add_column(const Memory& memory, const AddColumnOp& op, const Step& step, Part part) {
    const auto* a = memory.at<const float>(op.a);
    const auto* b = memory.at<const float>(op.b);
    for (uint32_t t = part.first; t < part.end; ++t) {
        float* y = memory.row(op.y, t);
        for (uint32_t o = 0; o < op.out; ++o) {
            float sum = 0;
            for (uint32_t r = 0; r < op.rank; ++r) sum += b[o * op.rank + r] * a[r * op.in + uint32_t(step.ids[t])];
            y[o] += op.scale * sum;
        }
    }
}

// The chosen ones in the order of their numbers; of equals the first.
void route(const Memory& memory, const RouteOp& op, Part part) {
    const float* scales = memory.floats(op.scales);
    for (uint32_t t = part.first; t < part.end; ++t) {
        float* p = memory.row(op.logits, t);
        auto* ids = memory.at<uint32_t>(op.ids) + size_t(t) * op.used;
        auto* weights = memory.at<float>(op.weights) + size_t(t) * op.used;
        float largest = p[0];
        for (uint32_t e = 1; e < op.experts; ++e) largest = p[e] > largest ? p[e] : largest;
        float total = 0;
        for (uint32_t e = 0; e < op.experts; ++e) total += p[e] = exp4(splat(p[e] - largest))[0];
        for (uint32_t e = 0; e < op.experts; ++e) p[e] /= total;
        float sum = 0;
        for (uint32_t s = 0; s < op.used; ++s) {
            uint32_t best = op.experts;
            for (uint32_t e = 0; e < op.experts; ++e) {
                bool taken = false;
                for (uint32_t other = 0; other < s; ++other) taken = taken || ids[other] == e;
                if (!taken && (best == op.experts || p[e] > p[best])) best = e;
            }
            ids[s] = best;
        }
        for (uint32_t s = 1; s < op.used; ++s) {
            for (uint32_t i = s; i > 0 && ids[i] < ids[i - 1]; --i) {
                const uint32_t id = ids[i];
                ids[i] = ids[i - 1];
                ids[i - 1] = id;
            }
        }
        for (uint32_t s = 0; s < op.used; ++s) sum += p[ids[s]];
        for (uint32_t s = 0; s < op.used; ++s) {
            weights[s] = p[ids[s]] / sum * (scales == nullptr ? 1.0f : scales[ids[s]]);
        }
    }
}

void combine(const Memory& memory, const CombineOp& op, Part part) {
    for (uint32_t t = part.first; t < part.end; ++t) {
        const auto* weights = memory.at<const float>(op.weights) + size_t(t) * op.used;
        float* y = memory.row(op.y, t);
        for (uint32_t i = 0; i < op.cols; ++i) y[i] = 0;
        for (uint32_t s = 0; s < op.used; ++s) {
            const float* x = memory.row(op.x, t * op.used + s);
            for (uint32_t i = 0; i < op.cols; ++i) y[i] += weights[s] * x[i];
        }
    }
}

}  // namespace lapidary::cpu

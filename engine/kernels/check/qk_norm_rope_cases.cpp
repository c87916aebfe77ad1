#include "kernels/check/norms.h"
#include "kernels/check/suites.h"
#include "kernels/train/qk_norm_rope.h"

namespace lapidary::kernels::check::qk_norm_rope_cases {
namespace {

struct Shape {
    uint32_t heads;
    uint32_t kv_heads;  // 0: the layer uses another one's keys and values
    uint32_t dim;
    uint32_t tokens;
    bool raw_keys = false;  // values are the keys before their norm
    bool norms_values = true;

    [[nodiscard]] uint32_t k_offset() const { return heads * dim; }
    [[nodiscard]] uint32_t v_offset() const { return (heads + (raw_keys ? 0 : kv_heads)) * dim; }
    [[nodiscard]] uint32_t stride() const { return v_offset() + kv_heads * dim; }
    [[nodiscard]] size_t kv_size() const { return std::max<size_t>(size_t{2} * tokens * kv_heads * dim, 4); }
};

// Positions that begin anew every seven tokens.
std::vector<uint32_t> position_ids_of(uint32_t tokens) {
    std::vector<uint32_t> out;
    for (uint32_t t = 0; t < tokens; ++t) out.insert(out.end(), {t % 7, t / 7 * 7});
    return out;
}

// Values as a layer keeps them: normed without weights, or as they are.
std::vector<double> kept_values(const Shape& s, std::span<const float> v) {
    return s.norms_values ? rms_norm(v, {}) : std::vector<double>(v.begin(), v.end());
}

struct Inputs {
    std::vector<float> norms, qkv;
    std::vector<uint32_t> position_ids;
};

Inputs inputs_of(const Shape& s, Random& random) {
    return {.norms = random.floats(size_t{2} * s.dim, 0.5f, 1.5f),
            .qkv = random.floats(size_t(s.tokens) * s.stride()),
            .position_ids = position_ids_of(s.tokens)};
}

// step, position_ids, norms, frequencies, qkv, q, kv
std::vector<Array> arrays_of(const Shape& s, Random& random) {
    const Inputs in = inputs_of(s, random);
    Array q = written(random, size_t(s.tokens) * s.heads * s.dim);
    Array kv = written(random, s.kv_size());
    for (uint32_t t = 0; t < s.tokens; ++t) {
        const auto head_at = [&](size_t offset, size_t head) {
            return std::span(in.qkv).subspan(size_t(t) * s.stride() + offset + head * s.dim, s.dim);
        };
        const auto put = [&](Array& out, size_t row, const std::vector<double>& values) {
            for (size_t i = 0; i < s.dim; ++i) out.expected[row * s.dim + i] = values[i];
        };
        for (uint32_t head = 0; head < s.heads; ++head) {
            std::vector<double> values = rms_norm(head_at(0, head), std::span(in.norms).first(s.dim));
            rope(values, in.position_ids[2 * t]);
            put(q, size_t(t) * s.heads + head, values);
        }
        for (uint32_t head = 0; head < s.kv_heads; ++head) {
            std::vector<double> values = rms_norm(head_at(s.k_offset(), head), std::span(in.norms).last(s.dim));
            rope(values, in.position_ids[2 * t]);
            put(kv, size_t{2} * t * s.kv_heads + head, values);
            put(kv, (size_t{2} * t + 1) * s.kv_heads + head, kept_values(s, head_at(s.v_offset(), head)));
        }
    }
    return {step(0, s.tokens), given(in.position_ids), given(in.norms), given(frequencies_of(s.dim)),
            given(in.qkv),     std::move(q),           std::move(kv)};
}

// step, position_ids, norms, frequencies, qkv, dq, dkv, dqkv
std::vector<Array> back_arrays_of(const Shape& s, Random& random) {
    const Inputs in = inputs_of(s, random);
    const std::vector<float> dq = random.floats(size_t(s.tokens) * s.heads * s.dim);
    const std::vector<float> dkv = random.floats(s.kv_size());
    Array dqkv = written(random, in.qkv.size());
    for (uint32_t t = 0; t < s.tokens; ++t) {
        for (uint32_t part = 0; part < s.heads + 2 * s.kv_heads; ++part) {
            const bool is_q = part < s.heads;
            const bool is_v = part >= s.heads + s.kv_heads;
            const size_t at = size_t(t) * s.stride() + (is_q   ? part * s.dim
                                                        : is_v ? s.v_offset() + (part - s.heads - s.kv_heads) * s.dim
                                                               : s.k_offset() + (part - s.heads) * s.dim);
            const size_t row = is_q ? size_t(t) * s.heads + part : size_t{2} * t * s.kv_heads + part - s.heads;
            const auto from = std::span(is_q ? dq : dkv).subspan(row * s.dim, s.dim);
            std::vector<double> dy(from.begin(), from.end());
            if (!is_v) rope_back(dy, in.position_ids[2 * t]);
            const auto norm = std::span(in.norms).subspan(is_q ? 0 : s.dim, s.dim);
            const bool kept = is_v && !s.norms_values;
            const std::vector<double> dx =
                kept ? dy
                     : rms_norm_back(std::span(in.qkv).subspan(at, s.dim), is_v ? std::span<const float>{} : norm, dy);
            for (size_t i = 0; i < s.dim; ++i) {
                double& out = dqkv.expected[at + i];
                out = (is_v && s.raw_keys ? out : 0) + dx[i];  // the key's was there before
            }
        }
    }
    return {step(0, s.tokens), given(in.position_ids),
            given(in.norms),   given(frequencies_of(s.dim)),
            given(in.qkv),     given(dq),
            given(dkv),        std::move(dqkv)};
}

QkNormRopeShape shape_of(const Shape& s) {
    return {.heads = {.heads = s.heads, .kv_heads = s.kv_heads, .head_dim = s.dim},
            .stride = s.stride(),
            .owns_kv = s.kv_heads > 0,
            .values_are_keys = s.raw_keys,
            .norms_values = s.norms_values,
            .rows = s.tokens + 1};
}

Launch forwards(const Shape& s) {
    return launch([s](Tensors t) {
        return QkNormRope{.shape = shape_of(s),
                          .position_ids = t[1],
                          .norms = t[2],
                          .frequencies = t[3],
                          .qkv = t[4],
                          .q = t[5],
                          .kv = t[6]};
    });
}

Launch back(const Shape& s) {
    return launch([s](Tensors t) {
        return QkNormRopeBackward{.shape = shape_of(s),
                                  .position_ids = t[1],
                                  .norms = t[2],
                                  .frequencies = t[3],
                                  .qkv = t[4],
                                  .dq = t[5],
                                  .dkv = t[6],
                                  .dqkv = t[7]};
    });
}

std::vector<Case> cases_of(Launch (*launch)(const Shape&), std::vector<Array> (*arrays)(const Shape&, Random&)) {
    std::vector<Case> out;
    for (const Shape& s : {Shape{.heads = 4, .kv_heads = 2, .dim = 256, .tokens = 15},
                           Shape{.heads = 2, .kv_heads = 2, .dim = 36, .tokens = 17, .raw_keys = true},
                           Shape{.heads = 4, .kv_heads = 1, .dim = 32, .tokens = 9, .norms_values = false},
                           Shape{.heads = 3, .kv_heads = 0, .dim = 512, .tokens = 2}}) {
        out.push_back({.shape = format("{}/{} heads of {}, {} tokens{}{}", s.heads, s.kv_heads, s.dim, s.tokens,
                                       s.raw_keys ? ", values from keys" : "", s.norms_values ? "" : ", raw values"),
                       .limit = 1e-5,
                       .launches = {launch(s)},
                       .arrays = [s, arrays](Random& random) { return arrays(s, random); }});
    }
    out.front().quick = true;
    return out;
}

}  // namespace

std::vector<Case> qk_norm_rope() {
    return cases_of(forwards, arrays_of);
}

std::vector<Case> qk_norm_rope_backward() {
    return cases_of(back, back_arrays_of);
}

}  // namespace lapidary::kernels::check::qk_norm_rope_cases

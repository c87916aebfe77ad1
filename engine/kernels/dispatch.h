// Dispatch: one kernel with its constants, what it binds, and its grid. Ops make them; a program records them.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "gpu/tensor.h"
#include "kernels/formats.h"
#include "kernels/link.h"
#include "kernels/target.h"

namespace lapidary::kernels {

struct Grid {
    uint32_t x = 1, y = 1, z = 1;
};

// How an op uses what it binds: it writes every element that counts, or reads some of them first, or writes a part.
enum class Use : uint8_t { none, read, write, update };

struct Dispatch {
    struct Bound {
        uint8_t number = 0;
        gpu::Access access = gpu::Access::read;
        gpu::Binding at = {};
        Use use = Use::none;              // none: this form of the kernel does not look at it, and nothing is bound
        std::vector<uint8_t> words = {};  // instead of a tensor: a few words for this dispatch alone
    };

    const Module* kernel = nullptr;
    Formats formats = Format::f32;
    std::vector<Slot> slots = {};  // that the op fills, beside those of formats and variant
    std::vector<gpu::Constant> constants = {};
    std::vector<Bound> bindings = {};  // all that the kernel has, by number
    Grid grid = {};
    std::string sizes = {};  // for profiles: what tells it from others of its kernel

    [[nodiscard]] std::string name() const;  // "gemv.q4_k"
    // With what of the variant decides the text: "gemv.q4_k subgroup limbs".
    [[nodiscard]] std::string label(Variant variant) const;
    // What tells its pipeline from others.
    [[nodiscard]] std::string key() const;
    // Of those bindings that are bound, what there is access for; and the numbers of the others.
    [[nodiscard]] std::vector<gpu::Access> accesses() const;
    [[nodiscard]] std::vector<uint8_t> unbound() const;

    // What Call does, for kernels and constants of any type: its templates are only names for these.
    void begin(const Module& module, Formats packed, const void* values);
    void add_constants(const Module& module, const void* values);
    void fill_slot(std::string_view slot, const Module& module, const void* values);
    void bind(uint8_t number, const gpu::Tensor& tensor, Use use);
    void bind_words(uint8_t number, std::span<const uint8_t> bytes);

  private:
    // Adds what a module declares.
    void declare(const Module& module);
    Bound& bound(uint8_t number);
};

// A dispatch of kernel K, whose bindings have names: Call<wgsl::softcap> d({.kCols = n}); d.update(B::y, y).workgroups(…).
template <class K>
class Call : public Dispatch {
  public:
    explicit Call(const typename K::Constants& values, Formats packed = Format::f32) {
        begin(K::module, packed, &values);
    }
    // Puts module M into a slot.
    template <class M>
    Call& fill(std::string_view slot) {
        fill_slot(slot, M::module, nullptr);
        return *this;
    }
    template <class M>
    Call& fill(std::string_view slot, const typename M::Constants& values) {
        fill_slot(slot, M::module, &values);
        return *this;
    }
    // The constants of a module that is there because of the formats.
    template <class M>
    Call& with(const typename M::Constants& values) {
        add_constants(M::module, &values);
        return *this;
    }
    // B: the kernel's bindings, or those of a module in a slot. What does not exist is not bound.
    template <class B>
    Call& read(B binding, const gpu::Tensor& tensor) {
        bind(uint8_t(binding), tensor, Use::read);
        return *this;
    }
    template <class B>
    Call& write(B binding, const gpu::Tensor& tensor) {
        bind(uint8_t(binding), tensor, Use::write);
        return *this;
    }
    template <class B>
    Call& update(B binding, const gpu::Tensor& tensor) {
        bind(uint8_t(binding), tensor, Use::update);
        return *this;
    }
    template <class B, class Words>
    Call& words(B binding, const Words& value) {
        bind_words(uint8_t(binding), {reinterpret_cast<const uint8_t*>(&value), sizeof(value)});
        return *this;
    }
    Call& workgroups(uint64_t x, uint64_t y = 1, uint64_t z = 1) {
        grid = {uint32_t(x), uint32_t(y), uint32_t(z)};
        return *this;
    }
    Call& labelled(std::string text) {
        sizes = std::move(text);
        return *this;
    }
};

}  // namespace lapidary::kernels

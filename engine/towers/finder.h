// Finds the weights of a tower by name, checks their shapes, and remembers which it found.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "gguf/file.h"
#include "towers/tables.h"

namespace lapidary::towers {

class Finder {
  public:
    explicit Finder(const gguf::File& file) : file_(file) {}

    // In file order: the contiguous dimension first.
    using Shape = std::initializer_list<uint64_t>;

    [[nodiscard]] const gguf::TensorInfo* look_up(const std::string& name) const;
    [[nodiscard]] bool exists(const std::string& name) const { return look_up(name) != nullptr; }

    // An empty weight when there is none of the name; an error when there is one of another shape.
    Result<Weight> optional(const std::string& name, Shape ne);
    Result<Weight> required(const std::string& name, Shape ne);
    // As a matrix with one row for each value of the last dimension.
    Result<Weight> kernel(const std::string& name, Shape ne);
    // `base` is the name without ".weight".
    Result<Linear> linear(const std::string& base, Shape ne);
    Result<Affine> affine(const std::string& base, Shape weight, Shape bias);

    // A dimension that nothing but the tensor itself says.
    [[nodiscard]] Result<uint32_t> dimension(const std::string& name, size_t which, uint64_t most) const;

    [[nodiscard]] std::vector<Weight> take_all() { return std::move(all_); }

  private:
    Result<const gguf::TensorInfo*> checked(const std::string& name, Shape ne) const;

    const gguf::File& file_;
    std::vector<Weight> all_;
};

}  // namespace lapidary::towers

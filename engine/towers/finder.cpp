#include "towers/finder.h"

#include <algorithm>

namespace lapidary::towers {
namespace {

std::string dimensions_text(std::span<const uint64_t> ne) {
    std::string out = "[";
    for (size_t i = 0; i < ne.size(); ++i) out += (i > 0 ? ", " : "") + std::to_string(ne[i]);
    return out + "]";
}

}  // namespace

const gguf::TensorInfo* Finder::look_up(const std::string& name) const {
    const gguf::FileTensor* tensor = file_.find(name);
    return tensor == nullptr ? nullptr : &tensor->info;
}

// Null when there is none.
Result<const gguf::TensorInfo*> Finder::checked(const std::string& name, Shape ne) const {
    const gguf::TensorInfo* tensor = look_up(name);
    if (tensor == nullptr) return nullptr;
    std::array<uint64_t, gguf::kMaxDims> expected{1, 1, 1, 1};
    std::copy(ne.begin(), ne.end(), expected.begin());
    if (tensor->ne != expected) {
        return fail(Code::bad_shape, "tensor '{}' has shape {}; the rest of the tower asks for {}", name,
                    dimensions_text({tensor->ne.data(), std::max<size_t>(tensor->n_dims, 1)}),
                    dimensions_text({expected.data(), ne.size()}));
    }
    if (!tensor->type->decodable) {
        return fail(Code::unsupported, "tensor '{}' is stored as {}, which is not supported: try an F16 or Q8_0 file",
                    name, tensor->type->name);
    }
    return tensor;
}

Result<Weight> Finder::optional(const std::string& name, Shape ne) {
    const gguf::TensorInfo* tensor = TRY(checked(name, ne));
    if (tensor == nullptr) return Weight{};
    all_.push_back({.name = name,
                    .type = TensorType(tensor->type->id),
                    .cols = tensor->ne[0],
                    .rows = tensor->ne[1],
                    .slices = tensor->ne[2] * tensor->ne[3]});
    return all_.back();
}

Result<Weight> Finder::required(const std::string& name, Shape ne) {
    Weight weight = TRY(optional(name, ne));
    if (!weight.present()) return fail(Code::missing_tensor, "the file has no tensor '{}'", name);
    return weight;
}

Result<Weight> Finder::kernel(const std::string& name, Shape ne) {
    const Weight found = TRY(required(name, ne));
    const uint64_t rows = *(ne.end() - 1);
    all_.back() = {.name = name, .type = found.type, .cols = found.elements() / rows, .rows = rows};
    return all_.back();
}

Result<uint32_t> Finder::dimension(const std::string& name, size_t which, uint64_t most) const {
    const gguf::TensorInfo* tensor = look_up(name);
    if (tensor == nullptr) return fail(Code::missing_tensor, "the file has no tensor '{}'", name);
    if (tensor->ne[which] < 1 || tensor->ne[which] > most) {
        return fail(Code::bad_shape, "dimension {} of tensor '{}' is {}; between 1 and {} was expected", which, name,
                    tensor->ne[which], most);
    }
    return uint32_t(tensor->ne[which]);
}

Result<Linear> Finder::linear(const std::string& base, Shape ne) {
    Linear out{.weight = TRY(required(base + ".weight", ne)), .bounds = {}, .packed = {}};
    constexpr std::array kSuffixes = {".input_min", ".input_max", ".output_min", ".output_max"};
    for (size_t i = 0; i < kSuffixes.size(); ++i) out.bounds[i] = TRY(optional(base + kSuffixes[i], {1}));
    return out;
}

Result<Affine> Finder::affine(const std::string& base, Shape weight, Shape bias) {
    return Affine{.weight = TRY(required(base + ".weight", weight)), .bias = TRY(required(base + ".bias", bias))};
}

}  // namespace lapidary::towers

#include "base/edition.h"

namespace lapidary {

// Weak: the product's own one says no (api/wasm_product.cpp).
[[gnu::weak]] bool has_everything() {
    return true;
}

}  // namespace lapidary

// lapidary.wasm: what a conversation needs, and nothing more.
#include "api/wasm_methods.h"
#include "base/edition.h"

bool lapidary::has_everything() {
    return false;
}

lapidary::api::Api::Methods lapidary::api::more_methods() {
    return {};
}

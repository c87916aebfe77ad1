// lapidary.wasm: what a conversation needs, and nothing more.
#include "api/wasm_methods.h"

lapidary::api::Api::Methods lapidary::api::more_methods() {
    return {};
}

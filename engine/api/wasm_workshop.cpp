// lapidary-workshop.wasm: the same engine with everything there is.
#include "api/wasm_methods.h"

lapidary::api::Api::Methods lapidary::api::more_methods() {
    return Api::workshop_methods();
}

// Which edition of the engine this is. lapidary.wasm is downloaded by everybody who chats, so it has what a conversation with
// a text model of Gemma 4 needs. The other, lapidary-workshop.wasm, has everything, and so have tests and tools.
#pragma once

namespace lapidary {

// What stands behind `if (!has_everything()) return fail(Code::needs_everything, …)` is left out of lapidary.wasm by the
// linker. The host loads the other edition when it meets this code and asks again.
bool has_everything();

}  // namespace lapidary

// projector.* and media.*: from a picture or a sound to what a prompt can hold.
#include "api/api.h"
#include "api/messages/media.h"

namespace lapidary::api {
namespace {

std::unexpected<Error> not_yet() {
    return fail(Code::unsupported, "this engine cannot see or hear yet");
}

}  // namespace

Task<Result<Reply>> Api::projector_open(Call& call) {
    ProjectorOpenArgs args;
    CO_TRY(read_message(call.args, args));
    co_return not_yet();
}
Task<Result<Reply>> Api::projector_close(Call& /*call*/) {
    co_return not_yet();
}
Task<Result<Reply>> Api::media_look(Call& /*call*/) {
    co_return not_yet();
}
Task<Result<Reply>> Api::media_image(Call& call) {
    MediaImageArgs args;
    CO_TRY(read_message(call.args, args));
    co_return not_yet();
}
Task<Result<Reply>> Api::media_sound(Call& call) {
    MediaSoundArgs args;
    CO_TRY(read_message(call.args, args));
    co_return not_yet();
}
Task<Result<Reply>> Api::media_frames(Call& call) {
    MediaFramesArgs args;
    CO_TRY(read_message(call.args, args));
    co_return not_yet();
}
Task<Result<Reply>> Api::media_prepared(Call& /*call*/) {
    co_return not_yet();
}
Task<Result<Reply>> Api::media_encode(Call& /*call*/) {
    co_return not_yet();
}
Task<Result<Reply>> Api::media_close(Call& /*call*/) {
    co_return not_yet();
}

}  // namespace lapidary::api

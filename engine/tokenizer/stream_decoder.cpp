#include "tokenizer/stream_decoder.h"

namespace lapidary::tokenizer {

std::string StreamDecoder::feed(int32_t id) {
    std::string piece;
    tokenizer_->append_piece(id, special_, piece);
    return characters_.feed(piece);
}

}  // namespace lapidary::tokenizer

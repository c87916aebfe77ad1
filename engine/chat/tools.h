// How functions are declared to the model, at the end of the system turn.
#pragma once

#include "chat/message.h"
#include "chat/pieces.h"

namespace lapidary::chat {

// <|tool>declaration:NAME{…}<tool|>
void write_tool(PieceWriter& out, const Tool& tool);

}  // namespace lapidary::chat

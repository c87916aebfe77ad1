#include "chat/markers.h"

#include <array>
#include <utility>

namespace lapidary::chat {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;
constexpr std::array<Pair, 9> kSame = {{{kTurnOpen, kGemma3TurnOpen},
                                        {kTurnClose, kGemma3TurnClose},
                                        {kToolOpen, "<start_function_declaration>"},
                                        {kToolClose, "<end_function_declaration>"},
                                        {kCallOpen, kFunctionCallOpen},
                                        {kCallClose, "<end_function_call>"},
                                        {kResponseOpen, "<start_function_response>"},
                                        {kResponseClose, "<end_function_response>"},
                                        {kQuote, "<escape>"}}};

}  // namespace

std::string_view as_gemma4_marker(std::string_view text) {
    for (const auto& [gemma4, other] : kSame) {
        if (text == other) return gemma4;
    }
    return text;
}

std::string_view as_function_marker(std::string_view text) {
    for (const auto& [gemma4, other] : kSame) {
        if (text == gemma4) return other;
    }
    return text;
}

}  // namespace lapidary::chat

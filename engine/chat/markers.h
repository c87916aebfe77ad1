// The texts of the single tokens that structure a conversation: those of Gemma 4, which everything here speaks of, and
// what other models write instead.
#pragma once

#include <string_view>

namespace lapidary::chat {

inline constexpr std::string_view kBos = "<bos>";
inline constexpr std::string_view kEos = "<eos>";
inline constexpr std::string_view kTurnOpen = "<|turn>";
inline constexpr std::string_view kTurnClose = "<turn|>";
inline constexpr std::string_view kThink = "<|think|>";
inline constexpr std::string_view kChannelOpen = "<|channel>";
inline constexpr std::string_view kChannelClose = "<channel|>";
inline constexpr std::string_view kToolOpen = "<|tool>";
inline constexpr std::string_view kToolClose = "<tool|>";
inline constexpr std::string_view kCallOpen = "<|tool_call>";
inline constexpr std::string_view kCallClose = "<tool_call|>";
inline constexpr std::string_view kResponseOpen = "<|tool_response>";
inline constexpr std::string_view kResponseClose = "<tool_response|>";
inline constexpr std::string_view kQuote = "<|\"|>";
inline constexpr std::string_view kImage = "<|image|>";
inline constexpr std::string_view kImageOpen = "<|image>";
inline constexpr std::string_view kImageClose = "<image|>";
inline constexpr std::string_view kAudioOpen = "<|audio>";
inline constexpr std::string_view kAudioClose = "<audio|>";
inline constexpr std::string_view kAudio = "<|audio|>";
inline constexpr std::string_view kVideo = "<|video|>";

// Of Gemma 3. A turn of FunctionGemma has the texts of Gemma 4 with other markers.
inline constexpr std::string_view kGemma3TurnOpen = "<start_of_turn>";
inline constexpr std::string_view kGemma3TurnClose = "<end_of_turn>";
inline constexpr std::string_view kGemma3Image = "<start_of_image>";
inline constexpr std::string_view kFunctionCallOpen = "<start_function_call>";

// The marker of Gemma 4 that means the same, or the text itself; and the other way.
std::string_view as_gemma4_marker(std::string_view text);
std::string_view as_function_marker(std::string_view text);

// What follows <|channel> when the model thinks.
inline constexpr std::string_view kThoughtName = "thought\n";

}  // namespace lapidary::chat

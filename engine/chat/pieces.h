// A prompt in pieces that remember who wrote them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lapidary::chat {

// A trusted piece was written by the template: "<|turn>" in it is the token. An untrusted piece came from outside
// (a person, a tool, a document): "<|turn>" in it is seven characters, and must be tokenized as such.
struct Piece {
    std::string text;
    bool trusted = false;
    bool operator==(const Piece&) const = default;
};

class PieceWriter {
  public:
    PieceWriter() = default;
    // Markers are written as `word` says.
    explicit PieceWriter(std::string_view (*word)(std::string_view)) : word_(word) {}

    void trusted(std::string_view text) { append(word(text), true); }
    void untrusted(std::string_view text) { append(text, false); }

    // A marker as it is written here.
    [[nodiscard]] std::string_view word(std::string_view marker) const { return word_ ? word_(marker) : marker; }
    // Bytes written so far.
    [[nodiscard]] size_t size() const { return size_; }
    // What was written so far. Neighbours always differ in trust.
    std::vector<Piece>& pieces() { return pieces_; }

  private:
    void append(std::string_view text, bool trusted) {
        if (text.empty()) return;
        if (pieces_.empty() || pieces_.back().trusted != trusted) pieces_.push_back({{}, trusted});
        pieces_.back().text += text;
        size_ += text.size();
    }
    std::string_view (*word_)(std::string_view) = nullptr;
    std::vector<Piece> pieces_;
    size_t size_ = 0;
};

}  // namespace lapidary::chat

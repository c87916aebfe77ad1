// format("{} of {}", a, b): the little of std::format that error sentences need.
//
// std::format is not used because it alone adds 139 KB (gzip) to the WebAssembly module and most of a
// second to the compilation of every file that includes it; this adds about one kilobyte.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace lapidary {

// One argument, its type erased so that the formatting code exists once.
class FormatArg {
  public:
    FormatArg(std::string_view text) : text_(text) {}
    FormatArg(const std::string& text) : text_(text) {}
    FormatArg(const char* text) : text_(text) {}
    FormatArg(bool value) : text_(value ? "true" : "false") {}
    template <std::signed_integral T>
    FormatArg(T value) : kind_(Kind::integer), integer_(value) {}
    template <std::unsigned_integral T>
        requires(!std::same_as<T, bool>)
    FormatArg(T value) : kind_(Kind::natural), natural_(value) {}
    template <std::floating_point T>
    FormatArg(T value) : kind_(Kind::real), real_(value) {}

    void append_to(std::string& out) const;

  private:
    enum class Kind : uint8_t { text, integer, natural, real };
    Kind kind_ = Kind::text;
    std::string_view text_;
    union {
        int64_t integer_ = 0;
        uint64_t natural_;
        double real_;
    };
};

// A pattern whose number of "{}" is checked against the arguments at compile time.
template <class... Args>
class FormatPattern {
  public:
    template <size_t N>
    consteval FormatPattern(const char (&text)[N]) : text_(text, N - 1) {
        size_t holes = 0;
        for (size_t i = 0; i + 1 < N - 1; ++i) holes += text[i] == '{' && text[i + 1] == '}' ? 1 : 0;
        if (holes != sizeof...(Args)) wrong_number_of_arguments();
    }
    [[nodiscard]] std::string_view text() const { return text_; }

  private:
    static void wrong_number_of_arguments() {}  // not constexpr: calling it is the compile error
    std::string_view text_;
};

std::string format_args(std::string_view pattern, const FormatArg* args);

template <class... Args>
std::string format(FormatPattern<std::type_identity_t<Args>...> pattern, const Args&... args) {
    const FormatArg list[] = {FormatArg(args)..., FormatArg("")};
    return format_args(pattern.text(), list);
}

// 1536 → "1.5 KiB". For sentences, not for machines.
std::string format_bytes(uint64_t bytes);

// Text that came from outside, made fit for a sentence: control characters and what is not UTF-8 become '?', and
// what is longer than `limit` bytes is cut (never in the middle of a character).
std::string printable(std::string_view untrusted, size_t limit = 80);

}  // namespace lapidary

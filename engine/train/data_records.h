// A file cut into records: lines, paragraphs, the items of a JSON list, the rows of a CSV table.
//
// Readers look at a text they do not own, never copy more than a record, and always get further: a damaged record is
// an error, and the next one begins behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace lapidary::train {

inline constexpr size_t kMaxRecordBytes = size_t{4} << 20;
inline constexpr size_t kMaxColumns = 256;

struct Record {
    uint64_t line = 1;  // where it begins
    std::string_view text;
};

// Lines that are not blank, without their ends. `with_breaks`: with their ends and the blank lines behind them, so that
// all of them together are the text.
class LineReader {
  public:
    explicit LineReader(std::string_view text, bool with_breaks = false) : rest_(text), with_breaks_(with_breaks) {}
    std::optional<Record> next();

  private:
    std::string_view take_line();

    std::string_view rest_;
    uint64_t line_ = 1;  // of what is left
    bool with_breaks_;
};

// What lies between blank lines.
class ParagraphReader {
  public:
    explicit ParagraphReader(std::string_view text) : text_(text), lines_(text, true) {}
    std::optional<Record> next();

  private:
    std::string_view text_;
    LineReader lines_;
};

// The items of a list: [ item, item, … ]
class ItemReader {
  public:
    explicit ItemReader(std::string_view text) : rest_(text) {}
    // An error is about the list, and the last thing that is said.
    std::optional<Result<Record>> next();
    // Where an error is.
    [[nodiscard]] uint64_t line() const { return line_; }

  private:
    void skip_blank();
    void take(size_t bytes);
    Result<Record> stop(std::string_view why);

    std::string_view rest_;
    uint64_t line_ = 1;
    enum class At : uint8_t { start, item, end } at_ = At::start;
};

struct CsvRow {
    uint64_t line = 1;
    std::vector<std::string> fields;
};

// RFC 4180: fields may be in quotes, and then hold separators, line breaks and doubled quotes. Blank lines are no rows.
class CsvReader {
  public:
    CsvReader(std::string_view text, char separator) : rest_(text), separator_(separator) {}
    std::optional<Result<CsvRow>> next();
    // Where the row that was read last begins, good or bad.
    [[nodiscard]] uint64_t line() const { return row_line_; }

  private:
    Result<std::string> field(std::string_view& rest) const;
    void take(size_t bytes);
    void skip_line();

    std::string_view rest_;
    char separator_;
    uint64_t line_ = 1;
    uint64_t row_line_ = 1;
};

}  // namespace lapidary::train

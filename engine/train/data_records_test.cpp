#include "train/data_records.h"

#include <gtest/gtest.h>

namespace lapidary::train {
namespace {

using Lines = std::vector<std::pair<uint64_t, std::string>>;

template <class Reader>
Lines all(Reader reader) {
    Lines out;
    while (const auto record = reader.next()) out.emplace_back(record->line, record->text);
    return out;
}

Lines items(std::string_view text) {
    Lines out;
    ItemReader reader(text);
    while (const auto record = reader.next()) {
        out.emplace_back(*record ? (*record)->line : reader.line(),
                         *record ? std::string((*record)->text) : "error: " + record->error().message);
    }
    return out;
}

// Fields are joined by '|'.
Lines rows(std::string_view text, char separator = ',') {
    Lines out;
    CsvReader reader(text, separator);
    while (const auto row = reader.next()) {
        std::string joined;
        if (*row) {
            for (const std::string& field : (*row)->fields) joined += field + '|';
        } else {
            joined = "error: " + row->error().message;
        }
        out.emplace_back(reader.line(), joined);
    }
    return out;
}

TEST(DataRecords, NumberLinesAsAnEditorDoes) {
    EXPECT_EQ(all(LineReader("a\n\n  \r\nb\r\nc")), (Lines{{1, "a"}, {4, "b"}, {5, "c"}}));
    EXPECT_EQ(all(LineReader("")), Lines{});
    EXPECT_EQ(all(LineReader("\n\n")), Lines{});
}

TEST(DataRecords, KeepEveryBreakWhenLinesMakeOneText) {
    EXPECT_EQ(all(LineReader("a\n\n\nb\nc", true)), (Lines{{1, "a\n\n\n"}, {4, "b\n"}, {5, "c"}}));
}

TEST(DataRecords, CutParagraphsAtBlankLines) {
    EXPECT_EQ(all(ParagraphReader("one\ntwo\n\n \n\nthree\r\n\r\nfour\n")),
              (Lines{{1, "one\ntwo"}, {6, "three"}, {8, "four"}}));
}

TEST(DataRecords, FindTheItemsOfAList) {
    EXPECT_EQ(items("\n[ {\"a\": \"],\\\"[\"},\n\n{\"b\": [1, {}]} , 3\n]\n"),
              (Lines{{2, "{\"a\": \"],\\\"[\"}"}, {4, "{\"b\": [1, {}]}"}, {4, "3"}}));
    EXPECT_EQ(items("[]"), Lines{});
}

TEST(DataRecords, SayWhereAListIsBroken) {
    EXPECT_EQ(
        items("[{},\n{\"a\": 1}"),
        (Lines{{1, "{}"}, {2, "error: the list is never closed: its ']' is missing, or a quote or brace before it"}}));
    EXPECT_EQ(items("[{}]\nmore"), (Lines{{1, "{}"}, {2, "error: something follows the end of the list"}}));
    EXPECT_EQ(items("{}"), (Lines{{1, "error: a JSON list begins with '['"}}));
}

TEST(DataRecords, ReadTablesWithQuotesAndBreaksInThem) {
    EXPECT_EQ(rows("a,b\r\n\"x\ny\",\"say \"\"hi\"\", or not\"\n\nlast,\n"),
              (Lines{{1, "a|b|"}, {2, "x\ny|say \"hi\", or not|"}, {5, "last||"}}));
    EXPECT_EQ(rows("a\tb\n\t\n", '\t'), (Lines{{1, "a|b|"}, {2, "||"}}));
    EXPECT_EQ(rows("\"a\",\"b\"\r\n\"c\",\"\""), (Lines{{1, "a|b|"}, {2, "c||"}}));
    EXPECT_EQ(rows("a,"), (Lines{{1, "a||"}}));
}

TEST(DataRecords, GoOnBehindABrokenRow) {
    EXPECT_EQ(rows("a,b\n\"x\"y,z\nc,d\n\"never,closed\ne,f\n"),
              (Lines{{1, "a|b|"},
                     {2, "error: something follows the end of a quoted field: a quote inside one is written twice"},
                     {3, "c|d|"},
                     {4, "error: a quoted field is never closed: its second '\"' is missing"},
                     {5, "e|f|"}}));
}

}  // namespace
}  // namespace lapidary::train

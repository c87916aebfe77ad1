#include "kernels/attention/visible_table.h"

#include <gtest/gtest.h>

namespace lapidary::kernels {
namespace {

// Two rows a workgroup.
constexpr VisibleReader kReader{.ring = 32, .sequences = 2, .queries = 4, .queries_per_key = 2};

std::string refusal_of(const std::vector<VisibleRow>& rows, const VisibleReader& reader = kReader) {
    const Status status = check_visible(rows, reader);
    return status ? "" : status.error().message;
}

TEST(VisibleTable, TakesTextsAndImages) {
    EXPECT_EQ(refusal_of({{7, 0, 8}, {8, 1, 9}, {9, 2, 10}}), "");
    EXPECT_EQ(refusal_of({{7, 0, 8}, {8, 8, 11}, {9, 8, 11}, {10, 8, 11}, {11, 9, 12}}), "") << "an image of three";
    EXPECT_EQ(refusal_of({{7, 0, 8, 1}, {8, 0, 9, 1}, {3, 0, 4, 0}, {4, 0, 5, 0}}), "") << "two texts";
    EXPECT_EQ(refusal_of({}), "");
}

TEST(VisibleTable, RefusesTwoSequencesInAWorkgroup) {
    EXPECT_EQ(refusal_of({{7, 0, 8, 1}, {3, 0, 4, 0}}), "rows 0 and 1 are of sequences 1 and 0, and of one workgroup");
    EXPECT_EQ(refusal_of({{7, 0, 8, 1}, {8, 0, 9, 1}, {9, 0, 10, 1}, {3, 0, 4, 0}}),
              "rows 2 and 3 are of sequences 1 and 0, and of one workgroup");
    // Three heads a key: eight queries are two rows and a part of the third, which the next workgroup takes as well.
    const VisibleReader odd{.ring = 32, .sequences = 2, .queries = 8, .queries_per_key = 3};
    EXPECT_NE(refusal_of({{7, 0, 8}, {8, 0, 9}, {0, 0, 1, 1}}, odd), "");
    std::vector<VisibleRow> eight;
    for (uint32_t i = 0; i < 8; ++i) eight.push_back({i, 0, i + 1});
    eight.push_back({0, 0, 1, 1});
    EXPECT_EQ(refusal_of(eight, odd), "") << "24 queries are three workgroups";
    // A row that has several workgroups to itself has no neighbours.
    EXPECT_EQ(
        refusal_of({{7, 0, 8, 1}, {3, 0, 4, 0}}, {.ring = 32, .sequences = 2, .queries = 4, .queries_per_key = 16}),
        "");
}

TEST(VisibleTable, RefusesAnEndThatGoesBackInAWorkgroup) {
    EXPECT_EQ(refusal_of({{8, 2, 10}, {9, 1, 10}}),
              "row 1 sees keys 1 to 10: an end goes back behind row 0, of the same workgroup");
    EXPECT_EQ(refusal_of({{8, 2, 10}, {9, 2, 9}}),
              "row 1 sees keys 2 to 9: an end goes back behind row 0, of the same workgroup");
    EXPECT_EQ(refusal_of({{7, 2, 8}, {8, 2, 10}, {9, 1, 9}}), "") << "of the next one";
}

TEST(VisibleTable, RefusesKeysThatAreNotThere) {
    EXPECT_EQ(refusal_of({{8, 3, 3}}), "row 0 sees no key");
    EXPECT_EQ(refusal_of({{8, 0, 10}}), "row 0 sees keys up to 10, and its sequence ends at 9");
    EXPECT_EQ(refusal_of({{8, 0, 9, 2}}), "row 0 is of sequence 2, and the cache has 2");
    EXPECT_EQ(refusal_of({{31, 0, 32}}), "");
    EXPECT_EQ(refusal_of({{31, 0, 32}, {32, 1, 33}}),
              "row 0 sees key 0, which is lost when key 32 is stored: the cache holds 32");
}

}  // namespace
}  // namespace lapidary::kernels

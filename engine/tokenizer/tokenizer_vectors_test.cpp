// Gemma 4's own vocabulary: what other implementations make of these texts.
#include <gtest/gtest.h>

#include <sstream>

#include "tokenizer/test_vocabulary.h"

namespace lapidary::tokenizer {
namespace {

std::vector<int32_t> numbers(const std::string& line) {
    std::istringstream stream(line);
    std::vector<int32_t> out;
    for (int32_t id = 0; stream >> id;) out.push_back(id);
    return out;
}

struct Vector {
    const char* text;
    const char* ids;
};

// Without a beginning token; special tokens count.
constexpr Vector kVectors[] = {
    {"hello", "23391"},
    {"hello world", "23391 1902"},
    {"Hello, World!", "9259 236764 4109 236888"},
    {" hello", "29104"},
    {"  hello", "138 23391"},
    {"hello  world", "23391 138 12392"},
    {"   ", "139"},
    {"      ", "142"},
    {"multiple    spaces", "43819 140 35220"},
    {"ąęśćżźółń", "237198 237202 14732 237277 238992 24875 238041"},
    {"Zażółć gęślą jaźń", "236953 40512 24875 237289 549 237202 62081 237198 4828 238992 238041"},
    {"café résumé naïve", "123125 236859 118515 120362"},
    {"L'élève a mangé", "236798 236789 161654 496 14695 236859"},
    {"über Straße Größe", "28223 80176 112880"},
    {"ąęćł", "237198 226110 237114"},
    {"ĀāĂăĄą", "241920 237448 241645 237106 243514 237198"},
    {"你好世界", "144626 12811"},
    {"こんにちは", "85141"},
    {"hello ąęść world café 你好", "23391 236743 237198 237202 14732 1902 33443 43758 237389"},
    {"\n\n", "108"},
    {"\t\t", "255969"},
    {"def foo(x): return x + 1", "2063 46293 236769 236781 1473 994 1123 900 236743 236770"},
    {"{\"key\": \"value\"}", "14937 2478 1083 623 2394 25938"},
    {"aaaaaa", "50354 9236"},
    {"hello 👋 world", "23391 155818 1902"},
    {"12345", "236770 236778 236800 236812 236810"},
    {"3.14159", "236800 236761 236770 236812 236770 236810 236819"},
    {"func main() { fmt.Println(\"hello\") }", "6823 1689 825 642 22766 236761 29006 885 23391 1373 682"},
    {"The answer is 42, not 43.5 or -1",
     "818 3890 563 236743 236812 236778 236764 711 236743 236812 236800 236761 236810 653 753 236770"},
    {"<|turn>user\nWhat is 2+2?<turn|>\n<|turn>model\n",
     "105 2364 107 3689 563 236743 236778 236862 236778 236881 106 107 105 4368 107"},
    {"<|tool>declaration:bash{description:<|\"|>Run a command<|\"|>}<tool|>",
     "46 163688 236787 42422 236782 7777 236787 52 7306 496 4991 52 236783 47"},
    {"<|tool_call>call:bash{command:<|\"|>ls -la<|\"|>}<tool_call|>",
     "48 6639 236787 42422 236782 7674 236787 52 5629 753 2149 52 236783 49"},
    {"<|channel>thought\nLet me think about this...<channel|>The answer is 42.",
     "100 45518 107 6481 786 1751 1003 672 1390 101 818 3890 563 236743 236812 236778 236761"},
    {"<|turn>system\nYou are a helpful assistant.\n<|tool>declaration:get_weather{description:<|\"|>Get "
     "weather<|\"|>,parameters:{properties:{city:{type:<|\"|>STRING<|\"|>}},type:<|\"|>OBJECT<|\"|>}}<tool|><turn|>\n<|"
     "turn>user\nWhat's the weather in Paris?<turn|>\n<|turn>model\n<|channel>thought\n<channel|>",
     "105 9731 107 3048 659 496 11045 16326 236761 107 46 163688 236787 828 236779 19323 236782 7777 236787 52 3407 "
     "7606 52 236764 19031 29616 15921 29616 13319 29616 2084 236787 52 35410 52 5237 2084 236787 52 60688 52 1807 47 "
     "106 107 105 2364 107 3689 236789 236751 506 7606 528 9079 236881 106 107 105 4368 107 100 45518 107 101"},
    {" this is 🦙.cpp", "672 563 236743 478 397 404 391 236761 12362"},
    {"<table>", "236820 5127 236813"},
    {"</s>", "954 236751 236813"},
    {"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n", "137 107"},
};

TEST(TokenizerVectors, EqualsTheTableOfTexts) {
    LAPIDARY_NEEDS_GEMMA();
    for (const Vector& vector : kVectors) {
        const auto ids = gemma()->tokenizer->encode(vector.text, {.add_bos = false});
        EXPECT_EQ(ids, numbers(vector.ids)) << vector.text;
        EXPECT_EQ(gemma()->tokenizer->decode(ids, true), vector.text);
    }
}

TEST(TokenizerVectors, EqualsThePublishedFile) {
    LAPIDARY_NEEDS_GEMMA();
    const auto inputs = lapidary::testing::read_text("tests/data/vocab/ggml-vocab-gemma-4.gguf.inp");
    const auto outputs = lapidary::testing::read_text("tests/data/vocab/ggml-vocab-gemma-4.gguf.out");
    ASSERT_TRUE(inputs && outputs);
    constexpr std::string_view kSeparator = "\n__ggml_vocab_test__\n";
    std::istringstream lines(*outputs);
    std::string line;
    size_t at = 0;
    int count = 0;
    while (at != std::string::npos) {
        const size_t end = inputs->find(kSeparator, at);
        const std::string text = inputs->substr(at, end - at);
        at = end == std::string::npos ? end : end + kSeparator.size();
        ASSERT_TRUE(std::getline(lines, line));
        const EncodeOptions plain{.add_bos = false, .parse_special = false};
        EXPECT_EQ(gemma()->tokenizer->encode(text, plain), numbers(line)) << text;
        ++count;
    }
    EXPECT_EQ(count, 46);
}

TEST(TokenizerVectors, KnowsWhichTokensEndAnAnswer) {
    LAPIDARY_NEEDS_GEMMA();
    const Tokenizer& tokenizer = *gemma()->tokenizer;
    EXPECT_EQ(tokenizer.ends_of_generation(), (std::vector<uint32_t>{1, 50, 106}));
    EXPECT_FALSE(tokenizer.is_end_of_generation(212));  // </s>, an HTML tag here
    EXPECT_EQ(tokenizer.bos(), 2);
    EXPECT_EQ(tokenizer.size(), 262144);
    EXPECT_EQ(tokenizer.text(212), "</s>");
}

// The browser tab has other uses for its memory: the header's 15 MiB and this.
TEST(TokenizerVectors, StaysSmall) {
    LAPIDARY_NEEDS_GEMMA();
    EXPECT_LT(gemma()->tokenizer->memory() + gemma()->header.bytes->size(), 45u << 20);
}

}  // namespace
}  // namespace lapidary::tokenizer

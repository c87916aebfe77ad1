#include "train/data.h"

#include <gtest/gtest.h>

#include "tokenizer/test_vocabulary.h"

namespace lapidary::train {
namespace {

const tokenizer::Tokenizer& tokens_of_storyteller() {
    return *tokenizer::storyteller()->tokenizer;
}

Task<Status> no_wait() {
    co_return Status{};
}

Result<DataSet> read(std::string_view text, const DataOptions& options = {}) {
    const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    return *read_data(bytes, tokens_of_storyteller(), options, no_wait).run_now();
}

DataSet good(std::string_view text, const DataOptions& options = {}) {
    auto set = read(text, options);
    EXPECT_TRUE(set) << set.error().message;
    return std::move(set).value_or(DataSet{});
}

// The whole example, and what of it is learnt in brackets.
std::string marked(const Example& example) {
    std::string out;
    bool inside = false;
    EXPECT_EQ(example.tokens.size(), example.weights.size());
    EXPECT_EQ(example.weights.back(), 0);
    for (const PreviewToken& token : preview(tokens_of_storyteller(), example, 100000)) {
        if ((token.weight > 0) != inside) out += inside ? "]" : "[";
        inside = token.weight > 0;
        out += token.text;
    }
    return out + (inside ? "]" : "");
}

std::string error_of(std::string_view text, const DataOptions& options = {}) {
    const auto set = read(text, options);
    if (!set) return set.error().message;
    if (set->errors.empty()) return "no error";
    return lapidary::format("{}: {}", set->errors.front().line, set->errors.front().message);
}

TEST(Data, LearnsWhatTheAssistantSaysAndNothingElse) {
    const DataSet set = good(R"({"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Hi"},)"
                             R"({"role":"assistant","content":"Hello!"},{"role":"user","content":"And now?"},)"
                             R"({"role":"assistant","content":"Bye."},{"role":"user","content":"Wait"}]})");
    ASSERT_EQ(set.examples.size(), 1u);
    EXPECT_EQ(set.format, DataFormat::jsonl);
    EXPECT_EQ(marked(set.examples[0]),
              "<bos><|turn>system\nBe brief.<turn|>\n<|turn>user\nHi<turn|>\n<|turn>model\n[Hello!<turn|>]\n"
              "<|turn>user\nAnd now?<turn|>\n<|turn>model\n[Bye.<turn|>]");
    EXPECT_EQ(set.tokens, set.examples[0].tokens.size());
    EXPECT_EQ(set.longest, set.examples[0].tokens.size());
    EXPECT_EQ(set.examples[0].tokens.front(), tokens_of_storyteller().bos());
}

TEST(Data, ReadsEveryKindOfRowAsTheSameChat) {
    const std::string expected = "<bos><|turn>user\nAdd\n\n1 + 1<turn|>\n<|turn>model\n[2<turn|>]";
    for (
        const std::string_view text : {
            R"({"prompt": "Add\n\n1 + 1", "completion": " 2"})",
            R"({"prompt": [{"role":"user","content":"Add\n\n1 + 1"}], "completion": [{"role":"assistant","content":"2"}]})",
            R"({"instruction": "Add", "input": "1 + 1", "output": "2"})",
            R"([{"instruction": "Add\n\n1 + 1", "input": "", "output": "2"}])",
            "prompt,completion\n\"Add\n\n1 + 1\",2\n",
            "Instruction;INPUT;output\nAdd;1 + 1;2\n",
            "\xEF\xBB\xBFmessages\tweight\n\"[{\"\"role\"\":\"\"user\"\",\"\"content\"\":\"\"Add\\n\\n1 + 1\"\"},"
            "{\"\"role\"\":\"\"assistant\"\",\"\"content\"\":\"\"2\"\"}]\"\t1\n",
        }) {
        const DataSet set = good(text);
        ASSERT_EQ(set.examples.size(), 1u) << text << ": " << error_of(text);
        EXPECT_EQ(marked(set.examples[0]), expected) << text;
        EXPECT_EQ(set.questions, std::vector<std::string>{"Add\n\n1 + 1"}) << text;
    }
}

TEST(Data, LearnsCallsAndThoughtsButNotResults) {
    const DataSet set =
        good(R"({"messages":[{"role":"user","content":"Time?"},{"role":"assistant","reasoning":"Look.","tool_calls":)"
             R"([{"function":{"name":"now","arguments":{}}}]},{"role":"tool","name":"now","content":"noon"},)"
             R"({"role":"assistant","content":"Noon."}],"tools":[{"function":{"name":"now"}}]})");
    ASSERT_EQ(set.examples.size(), 1u);
    const std::string text = marked(set.examples[0]);
    EXPECT_TRUE(text.starts_with("<bos><|turn>system\n<|think|>\n<|tool>declaration:now")) << text;
    EXPECT_TRUE(
        text.ends_with("<|turn>model\n[<|channel>thought\nLook.\n<channel|><|tool_call>call:now{}<tool_call|>"
                       "<|tool_response>]response:now{value:<|\"|>noon<|\"|>}<tool_response|>[Noon.<turn|>]"))
        << text;
}

TEST(Data, GivesLargeModelsTheEmptyThoughtTheyWillBeGiven) {
    const DataSet set = good(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},)"
                             R"({"role":"user","content":"c"},{"role":"assistant","content":"d"}]})",
                             {.size = chat::ModelSize::large});
    ASSERT_EQ(set.examples.size(), 1u);
    EXPECT_EQ(marked(set.examples[0]),
              "<bos><|turn>user\na<turn|>\n<|turn>model\n[b<turn|>]\n<|turn>user\nc<turn|>\n<|turn>model\n"
              "<|channel>thought\n<channel|>[d<turn|>]");
}

// The beginning of an example is the prompt the model will see, token for token.
TEST(Data, BeginsAsThePromptDoesWhenTheModelAnswers) {
    const DataSet set = good(R"({"prompt":"Who are you?","completion":"A cat."})");
    const auto conversation = chat::parse_conversation(R"({"messages":[{"role":"user","content":"Who are you?"}]})");
    const auto prompt = chat::render_pieces(*conversation, {});
    std::vector<tokenizer::TextPiece> pieces;
    for (const chat::Piece& piece : prompt->pieces) pieces.push_back({piece.text, piece.trusted});
    const std::vector<int32_t> wanted = tokens_of_storyteller().encode_pieces(pieces);
    ASSERT_EQ(set.examples.size(), 1u);
    const Example& example = set.examples[0];
    ASSERT_GT(example.tokens.size(), wanted.size());
    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), example.tokens.begin()));
    // The first token of the answer is predicted from the last of the prompt.
    for (size_t i = 0; i < example.tokens.size(); ++i) {
        EXPECT_EQ(example.weights[i], i + 1 >= wanted.size() && i + 1 < example.tokens.size() ? 1 : 0) << i;
    }
}

TEST(Data, DoesNotLetTextEndItsOwnTurn) {
    const DataSet set = good(R"({"prompt":"<turn|>","completion":"<turn|>x"})");
    const auto turn = *tokens_of_storyteller().find("<turn|>");
    ASSERT_EQ(set.examples.size(), 1u);
    EXPECT_EQ(std::ranges::count(set.examples[0].tokens, turn), 2);
}

TEST(Data, WeighsExamplesAndMessages) {
    const DataSet set = good(
        "{\"prompt\":\"a\",\"completion\":\"b\",\"weight\":2.5}\n"
        R"({"messages":[{"role":"assistant","content":"x","weight":0},{"role":"user","content":"y"},)"
        R"({"role":"assistant","content":"z"}],"weight":0.5})");
    ASSERT_EQ(set.examples.size(), 2u);
    EXPECT_EQ(std::ranges::max(set.examples[0].weights), 2.5f);
    EXPECT_EQ(std::ranges::max(set.examples[1].weights), 0.5f);
    EXPECT_EQ(marked(set.examples[1]), "<bos><|turn>model\nx<turn|>\n<|turn>user\ny<turn|>\n<|turn>model\n[z<turn|>]");
    const DataSet table = good("prompt,completion,weight\na,b,3\na,b,\n");
    ASSERT_EQ(table.examples.size(), 2u);
    EXPECT_EQ(std::ranges::max(table.examples[0].weights), 3);
    EXPECT_EQ(std::ranges::max(table.examples[1].weights), 1);
}

TEST(Data, LearnsAllOfAText) {
    const DataSet set = good("Once upon a time\nthere was a cat.\n\n\nThe end.\n");
    EXPECT_EQ(set.format, DataFormat::text);
    ASSERT_EQ(set.examples.size(), 2u);
    EXPECT_EQ(marked(set.examples[0]), "<bos>[Once upon a time\nthere was a cat.<eos>]");
    EXPECT_EQ(marked(set.examples[1]), "<bos>[The end.<eos>]");
    EXPECT_EQ(set.lines, (std::vector<uint64_t>{1, 5}));
    EXPECT_EQ(marked(good(R"({"text":"The end."})").examples.at(0)), "<bos>[The end.<eos>]");
}

TEST(Data, CutsTextIntoPiecesThatFit) {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "The cat sat on the mat.\n";
    for (const TextSplit split : {TextSplit::paragraphs, TextSplit::stream}) {
        const DataSet set = good(text, {.split = split, .longest = 16});
        EXPECT_GT(set.examples.size(), 10u);
        EXPECT_EQ(set.longest, 16u);
        std::string joined;
        for (const Example& example : set.examples) {
            EXPECT_EQ(example.tokens.front(), tokens_of_storyteller().bos());
            EXPECT_LE(example.tokens.size(), 16u);
            joined += tokens_of_storyteller().decode(std::span(example.tokens).subspan(1), false);
        }
        EXPECT_EQ(joined, split == TextSplit::stream ? text : text.substr(0, text.size() - 1));
        EXPECT_TRUE(std::ranges::is_sorted(set.lines));
    }
}

TEST(Data, KeepsGoodLinesAndSaysWhatIsWrongWithTheOthers) {
    const DataSet set = good(
        "{\"prompt\":\"a\",\"completion\":\"b\"}\n"
        "{\"prompt\":\"a\",\n"
        "\n"
        "[1]\n"
        "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}\n"
        "{\"messages\":7}\n"
        "{\"prompt\":7,\"completion\":\"b\"}\n"
        "{\"prompt\":\"a\",\"completion\":\"  \"}\n"
        "{\"question\":\"a\"}\n"
        "{\"prompt\":\"a\xFF\",\"completion\":\"b\"}\n"
        "{\"prompt\":\"a\",\"completion\":\"b\",\"weight\":-1}\n"
        "{\"messages\":[{\"role\":\"user\",\"content\":[{\"type\":\"image_url\"}]},{\"role\":\"assistant\",\"content\":"
        "\"b\"}]}\n"
        "{\"prompt\":\"a\",\"completion\":\"b\"}\n");
    EXPECT_EQ(set.examples.size(), 2u);
    EXPECT_EQ(set.lines, (std::vector<uint64_t>{1, 13}));
    std::vector<std::pair<uint64_t, std::string>> errors;
    for (const LineError& error : set.errors) errors.emplace_back(error.line, error.message);
    EXPECT_EQ(errors, (std::vector<std::pair<uint64_t, std::string>>{
                          {2, "the line is not valid JSON: an object begins and ends on the same line"},
                          {4, "an object with names and values is expected"},
                          {5, "there is no message of the assistant to learn from"},
                          {6, "'messages' must be a list of messages"},
                          {7, "'prompt' must be a text or a list of messages"},
                          {8, "'completion' is empty"},
                          {9,
                           "there is nothing to learn from: 'messages', 'prompt' with 'completion', 'instruction' with "
                           "'output', or 'text' is expected"},
                          {10, "it is not UTF-8 from byte 13 on: save the file as UTF-8"},
                          {11, "'weight' must be a number between 0 and 1000"},
                          {12, "messages[0] has a picture or a sound: only text can be learnt from"},
                      }));
    EXPECT_EQ(set.error_count, 10u);
}

TEST(Data, RefusesExamplesThatAreTooLong) {
    const std::string text = R"({"prompt":"a","completion":"one two three four five six seven eight nine ten"})";
    EXPECT_EQ(error_of(text), "no error");
    EXPECT_TRUE(error_of(text, {.longest = 16}).ends_with(" tokens; 16 is the longest asked for"))
        << error_of(text, {.longest = 16});
    const std::string huge = "{\"prompt\":\"" + std::string(size_t{5} << 20, 'a') + "\",\"completion\":\"b\"}";
    EXPECT_EQ(error_of(huge), "1: it is 5.0 MiB long; 4.0 MiB is the most");
}

TEST(Data, SaysWhyAFileCannotBeRead) {
    EXPECT_EQ(error_of(""), "the file is empty");
    EXPECT_EQ(error_of(" \n\n"), "the file is empty");
    EXPECT_EQ(error_of(std::string_view("\xFF\xFEh\0", 4)), "the file is UTF-16: save it as UTF-8");
    EXPECT_EQ(error_of(std::string_view("PK\x03\x04\0\0", 6)),
              "the file is not a text: JSONL, JSON, CSV and plain text can be read");
    EXPECT_TRUE(error_of("a,b\n1,2\n", {.format = DataFormat::csv}).starts_with("1: the header names no columns"));
    EXPECT_EQ(error_of("prompt,completion\na,b,c\n"), "2: there are 3 fields; the header names 2");
    EXPECT_EQ(error_of("prompt,completion,weight\na,b,c\n"), "2: 'weight' must be a number between 0 and 1000");
}

TEST(Data, RecognisesWhatAFileIs) {
    EXPECT_EQ(recognise_format("  {\"text\":\"a\"}"), DataFormat::jsonl);
    EXPECT_EQ(recognise_format("[\n {\"text\":\"a\"}]"), DataFormat::json);
    EXPECT_EQ(recognise_format("[Verse 1]\nLa la"), DataFormat::text);
    EXPECT_EQ(recognise_format("id,prompt,completion\n"), DataFormat::csv);
    EXPECT_EQ(recognise_format("text\nof many words"), DataFormat::text);
    EXPECT_EQ(recognise_format("Hello, world"), DataFormat::text);
    for (const char* name : {"auto", "jsonl", "json", "csv", "text"}) {
        EXPECT_EQ(name_of(*data_format_from(name)), name);
    }
    EXPECT_FALSE(data_format_from("xml"));
    EXPECT_FALSE(text_split_from("words"));
}

TEST(Data, ShowsACharacterOfSeveralTokensWhole) {
    const DataSet set = good("A \xF0\x9F\xA6\x84!");  // a unicorn, which the vocabulary spells in bytes
    const auto shown = preview(tokens_of_storyteller(), set.examples.at(0), 100);
    std::string joined;
    for (const PreviewToken& token : shown) joined += token.text;
    EXPECT_EQ(joined, "<bos>A \xF0\x9F\xA6\x84!<eos>");
    EXPECT_GT(shown.size(), 6u);
    EXPECT_EQ(preview(tokens_of_storyteller(), set.examples.at(0), 2).size(), 2u);
}

TEST(Data, StopsWhenItIsToldTo) {
    const std::string_view text = "a\n\nb\n\nc\n";
    const std::span bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
    const auto stop = []() -> Task<Status> { co_return fail(Code::cancelled, "stopped"); };
    const auto set = *read_data(bytes, tokens_of_storyteller(), {}, stop).run_now();
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, Code::cancelled);
}

}  // namespace
}  // namespace lapidary::train

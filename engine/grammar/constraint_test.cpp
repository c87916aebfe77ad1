#include "grammar/constraint.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "grammar/schema.h"
#include "grammar/test_validator.h"
#include "sample/random.h"
#include "tokenizer/test_vocabulary.h"

namespace lapidary::grammar {
namespace {

using tokenizer::gemma;
using tokenizer::gemma3;
using tokenizer::TestVocabulary;

// A few hundred tokens with every kind of border inside them.
std::shared_ptr<const TokenTexts> small_texts() {
    static const auto texts = [] {
        TestVocabulary vocabulary;
        for (const char* text :
             {"{\"",  "\":",   "\":▁", "\":▁\"", "\",",      "\",▁\"", "\"}",   "}}",   "}]",    "},",
              "],",   "{}",    "[]",   "[[",     "▁▁",       "▁▁▁▁",   "\n",    "\n▁▁", ",▁",    ",\n",
              "true", "false", "null", "name",   "\"name\"", "value",  "next",  "é",    "😀é",   "ab\"",
              "\\n",  "\\u00", "\\\"", "\\",     "0",        "1",      "2",     "9",    "12",    "-",
              ".5",   "e+",    "0.",   "kind",   "children", "[{",     "\"a\"", "\"b",  "2024-", "}",
              "{",    "]",     "[",    ",",      ":",        "\"",     "a\\"}) {
            vocabulary.add(text);
        }
        return std::make_shared<const TokenTexts>(*vocabulary.create());
    }();
    return texts;
}

bool has(std::span<const uint32_t> mask, int32_t token) {
    return (mask[size_t(token) / 32] >> (uint32_t(token) % 32) & 1) != 0;
}

std::vector<int32_t> members(std::span<const uint32_t> mask) {
    std::vector<int32_t> out;
    for (size_t i = 0; i < mask.size() * 32; ++i) {
        if (has(mask, int32_t(i))) out.push_back(int32_t(i));
    }
    return out;
}

class Dice {
  public:
    explicit Dice(uint32_t seed) : seed_(seed) {}
    uint32_t below(size_t n) { return uint32_t(double(sample::uniform(seed_, ++step_)) * double(n)); }
    bool one_in(uint32_t n) { return below(n) == 0; }

  private:
    uint32_t seed_;
    uint32_t step_ = 0;
};

struct Written {
    std::string text;
    bool finished = false;
};

// Writes by chance. Half of the time it prefers tokens that close something, or nothing would ever end.
Written write(Constraint& constraint, Dice& dice, int steps) {
    constraint.restart();
    Written out;
    for (int step = 0; step < steps; ++step) {
        const auto allowed = members(constraint.allowed());
        if (allowed.empty()) {
            ADD_FAILURE() << "nothing can follow " << out.text;
            return out;
        }
        const auto ends = constraint.texts().ends();
        const bool may_end = std::ranges::find(allowed, ends[0]) != allowed.end();
        EXPECT_EQ(may_end, constraint.complete());
        if (may_end && dice.one_in(3)) {
            out.finished = true;
            return out;
        }
        std::vector<int32_t> closing;
        for (const int32_t token : allowed) {
            const std::string text = constraint.texts().text_of(token);
            if (text.find_first_of("\"}]") != std::string::npos) closing.push_back(token);
        }
        const auto& from = !closing.empty() && (step > steps / 4 || !dice.one_in(3)) ? closing : allowed;
        const int32_t token = from[dice.below(from.size())];
        if (std::ranges::find(ends, token) != ends.end()) {
            out.finished = true;
            return out;
        }
        EXPECT_TRUE(constraint.accept(token)) << out.text;
        out.text += constraint.texts().text_of(token);
    }
    return out;
}

// Every finished text must parse and be valid. Returns how many finished.
int check_many(const std::string& schema, int texts, uint32_t seed) {
    const auto program = compile_schema(Json::parse(schema, nullptr, false));
    EXPECT_TRUE(program) << schema << ": " << program.error().message;
    if (!program) return 0;
    const nlohmann::json root = nlohmann::json::parse(schema);
    Constraint constraint(*program, small_texts());
    Dice dice(seed);
    int finished = 0;
    for (int i = 0; i < texts; ++i) {
        const Written written = write(constraint, dice, 160);
        if (!written.finished) continue;
        ++finished;
        const auto value = nlohmann::json::parse(written.text, nullptr, false);
        EXPECT_FALSE(value.is_discarded()) << written.text;
        if (value.is_discarded()) return finished;
        EXPECT_TRUE(TestValidator(root).valid(value)) << written.text << "\n  for " << schema;
    }
    return finished;
}

TEST(Constraint, EveryFinishedTextIsValid) {
    const std::vector<std::string> schemas = {
        "{}",
        R"({"type":"object"})",
        R"({"type":"string"})",
        R"({"type":"string","minLength":2,"maxLength":5})",
        R"({"type":"integer","minimum":-12,"maximum":129})",
        R"({"type":"number","exclusiveMinimum":-0.5,"maximum":12.25})",
        R"({"type":"number"})",
        R"({"type":["integer","null","array"],"items":{"type":"boolean"},"maxItems":3})",
        R"({"type":"object","properties":{"name":{"type":"string","maxLength":9},"value":{"type":"number"},
            "kind":{"enum":["a","ab","b"]}},"required":["name","kind"],"additionalProperties":false})",
        R"({"type":"object","properties":{"name":{"type":"integer"},"next":{"type":"null"}},
            "additionalProperties":{"type":"string"}})",
        R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":{"type":"null"},
            "minItems":1,"maxItems":5})",
        R"({"oneOf":[{"type":"object","properties":{"kind":{"const":"a"},"value":{"type":"integer"}},
            "required":["kind","value"]},{"type":"object","properties":{"kind":{"const":"b"},"name":{"type":"string"}},
            "required":["kind"]},{"type":"boolean"}]})",
        R"({"$defs":{"n":{"type":"object","properties":{"value":{"type":"integer"},
            "children":{"type":"array","items":{"$ref":"#/$defs/n"},"maxItems":2}},"required":["children"]}},
            "$ref":"#/$defs/n"})",
        R"({"anyOf":[{"type":"null"},{"type":"object","properties":{"next":{"$ref":"#"}},"required":["next"]}]})",
        R"({"type":"object","properties":{"a":{"type":"array","items":{"type":"array","items":{"enum":[0,1,12]},
            "minItems":2,"maxItems":2},"minItems":1}},"required":["a"]})",
    };
    for (size_t i = 0; i < schemas.size(); ++i) {
        EXPECT_GT(check_many(schemas[i], 40, uint32_t(i + 1)), 5) << schemas[i];
    }
}

// A schema put together by chance.
nlohmann::json random_schema(Dice& dice, int depth) {
    using J = nlohmann::json;
    const std::vector<std::string> names = {"name", "value", "next", "a", "ab", "kind"};
    switch (dice.below(depth > 0 ? 11 : 6)) {
        case 0: return J{{"type", "string"}, {"minLength", dice.below(3)}, {"maxLength", 3 + dice.below(4)}};
        case 1:
            return J{{"type", "integer"}, {"minimum", int(dice.below(300)) - 150}, {"maximum", 150 + dice.below(900)}};
        case 2:
            return J{{"type", "number"},
                     {dice.one_in(2) ? "minimum" : "exclusiveMinimum", (double(dice.below(400)) - 200) / 16},
                     {dice.one_in(2) ? "maximum" : "exclusiveMaximum", 13 + double(dice.below(4000)) / 32}};
        case 3: return J{{"enum", J::array({"a", "ab", 1, nullptr, names[dice.below(names.size())]})}};
        case 4: return J{{"type", J::array({"boolean", "null"})}};
        case 5: return J{{"const", names[dice.below(names.size())]}};
        case 6: {
            J out = {{"type", "array"}, {"items", random_schema(dice, depth - 1)}, {"maxItems", 1 + dice.below(4)}};
            if (dice.one_in(2)) out["minItems"] = dice.below(2);
            return out;
        }
        case 7: {
            J out = {{"type", "array"}, {"minItems", dice.below(3)}};
            for (uint32_t i = 0; i <= dice.below(3); ++i) out["prefixItems"].push_back(random_schema(dice, depth - 1));
            if (dice.one_in(2)) out["items"] = random_schema(dice, depth - 1);
            return out;
        }
        case 8: {
            J out = {{"anyOf", J::array()}};
            for (uint32_t i = 0; i <= dice.below(3); ++i) out["anyOf"].push_back(random_schema(dice, depth - 1));
            return out;
        }
        default: {
            J out = {{"type", "object"}, {"properties", J::object()}, {"required", J::array()}};
            for (uint32_t i = 0; i <= dice.below(4); ++i) {
                const std::string& name = names[dice.below(names.size())];
                out["properties"][name] = random_schema(dice, depth - 1);
                if (dice.one_in(2)) out["required"].push_back(name);
            }
            if (dice.one_in(3)) out["additionalProperties"] = random_schema(dice, depth - 1);
            return out;
        }
    }
}

TEST(Constraint, EveryFinishedTextIsValidForRandomSchemasToo) {
    int finished = 0;
    for (uint32_t seed = 1; seed <= 80; ++seed) {
        Dice dice(seed * 7919);
        finished += check_many(random_schema(dice, 3).dump(), 6, seed);
    }
    EXPECT_GT(finished, 240);
}

TEST(Constraint, AgreesWithTryingEveryTokenByItself) {
    const auto program = compile_schema(Json::parse(
        R"({"type":"object","properties":{"name":{"type":"string","maxLength":6},"value":{"anyOf":[{"type":"string",
            "maxLength":2},{"enum":["name","value"]},{"type":"number"}]}},"additionalProperties":{}})",
        nullptr, false));
    ASSERT_TRUE(program);
    Constraint constraint(*program, small_texts());
    const auto texts = small_texts();
    for (uint32_t seed = 1; seed < 6; ++seed) {
        Dice dice(seed);
        constraint.restart();
        Recogniser plain(*program);
        std::string written;
        for (int step = 0; step < 25; ++step) {
            const TokenMask mask(constraint.allowed().begin(), constraint.allowed().end());
            for (int32_t token = 0; token < 400 && size_t(token) < mask.size() * 32; ++token) {
                if (texts->text_of(token).empty()) continue;
                Recogniser::State state = plain.start();
                for (const char c : written + texts->text_of(token)) state = plain.next(state, uint8_t(c));
                ASSERT_EQ(has(mask, token), state != Recogniser::kDead) << written << " + " << texts->text_of(token);
            }
            const auto allowed = members(mask);
            const int32_t token = allowed[dice.below(allowed.size())];
            if (texts->text_of(token).empty()) break;
            ASSERT_TRUE(constraint.accept(token));
            written += texts->text_of(token);
        }
    }
}

TEST(Constraint, ItemsThatMustDifferDo) {
    for (const char* schema : {R"({"type":"array","items":{"enum":["a","ab",1]},"uniqueItems":true,"minItems":2})",
                               R"({"type":"array","items":{"type":"string","maxLength":2},"uniqueItems":true})",
                               R"({"type":"array","items":{"type":["boolean","null","integer"],"minimum":1,"maximum":3},
                                   "uniqueItems":true,"minItems":3})",
                               R"({"properties":{"a":{"type":"array","uniqueItems":true,"items":{"type":"array",
                                   "items":{"type":"integer"},"maxItems":2}}},"required":["a"],"additionalProperties":false})"}) {
        EXPECT_GT(check_many(schema, 40, 3), 5) << schema;
    }
    Constraint constraint(
        *compile_schema(Json::parse(R"({"type":"array","items":{"type":"boolean"},"uniqueItems":true})")),
        small_texts());
    const auto write = [&](std::string_view text) {
        constraint.restart();
        for (const char c : text) {
            if (!constraint.accept(int32_t(8 + uint8_t(c)))) return false;
        }
        return true;
    };
    EXPECT_TRUE(write("[true, false]"));
    EXPECT_TRUE(write("[true]"));
    EXPECT_FALSE(write("[true, t"));
    EXPECT_FALSE(write("[true, false,"));
}

TEST(Constraint, TakesFewStepsHoweverManyItemsMustDiffer) {
    Constraint constraint(
        *compile_schema(Json::parse(R"({"type":"array","items":{"type":"string"},"uniqueItems":true})")),
        small_texts());
    const auto write = [&](std::string_view text) {
        return std::ranges::all_of(text, [&](char c) { return constraint.accept(int32_t(8 + uint8_t(c))); });
    };
    uint64_t few = 0;
    ASSERT_TRUE(write("[\"item 0"));
    for (int i = 1; i <= 400; ++i) {
        ASSERT_TRUE(write("\",\"item " + std::to_string(i)));
        ASSERT_TRUE(has(constraint.allowed(), int32_t(8 + '"')));
        ASSERT_TRUE(constraint.status());
        if (i == 9) few = constraint.steps();
        if (i > 9) ASSERT_LE(constraint.steps(), few + 2000) << i;
    }
    EXPECT_GT(few, 0u);
    EXPECT_FALSE(write("\",\"item 7\""));
}

TEST(Constraint, TakesFewStepsWhereShortTextsMustDiffer) {
    // Inside a text that may end soon every token counts, but only those that go on as an item does are looked into.
    Constraint constraint(
        *compile_schema(Json::parse(R"({"type":"array","items":{"type":"string","maxLength":3},"uniqueItems":true})")),
        small_texts());
    const auto write = [&](std::string_view text) {
        return std::ranges::all_of(text, [&](char c) { return constraint.accept(int32_t(8 + uint8_t(c))); });
    };
    ASSERT_TRUE(write("[\"a\",\"b0\",\""));
    EXPECT_TRUE(has(constraint.allowed(), int32_t(8 + 'a')));
    EXPECT_LT(constraint.steps(), 900u);
    ASSERT_TRUE(write("a"));
    EXPECT_FALSE(has(constraint.allowed(), int32_t(8 + '"')));
    EXPECT_TRUE(has(constraint.allowed(), int32_t(8 + 'b')));
    // Only what is there already could be ended here.
    Constraint listed(*compile_schema(Json::parse(R"({"type":"array","items":{"enum":["a0","a1","b"]},
                                                       "uniqueItems":true})")),
                      small_texts());
    for (const char c : std::string_view("[\"a0\",\"a1\",\"")) ASSERT_TRUE(listed.accept(int32_t(8 + uint8_t(c))));
    EXPECT_FALSE(has(listed.allowed(), int32_t(8 + 'a')));
    EXPECT_TRUE(has(listed.allowed(), int32_t(8 + 'b')));
}

TEST(Constraint, EndsExactlyWhenTheJsonIsComplete) {
    Constraint constraint(*compile_schema(Json::parse(R"({"enum":[1,12]})")), small_texts());
    const int32_t end = small_texts()->ends()[0];
    EXPECT_FALSE(has(constraint.allowed(), end));
    EXPECT_FALSE(constraint.accept(end));
    const auto token = [&](std::string_view text) {
        for (const int32_t id : members(constraint.allowed())) {
            if (small_texts()->text_of(id) == text) return id;
        }
        return -1;
    };
    ASSERT_TRUE(constraint.accept(token("1")));
    EXPECT_TRUE(has(constraint.allowed(), end));
    EXPECT_NE(token("2"), -1);
    ASSERT_TRUE(constraint.accept(token("2")));
    EXPECT_TRUE(has(constraint.allowed(), end));
    EXPECT_EQ(members(constraint.allowed()).size(), small_texts()->ends().size());
    EXPECT_TRUE(constraint.accept(end));
}

TEST(Constraint, KeepsCharactersWholeAcrossByteTokens) {
    Constraint constraint(*compile_schema(Json::parse(R"({"type":"string"})")), small_texts());
    const auto byte = [&](uint8_t value) {  // the byte tokens follow the eight special ones
        return int32_t(8 + value);
    };
    ASSERT_EQ(small_texts()->text_of(byte(0xC3)), "\xC3");
    ASSERT_TRUE(constraint.accept(byte('"')));
    EXPECT_FALSE(constraint.accept(byte(0xA9)));
    ASSERT_TRUE(constraint.accept(byte(0xF0)));
    EXPECT_FALSE(constraint.accept(byte('"')));
    EXPECT_FALSE(constraint.accept(byte(0x80)));
    for (const uint8_t value : {0x9F, 0x98, 0x80}) {
        EXPECT_FALSE(constraint.complete());
        ASSERT_TRUE(constraint.accept(byte(value)));
    }
    EXPECT_TRUE(constraint.accept(byte('"')));
    EXPECT_TRUE(constraint.complete());
}

TEST(Constraint, LetsOnlyTheMarkItselfWriteAQuotationMarkInACall) {
    // The byte that stands for the mark has a token of its own in every vocabulary.
    EXPECT_EQ(small_texts()->text_of(8 + 0xFE), "\xFE");
    EXPECT_EQ(small_texts()->text_of(8 + 0xFF), "");
}

TEST(Constraint, RemembersWithinBounds) {
    // A state for every character of a long string, and another for every level.
    Constraint constraint(*compile_schema(Json::parse(R"({"type":"string","maxLength":50000})")), small_texts());
    const auto byte = [](char c) { return int32_t(8 + uint8_t(c)); };
    ASSERT_TRUE(constraint.accept(byte('"')));
    for (int i = 0; i < 12000; ++i) {
        ASSERT_TRUE(constraint.accept(byte('x')));
        if (i % 16 == 0) ASSERT_TRUE(has(constraint.allowed(), byte('"')));
    }
    EXPECT_LT(constraint.known_states(), 9000u);
    EXPECT_LE(constraint.known_masks(), 64u);
    ASSERT_TRUE(constraint.accept(byte('"')));
    EXPECT_TRUE(constraint.complete());
}

void expect_few_steps(const std::shared_ptr<const tokenizer::Tokenizer>& tokenizer) {
    const auto texts = std::make_shared<const TokenTexts>(tokenizer);
    EXPECT_LT(texts->memory(), size_t(8) << 20);
    EXPECT_GT(texts->plain().size() + texts->special().size(), 250000u);
    const auto program = compile_schema(Json::parse(
        R"({"type":"object","properties":{"title":{"type":"string"},"summary":{"type":"string","maxLength":200},
            "score":{"type":"number","minimum":0,"maximum":1},"tags":{"type":"array","items":{"type":"string"}},
            "kind":{"enum":["article","note","list"]},"author":{"type":"object","properties":{"name":{"type":"string"},
            "age":{"type":"integer"}},"required":["name"]}},"required":["title","summary","score","tags","kind"]})"));
    ASSERT_TRUE(program);
    const std::string text =
        R"({"title": "A walk in the woods", "summary": "Two friends — Lena and Jörg — walk and talk. 😀 \"Home!\"",)"
        R"( "score": 0.75, "tags": ["nature", "friends"], "kind": "note", "author": {"name": "Ann", "age": 41}})";
    Constraint constraint(*program, texts);
    for (const int32_t token : tokenizer->encode(text, {.add_bos = false})) {
        const auto allowed = constraint.allowed();
        EXPECT_LT(constraint.steps(), 30'000u) << tokenizer->text(token);
        ASSERT_TRUE(has(allowed, token)) << tokenizer->text(token);
        ASSERT_TRUE(constraint.accept(token));
    }
    EXPECT_TRUE(constraint.complete());
    EXPECT_LT(constraint.known_states(), 3000u);
    // Where a name must not be "title", only the tokens that begin like it are looked at one by one.
    Constraint names(*compile_schema(Json::parse(R"({"properties":{"title":{}}})")), texts);
    for (const int32_t token : tokenizer->encode("{\"", {.add_bos = false})) ASSERT_TRUE(names.accept(token));
    EXPECT_GT(members(names.allowed()).size(), 200000u);
    EXPECT_LT(names.steps(), 30'000u);
}

TEST(Constraint, TakesFewStepsWithTheRealVocabulary) {
    LAPIDARY_NEEDS_GEMMA();
    expect_few_steps(gemma()->tokenizer);
}

// Its runs of blanks and its tags are tokens of another kind.
TEST(Constraint, TakesFewStepsWithTheVocabularyOfGemma3) {
    LAPIDARY_NEEDS_GEMMA3();
    expect_few_steps(gemma3()->tokenizer);
}

}  // namespace
}  // namespace lapidary::grammar

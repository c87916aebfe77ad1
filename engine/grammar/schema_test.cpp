#include "grammar/schema.h"

#include <gtest/gtest.h>

#include "grammar/pattern.h"
#include "grammar/recogniser.h"

namespace lapidary::grammar {
namespace {

Result<std::shared_ptr<const Program>> compile(std::string_view schema) {
    return compile_schema(Json::parse(schema, nullptr, false));
}

enum class Verdict : uint8_t { refused, incomplete, complete };

// A schema and what it says to texts.
class Schema {
  public:
    explicit Schema(std::string_view schema) : Schema(compile(schema)) {}
    explicit Schema(Result<std::shared_ptr<const Program>> program) {
        EXPECT_TRUE(program) << program.error().message;
        if (program) recogniser_.emplace(*program);
    }

    Verdict read(std::string_view text) {
        if (!recogniser_) return Verdict::refused;
        Recogniser::State state = recogniser_->start();
        for (const char c : text) {
            state = recogniser_->next(state, uint8_t(c));
            if (state == Recogniser::kDead) return Verdict::refused;
        }
        return recogniser_->complete(state) ? Verdict::complete : Verdict::incomplete;
    }
    bool takes(std::string_view text) { return read(text) == Verdict::complete; }
    bool refuses(std::string_view text) { return read(text) == Verdict::refused; }

  private:
    std::optional<Recogniser> recogniser_;
};

std::string refusal(std::string_view schema) {
    const auto program = compile(schema);
    EXPECT_FALSE(program) << schema;
    return program ? "" : program.error().message;
}

TEST(Schema, WithoutLimitsTakesAnyJson) {
    Schema any("{}");
    for (const char* text : {"null", "true", "-0.5e+10", "\"\"", "[]", "{}", "[1, [2], {\"a\": [null]}]",
                             "{\n  \"a\": 1,\n  \"b\": [\n    true\n  ]\n}", R"("\u00e9 \uD83D\uDE00 é 😀")"}) {
        EXPECT_TRUE(any.takes(text)) << text;
    }
    for (const char* text : {"01", "+1", ".5", "1.", "nul ", "[1,]", "{,}", "{a:1}", "'a'", "\"\t\"", R"("\x")",
                             R"("\uD83D ")", R"("\uDE00")", "[1]]", "\"\xC0\xAF\"", "\"\xED\xA0\x80\"", "\"\xFF\""}) {
        EXPECT_NE(any.read(text), Verdict::complete) << text;
    }
}

TEST(Schema, AllowsLayoutButNotEndlessBlanks) {
    Schema any("{}");
    EXPECT_TRUE(any.takes("{\"a\": 1}"));
    EXPECT_TRUE(any.takes("[\n\t\t1,\n\t\t2\n\t]"));
    EXPECT_TRUE(any.refuses("[  "));
    EXPECT_TRUE(any.refuses("[\n\n"));
    EXPECT_TRUE(any.refuses("[\n" + std::string(33, ' ')));
    EXPECT_TRUE(any.refuses(" "));
    EXPECT_TRUE(any.refuses("[] "));
    EXPECT_TRUE(any.refuses("{\"a\":  "));
}

TEST(Schema, WritesPropertiesInOrderAndKnowsWhichMayBeLeftOut) {
    Schema schema(R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"},
                      "c":{"type":"null"}},"required":["b"],"additionalProperties":false})");
    EXPECT_TRUE(schema.takes(R"({"a": 1, "b": "x", "c": null})"));
    EXPECT_TRUE(schema.takes(R"({"b":""})"));
    EXPECT_TRUE(schema.takes(R"({"a":1,"b":""})"));
    EXPECT_TRUE(schema.refuses("{}"));
    EXPECT_TRUE(schema.refuses(R"({"a":1})"));
    EXPECT_TRUE(schema.refuses(R"({"b":"","a")"));
    EXPECT_TRUE(schema.refuses(R"({"b":"","d")"));
    EXPECT_TRUE(schema.refuses(R"({"b":1)"));
}

TEST(Schema, GivesOtherMembersOtherNames) {
    Schema schema(R"({"type":"object","properties":{"ab":{"type":"integer"},"abc":{"type":"integer"},"é":{}},
                      "additionalProperties":{"type":"boolean"}})");
    EXPECT_TRUE(schema.takes(R"({"ab": 1, "a": true, "abd": false, "x": true})"));
    EXPECT_TRUE(schema.takes(R"({"a": true})"));
    EXPECT_TRUE(schema.takes(R"({"": true})"));
    EXPECT_TRUE(schema.takes(R"({"abcd": true})"));
    EXPECT_TRUE(schema.refuses(R"({"ab": t)"));
    EXPECT_TRUE(schema.refuses(R"({"abc": t)"));
    EXPECT_TRUE(schema.refuses(R"({"a": 1)"));
    EXPECT_TRUE(schema.refuses(R"({"\u0061b")"));
    // An escape of what is never written plainly makes a name another, too.
    EXPECT_TRUE(schema.takes(R"({"ab\"": true, "\\abc": true, "abc\n": true})"));
    EXPECT_TRUE(schema.refuses(R"({"ab\/)"));
    Schema quoted(R"({"properties":{"a\"b":{"type":"integer"}},"additionalProperties":{"type":"boolean"}})");
    EXPECT_TRUE(quoted.refuses(R"({"a\"b": t)"));
    EXPECT_TRUE(quoted.takes(R"({"a\"b": 1, "b\"": true})"));
    Schema map(R"({"type":"object","additionalProperties":{"type":"integer"}})");
    EXPECT_TRUE(map.takes(R"({"any \n thing": 1, "": 2})"));
    EXPECT_TRUE(map.takes("{}"));
}

TEST(Schema, RequiresWhatIsNotDeclared) {
    Schema schema(R"({"type":"object","required":["id"]})");
    EXPECT_TRUE(schema.takes(R"({"id": [1], "more": 2})"));
    EXPECT_TRUE(schema.refuses("{}"));
    EXPECT_NE(refusal(R"({"type":"object","required":["id"],"additionalProperties":false})").find("'id'"),
              std::string::npos);
}

TEST(Schema, CountsItems) {
    Schema some(R"({"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":3})");
    EXPECT_TRUE(some.takes("[true, false]"));
    EXPECT_TRUE(some.takes("[true,false,true]"));
    EXPECT_TRUE(some.refuses("[]"));
    EXPECT_TRUE(some.refuses("[true]"));
    EXPECT_TRUE(some.refuses("[true,true,true,"));
    Schema none(R"({"type":"array","maxItems":0})");
    EXPECT_TRUE(none.takes("[]"));
    EXPECT_TRUE(none.refuses("[1"));
    Schema tuple(R"({"prefixItems":[{"type":"integer"},{"type":"string"}],"minItems":1})");
    EXPECT_TRUE(tuple.takes("[1]"));
    EXPECT_TRUE(tuple.takes("[1, \"a\"]"));
    EXPECT_TRUE(tuple.refuses("[]"));
    EXPECT_TRUE(tuple.refuses("[1, \"a\","));
    Schema longer(R"({"prefixItems":[{"type":"integer"}],"items":{"type":"null"},"minItems":2,"maxItems":3})");
    EXPECT_TRUE(longer.takes("[1, null, null]"));
    EXPECT_TRUE(longer.refuses("[1]"));
    EXPECT_TRUE(longer.refuses("[1,null,null,"));
}

TEST(Schema, CountsCharactersNotBytes) {
    Schema schema(R"({"type":"string","minLength":2,"maxLength":3})");
    EXPECT_TRUE(schema.takes("\"é😀\""));
    EXPECT_TRUE(schema.takes(R"("\uD83D\uDE00\nx")"));
    EXPECT_TRUE(schema.refuses("\"é\""));
    EXPECT_TRUE(schema.refuses("\"abcd"));
}

TEST(Schema, KeepsNumbersWithinTheirBounds) {
    Schema percent(R"({"type":"integer","minimum":-5,"maximum":120})");
    for (const char* in : {"0", "-5", "7", "99", "100", "120", "-1"}) EXPECT_TRUE(percent.takes(in)) << in;
    for (const char* out : {"121", "-6", "1.5", "1e1", "200", "1000"}) EXPECT_FALSE(percent.takes(out)) << out;
    Schema share(R"({"type":"number","minimum":0,"exclusiveMaximum":1})");
    for (const char* in : {"0", "0.0", "0.999", "0.5"}) EXPECT_TRUE(share.takes(in)) << in;
    for (const char* out : {"1", "1.0", "-0.1", "1e0"}) EXPECT_FALSE(share.takes(out)) << out;
    Schema narrow(R"({"type":"number","minimum":2.25,"maximum":10.5})");
    for (const char* in : {"2.25", "2.250", "2.3", "9", "10.5", "10.49", "3.0"}) EXPECT_TRUE(narrow.takes(in)) << in;
    for (const char* out : {"2", "2.2", "2.249", "10.51", "11", "1.99"}) EXPECT_FALSE(narrow.takes(out)) << out;
    Schema below(R"({"type":"number","exclusiveMaximum":-1.5})");
    for (const char* in : {"-2", "-1.6", "-1.51", "-100000"}) EXPECT_TRUE(below.takes(in)) << in;
    for (const char* out : {"-1.5", "-1", "0", "-1.50"}) EXPECT_FALSE(below.takes(out)) << out;
    EXPECT_TRUE(Schema("{\"type\":\"integer\"}").takes("9223372036854775807"));
    EXPECT_TRUE(Schema("{\"type\":\"integer\"}").refuses("12345678901234567890"));
    Schema safe(R"({"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991})");
    for (const char* in : {"0", "-9007199254740991", "9007199254740991", "42"}) EXPECT_TRUE(safe.takes(in)) << in;
    for (const char* out : {"9007199254740992", "-9007199254740992"}) EXPECT_FALSE(safe.takes(out)) << out;
    Schema old(R"({"type":"integer","minimum":1,"exclusiveMinimum":true})");
    EXPECT_FALSE(old.takes("1"));
    EXPECT_TRUE(old.takes("2"));
    Schema huge(R"({"type":"number","minimum":-1e300,"maximum":1e300})");
    for (const char* in : {"0", "-12.5", "1234567890123456789"}) EXPECT_TRUE(huge.takes(in)) << in;
}

TEST(Schema, WritesOneOfTheListedValues) {
    Schema schema(R"({"enum":["red","reddish","blue",1,null,{"a":[1]}]})");
    for (const char* in : {"\"red\"", "\"reddish\"", "\"blue\"", "1", "null", R"({"a":[1]})"}) {
        EXPECT_TRUE(schema.takes(in)) << in;
    }
    EXPECT_TRUE(schema.refuses("\"redd\""));
    EXPECT_TRUE(Schema(R"({"type":"string","enum":["a",1]})").refuses("1"));
    EXPECT_TRUE(Schema(R"({"const":"quote \" and \\"})").takes(R"("quote \" and \\")"));
    Schema whole(R"({"enum":[2.0,2.5]})");
    for (const char* text : {"2.0", "2", "2.5"}) EXPECT_TRUE(whole.takes(text)) << text;
    EXPECT_TRUE(whole.refuses("25"));
}

TEST(Schema, ChoosesAmongAlternatives) {
    Schema schema(
        R"({"anyOf":[{"type":"object","properties":{"k":{"const":"a"},"n":{"type":"integer"}},"required":["k"]},
                               {"type":"object","properties":{"k":{"const":"b"},"s":{"type":"string"}},"required":["k"]},
                               {"type":["boolean","null"]}]})");
    EXPECT_TRUE(schema.takes(R"({"k":"a","n":1})"));
    EXPECT_TRUE(schema.takes(R"({"k":"b","s":"x"})"));
    EXPECT_TRUE(schema.refuses(R"({"k":"c")"));
    EXPECT_FALSE(schema.takes(R"({"k":"a","n":"x"})"));
    EXPECT_TRUE(schema.takes("null"));
    EXPECT_TRUE(schema.refuses("1"));
}

TEST(Schema, OneOfMeansExactlyOne) {
    EXPECT_TRUE(compile(R"({"oneOf":[{"type":"string"},{"type":"integer"}]})"));
    Schema tagged(R"({"oneOf":[{"properties":{"t":{"const":1}},"required":["t"]},
                               {"properties":{"t":{"const":2}},"required":["t"]}]})");
    EXPECT_TRUE(tagged.takes(R"({"t":2})"));
    EXPECT_FALSE(tagged.takes(R"({"t":3})"));
    Schema either(R"({"oneOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]})");
    EXPECT_TRUE(either.takes(R"({"a":1})"));
    EXPECT_TRUE(either.takes(R"({"b":1,"c":2})"));
    EXPECT_FALSE(either.takes(R"({"a":1,"b":1})"));
    Schema broken(R"({"oneOf":[{"type":"number"},{"type":"integer"}]})");
    EXPECT_TRUE(broken.takes("1.5"));
    EXPECT_FALSE(broken.takes("1"));
    EXPECT_FALSE(broken.takes("1.0"));
    EXPECT_FALSE(compile(R"({"oneOf":[{"properties":{"a":{}}},{"properties":{"b":{}}}]})"));
    // A keyword about texts lets every number through: 5 satisfies both.
    Schema untyped(R"({"oneOf":[{"type":"integer"},{"minLength":3}]})");
    EXPECT_FALSE(untyped.takes("5"));
    EXPECT_TRUE(untyped.takes("\"abc\""));
    EXPECT_FALSE(untyped.takes("\"ab\""));
    EXPECT_FALSE(Schema(R"({"oneOf":[{"type":"array"},{"maximum":5}]})").takes("[]"));
    EXPECT_FALSE(Schema(R"({"oneOf":[{"type":"string"},{"properties":{"a":{"type":"null"}}}]})").takes("\"\""));
    Schema texts(R"({"oneOf":[{"type":"string","maxLength":4},{"type":"string","pattern":"^a"},{"enum":["zz",7]}]})");
    EXPECT_TRUE(texts.takes("\"bcd\""));
    EXPECT_TRUE(texts.takes("\"abcde\""));
    EXPECT_TRUE(texts.takes("7"));
    for (const char* twice : {"\"abc\"", "\"zz\"", "\"bcdef\""}) EXPECT_FALSE(texts.takes(twice)) << twice;
}

TEST(Schema, WritesListedObjectsAndListsWithLayoutToo) {
    Schema schema(R"({"enum":[{"a":[1,{}],"b":"x"},[],[true]]})");
    for (const char* in : {R"({"a":[1,{}],"b":"x"})", "{\"a\": [1, {}], \"b\": \"x\"}", "[]", "[\n  true\n]"}) {
        EXPECT_TRUE(schema.takes(in)) << in;
    }
    EXPECT_TRUE(schema.refuses(R"({"a": [2)"));
    EXPECT_TRUE(schema.refuses(R"({"b")"));
}

TEST(Schema, KnowsThatOneOfTheOthersIsNotAsTheyMustBe) {
    // Each forbids what it does not declare, so a member that only the first declares excludes the second.
    Schema closed(R"({"oneOf":[
        {"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"additionalProperties":false},
        {"type":"object","properties":{"b":{"type":"integer"},"c":{"type":"integer"}},"additionalProperties":false},
        {"type":"string"}]})");
    EXPECT_TRUE(closed.takes(R"({"a":1})"));
    EXPECT_TRUE(closed.takes(R"({"a":1,"b":2})"));
    EXPECT_TRUE(closed.takes(R"({"b":2,"c":3})"));
    EXPECT_TRUE(closed.takes(R"("")"));
    EXPECT_NE(closed.read(R"({"b":2})"), Verdict::complete);
    EXPECT_NE(closed.read("{}"), Verdict::complete);
    EXPECT_NE(closed.read(R"({"a":1,"c":3})"), Verdict::complete);
    // What others are may be broken by their values, and what a pattern takes is none of them.
    Schema typed(R"({"properties":{"x1":{},"y":{}},"additionalProperties":false,"not":{"type":"object",
                     "patternProperties":{"^x":{}},"additionalProperties":{"type":"integer"}}})");
    EXPECT_TRUE(typed.takes(R"({"x1":1,"y":"a"})"));
    EXPECT_NE(typed.read(R"({"x1":"a","y":1})"), Verdict::complete);
    EXPECT_NE(typed.read(R"({"x1":"a"})"), Verdict::complete);
}

TEST(Schema, ReadsWhatStandsBesideAReferenceAsItsDraftDoes) {
    const std::string parts = R"("properties":{"a":{"$ref":"#/definitions/n","maximum":5},
        "b":{"$ref":"#/definitions/n","nullable":true}},"definitions":{"n":{"type":"integer"}}})";
    Schema now("{" + parts);
    EXPECT_TRUE(now.refuses(R"({"a":6)"));
    EXPECT_TRUE(now.takes(R"({"b":null})"));
    Schema then(R"({"$schema":"http://json-schema.org/draft-07/schema#",)" + parts);
    EXPECT_TRUE(then.takes(R"({"a":60})"));
    EXPECT_TRUE(then.refuses(R"({"a":"")"));
    EXPECT_TRUE(then.takes(R"({"b":null})"));
    // Listed values are judged the same way.
    Schema listed(R"({"$schema":"http://json-schema.org/draft-04/schema#","enum":[1,9],"allOf":[
                      {"$ref":"#/definitions/n","maximum":5}],"definitions":{"n":{"type":"integer"}}})");
    EXPECT_TRUE(listed.takes("9"));
}

TEST(Schema, KnowsNoConditionsWhereItsDraftHasNone) {
    const std::string parts = R"("type":"object","properties":{"a":{"enum":[1,2]},"b":{"enum":[1,2]}},
        "if":{"properties":{"a":{"const":1}}},"then":{"required":["b"]}})";
    Schema now(R"({"$schema":"http://json-schema.org/draft-07/schema#",)" + parts);
    EXPECT_TRUE(now.refuses(R"({"a":1})"));
    EXPECT_TRUE(now.takes(R"({"a":2})"));
    Schema then(R"({"$schema":"http://json-schema.org/draft-06/schema#",)" + parts);
    EXPECT_TRUE(then.takes(R"({"a":1})"));
    EXPECT_TRUE(then.takes(R"({"a":1,"b":2})"));
    // Under `not`, and where listed values are judged.
    Schema neither(R"({"$schema":"http://json-schema.org/draft-04/schema#","type":["object","integer"],
                       "not":{"type":"object","if":{},"then":false},"enum":[{"a":1},7]})");
    EXPECT_TRUE(neither.takes("7"));
    EXPECT_FALSE(neither.takes(R"({"a":1})"));
}

TEST(Schema, NullableBesideWhatCombinesSchemasMeansNullAsWell) {
    // As OpenAPI 3.0 writes the end of a list.
    Schema list(
        R"({"type":"object","properties":{"next":{"nullable":true,"allOf":[{"$ref":"#"}]}},"required":["next"]})");
    EXPECT_TRUE(list.takes(R"({"next":{"next":null}})"));
    EXPECT_TRUE(list.refuses(R"({"next":1)"));
    Schema neither(
        R"({"not":{"nullable":true,"anyOf":[{"type":"string"},{"type":"integer"}]},"type":["null","boolean","string"]})");
    EXPECT_TRUE(neither.takes("true"));
    EXPECT_FALSE(neither.takes("null"));
    EXPECT_FALSE(neither.takes("\"a\""));
}

TEST(Schema, KnowsWhichPartAnIdBelongsTo) {
    Schema ids(
        R"({"$id":"http://x/root","$defs":{"a":{"$id":"part","type":"integer"},"b":{"$anchor":"here","type":"null"}},
                  "anyOf":[{"$ref":"part"},{"$ref":"#here"}]})");
    EXPECT_TRUE(ids.takes("1"));
    EXPECT_TRUE(ids.takes("null"));
    EXPECT_TRUE(ids.refuses("\""));
    // The same anchor in two parts, and an $id where no schema is.
    Schema anchors(
        R"({"$id":"http://x/root","$defs":{"a":{"$id":"one","allOf":[{"$id":"two","$anchor":"m","type":"number"},
                      {"$anchor":"m","type":"string"}]}},"$ref":"one#m"})");
    EXPECT_TRUE(anchors.takes("\"a\""));
    EXPECT_TRUE(anchors.refuses("1"));
    Schema unknown(
        R"({"$defs":{"a":{"x":[{"$id":"http://x/b","type":"null"}]},"c":{"$id":"http://x/b","type":"string"}},
                      "$ref":"http://x/b"})");
    EXPECT_TRUE(unknown.takes("\"a\""));
    EXPECT_TRUE(unknown.refuses("n"));
    // What means one thing in the whole and another in the part is not guessed.
    const char* twice = R"({"$id":"http://x/root","$defs":{"a":{"type":"string"},
                         "b":{"$id":"part","$defs":{"a":{"type":"integer"}},"$ref":"#/$defs/a"}},"$ref":"#/$defs/b"})";
    EXPECT_NE(refusal(twice).find("#/$defs/a"), std::string::npos);
    EXPECT_TRUE(compile(R"({"properties":{"a":{"$recursiveRef":"#"}}})"));
    EXPECT_NE(refusal(R"({"properties":{"a":{"$id":"part","items":{"$recursiveRef":"#"}}}})").find("$recursiveRef"),
              std::string::npos);
}

TEST(Schema, ForbidsMembersThatNobodyDeclares) {
    Schema patterns(R"({"type":"object","properties":{"a":{}},"patternProperties":{"^x":{"type":"integer"}},
                       "unevaluatedProperties":false})");
    EXPECT_TRUE(patterns.takes(R"({"a":1,"x2":3})"));
    EXPECT_TRUE(patterns.refuses(R"({"y)"));
    EXPECT_TRUE(patterns.refuses(R"({"x":t)"));
    Schema needed(R"({"type":"object","patternProperties":{"^x":{}},"required":["x1"],"unevaluatedProperties":false})");
    EXPECT_TRUE(needed.takes(R"({"x1":0})"));
    EXPECT_TRUE(needed.refuses("{}"));
    // What is said inside `not` declares nothing.
    Schema twice(R"({"properties":{"a":{}},"not":{"not":{"properties":{"b":{"const":1}},"required":["b"]}},
                    "unevaluatedProperties":false,"type":["object","null"]})");
    EXPECT_FALSE(twice.takes(R"({"a":1,"b":1})"));
}

TEST(Schema, FollowsReferencesToItself) {
    Schema tree(R"({"$defs":{"node":{"type":"object","properties":{"value":{"type":"integer"},
                    "children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["value","children"]}},
                    "$ref":"#/$defs/node"})");
    EXPECT_TRUE(tree.takes(R"({"value":1,"children":[{"value":2,"children":[]},{"value":3,"children":[]}]})"));
    EXPECT_TRUE(tree.refuses(R"({"value":1,"children":[1)"));
    Schema loop(R"({"anyOf":[{"$ref":"#"},{"type":"null"}]})");
    EXPECT_TRUE(loop.takes("null"));
    EXPECT_NE(refusal(R"({"$ref":"#/$defs/nowhere"})").find("nowhere"), std::string::npos);
}

TEST(Schema, BeginsNothingThatCouldNotBeEndedWithinItsDepth) {
    Schema any("{}");
    std::string deep;
    while (any.read(deep + "[") != Verdict::refused && deep.size() < 1000) deep += '[';
    EXPECT_GT(deep.size(), 20u);
    EXPECT_LE(deep.size(), chat::kMaxJsonDepth);
    EXPECT_TRUE(any.takes(deep + std::string(deep.size(), ']')));
}

TEST(Schema, MatchesPatterns) {
    Schema code(R"({"pattern":"^[A-Z]{2,3}-\\d+(\\.\\d)?$"})");
    EXPECT_TRUE(code.takes("\"AB-1\""));
    EXPECT_TRUE(code.takes("\"ABC-123.4\""));
    for (const char* out : {"\"A-1\"", "\"ABCD-1\"", "\"AB-\"", "\"AB-1.\"", "\"xAB-1\""})
        EXPECT_FALSE(code.takes(out));
    Schema inside(R"({"pattern":"cat|^dog"})");
    EXPECT_TRUE(inside.takes("\"a cat sat\""));
    EXPECT_TRUE(inside.takes("\"doggy\""));
    EXPECT_FALSE(inside.takes("\"a dog\""));
    Schema odd(R"({"pattern":"^[^a\\s]\\\\\".é$"})");
    EXPECT_TRUE(odd.takes(R"("b\\\"xé")"));
    EXPECT_TRUE(odd.refuses("\"a"));
    for (const char* bad : {"a**", "\\1", "[", "(a", "a{2,1}", "\\b", "(?<=a)b", "(a(?=b))*b", "\\P{L}"}) {
        EXPECT_FALSE(compile_schema(Json{{"pattern", bad}})) << bad;
    }
}

TEST(Schema, ReadsPatternsAsEcmaScriptDoes) {
    const auto matches = [](const char* pattern, const char* text) {
        return Schema(compile_schema(Json{{"pattern", pattern}})).takes(chat::json_text(Json(text)));
    };
    for (const auto& [pattern, text] : std::vector<std::pair<const char*, const char*>>{
             {"^(?!foo)[a-z]+$", "fob"},
             {"^(?=.*\\d)(?=.*[A-Z]).{4,}$", "xyZ1"},
             {"^[é-ü]+$", "éü"},
             {"^\\u00e9\\x41$", "éA"},
             {"^(a$|bc)", "bcd"},
             {"(^a|b)c", "xbc"},
             {"^\\p{L}+$", "Jörg"},
             {"^[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$", "👍🏽"},
             {"(?i)^abc$", "aBC"},
             {"^a{,3}$", "a{,3}"},
             {"^[\\w.-]+$", "a-b.c"},
             {"^((a{0,9999}){0,9999})$", "aaaa"},
             {"^(.{1,100}){1,100}$", "any text"},
             {"^(a|b*)*c$", "abbac"},
             {"^$", ""},
             {"^P(?:\\d+W|(?!.*W)(?=\\d)(?:\\d+D)?)$", "P3D"},
             {"\\S", "a"},
             {"^\\s$", "\u2003"}}) {
        EXPECT_TRUE(matches(pattern, text)) << pattern << " " << text;
    }
    for (const auto& [pattern, text] :
         std::vector<std::pair<const char*, const char*>>{{"^(?!foo)[a-z]+$", "food"},
                                                          {"^(?=.*\\d)(?=.*[A-Z]).{4,}$", "xyz1"},
                                                          {"^[é-ü]+$", "e"},
                                                          {"^(a$|bc)", "ab"},
                                                          {"(^a|b)c", "xac"},
                                                          {"^((a{0,9999}){0,9999})$", "ab"},
                                                          {"^(.{2,3}){2,2}$", "abcdefg"},
                                                          {"^(a{2}){0,3}$", "aaa"},
                                                          {"\\S", "\u00a0 "},
                                                          {"^[^\\s]$", "\u2003"},
                                                          {"^.$", "\u2028"}}) {
        EXPECT_FALSE(matches(pattern, text)) << pattern << " " << text;
    }
}

TEST(Schema, LimitsATextInSeveralWaysAtOnce) {
    Schema schema(R"({"type":"string","pattern":"^[a-z.]+$","minLength":3,"maxLength":5,"not":{"pattern":"x"}})");
    for (const char* in : {"abc", "a.b.c"}) EXPECT_TRUE(schema.takes(chat::json_text(in))) << in;
    for (const char* out : {"ab", "abcdef", "axc", "ABC"}) EXPECT_FALSE(schema.takes(chat::json_text(out))) << out;
    Schema both(R"({"type":"string","format":"email","pattern":"@example\\.org$","maxLength":16})");
    EXPECT_TRUE(both.takes("\"a@example.org\""));
    EXPECT_FALSE(both.takes("\"a@example.com\""));
    EXPECT_FALSE(both.takes("\"abcdef@example.org\""));
}

TEST(Schema, KnowsCommonFormats) {
    EXPECT_TRUE(Schema(R"({"format":"date"})").takes("\"2024-02-28\""));
    EXPECT_FALSE(Schema(R"({"format":"date"})").takes("\"2024-02-30\""));
    EXPECT_TRUE(Schema(R"({"format":"date-time"})").takes("\"2024-12-31T23:59:59.5+01:00\""));
    EXPECT_TRUE(Schema(R"({"format":"uuid"})").takes("\"123e4567-e89b-12d3-a456-426614174000\""));
    EXPECT_TRUE(Schema(R"({"format":"email"})").takes("\"a.b@example.org\""));
    EXPECT_TRUE(Schema(R"({"format":"ipv4"})").takes("\"192.168.0.255\""));
    EXPECT_FALSE(Schema(R"({"format":"ipv4"})").takes("\"256.1.1.1\""));
    EXPECT_TRUE(Schema(R"({"format":"uri"})").takes("\"https://example.org:80/a/b?c=d\""));
    EXPECT_TRUE(Schema(R"({"format":"date"})").takes("\"2024-02-29\""));
    EXPECT_FALSE(Schema(R"({"format":"date"})").takes("\"2023-02-29\""));
    EXPECT_TRUE(Schema(R"({"format":"ipv6"})").takes("\"2001:db8::1\""));
    EXPECT_FALSE(Schema(R"({"format":"ipv6"})").takes("\"2001:db8:::1\""));
    EXPECT_TRUE(Schema(R"({"format":"duration"})").takes("\"P3DT4H\""));
    EXPECT_FALSE(Schema(R"({"format":"duration"})").takes("\"P\""));
    EXPECT_TRUE(Schema(R"({"format":"uri-reference"})").takes("\"/a/b?c#d\""));
    EXPECT_TRUE(Schema(R"({"format":"regex"})").takes(R"("^[a-z]+\\d{2}$")"));
    Schema regex(R"({"format":"regex"})");
    for (const char* text : {R"("^a|b$")", R"("^/api/(.*)$")", R"("^\\s*(?:it|on)\\(\\s*['\"]([^'\"]+)['\"]")",
                             R"("^[a-zA-Z0-9_]{3,16}?$")"}) {
        EXPECT_TRUE(regex.takes(text)) << text;
    }
    for (const char* text : {"\"[a\"", "\"(a\"", "\"a)\"", "\"*a\"", "\"a{3,2}\"", "\"a**\"", "\"[b-a]\"", "\"a|*\""}) {
        EXPECT_FALSE(regex.takes(text)) << text;
    }
    // One nobody knows says something about a text, and limits nothing.
    EXPECT_TRUE(Schema(R"({"type":"string","format":"haiku"})").takes("\"any\""));
    EXPECT_TRUE(Schema(R"({"type":"integer","format":"int32"})").takes("7"));
}

TEST(Schema, IgnoresWhatLimitsNothing) {
    Schema schema(
        R"({"title":"t","description":"d","default":1,"examples":[1],"$schema":"s","x-order":3,"id":"a","self":{},
                      "propertyOrdering":["a"],"_format":"b","type":"null"})");
    EXPECT_TRUE(schema.takes("null"));
    EXPECT_FALSE(schema.takes("1"));
    Schema nullable(R"({"type":"integer","nullable":true})");
    EXPECT_TRUE(nullable.takes("null"));
    EXPECT_TRUE(nullable.takes("3"));
    // Keywords that allow everything name no type either.
    for (const char* text : {R"({"properties":{},"required":[]})", R"({"additionalProperties":true})",
                             R"({"minLength":0,"uniqueItems":false})"}) {
        EXPECT_TRUE(Schema(text).takes("[1]")) << text;
    }
}

TEST(Schema, RefusesWhatItCannotFollowByName) {
    for (const auto& [keyword, value] :
         std::vector<std::pair<std::string, std::string>>{{"extends", "{\"type\":\"null\"}"},
                                                          {"disallow", "\"null\""},
                                                          {"propertyDependencies", "{}"},
                                                          {"$dynamicRef", "\"#a\""},
                                                          {"unevaluatedItems", "false"},
                                                          {"maxContains", "2,\"contains\":{}"}}) {
        const std::string schema = R"({"type":"object","properties":{"x":{")" + keyword + "\":" + value + "}}}";
        const std::string message = refusal(schema);
        EXPECT_NE(message.find(keyword), std::string::npos) << message;
        EXPECT_NE(message.find("#/properties/x"), std::string::npos) << message;
    }
    EXPECT_NE(refusal(R"({"not":{"uniqueItems":true}})").find("uniqueItems"), std::string::npos);
}

TEST(Schema, RefusesWhatCanNeverEnd) {
    EXPECT_NE(refusal("false").find("no JSON at all"), std::string::npos);
    EXPECT_NE(refusal(R"({"$ref":"#"})").find("no JSON at all"), std::string::npos);
    EXPECT_FALSE(compile(R"({"properties":{"next":{"$ref":"#"}},"required":["next"]})"));
    EXPECT_FALSE(compile(R"({"type":"integer","minimum":3,"maximum":2})"));
    EXPECT_FALSE(compile(R"({"type":"number","exclusiveMinimum":2,"exclusiveMaximum":2})"));
    EXPECT_FALSE(compile(R"({"type":"string","minLength":3,"maxLength":2})"));
    EXPECT_FALSE(compile(R"({"type":"string","enum":[1]})"));
    EXPECT_TRUE(Schema(R"({"properties":{"a":false,"b":{}}})").refuses("{\"a\""));
}

// What took minutes and gigabytes: now it is either done or refused, in a bounded number of steps.
TEST(Schema, WorksOrRefusesWithinItsSteps) {
    Schema nested(R"({"pattern":"^((((.{0,9999}){0,9999}){0,9999}){0,9999})$"})");
    EXPECT_TRUE(nested.takes("\"anything\""));
    EXPECT_TRUE(Schema(R"({"pattern":"^((a{0,9999}){0,9999})$"})").takes("\"aaaa\""));
    EXPECT_NE(refusal(R"({"pattern":"^(([ab]{0,99}a){0,99}[ab]?){0,99}([bc]{3,99}c){0,99}$"})"), "");
    Budget few(2000);
    EXPECT_TRUE(read_pattern("^[a-c]{3}$", few));
    EXPECT_FALSE(read_pattern("^([a-z]{0,9}x){0,99}$", few));
    EXPECT_TRUE(few.spent());
    Json many = {{"oneOf", Json::array()}};
    for (int i = 0; i < 12; ++i) {
        many["oneOf"].push_back(
            {{"type", "object"}, {"properties", {{"a" + std::to_string(i), {{"type", "string"}}}}}});
    }
    EXPECT_TRUE(compile_schema(many));  // one is right when all others are broken
    Json tree = {{"type", "object"}};
    for (int i = 0; i < 12; ++i) {
        const Json one = {
            {"anyOf", Json::array({{{"required", {std::to_string(i)}}}, {{"required", {"b" + std::to_string(i)}}}})}};
        tree["allOf"].push_back(one);
    }
    EXPECT_FALSE(compile_schema(tree));
}

// Thousands of schemas that all speak of thousands of members.
TEST(Schema, CountsTheStepsOfLongTerms) {
    Json wide = {{"allOf", Json::array()}};
    for (int i = 0; i < 1000; ++i) {
        wide["allOf"].push_back({{"required", {"r" + std::to_string(i)}}, {"additionalProperties", {{"minimum", i}}}});
    }
    EXPECT_NE(compile_schema(wide).error_or(Error{}).message.find("too much work"), std::string::npos);
    Json hops = {{"$ref", "#/$defs/0"}};
    for (int i = 0; i < 30; ++i) {
        const Json next = {{"$ref", "#/$defs/" + std::to_string(i + 1)}};
        hops["$defs"][std::to_string(i)] = {{"allOf", {next, next}}};
    }
    hops["$defs"]["30"] = {{"type", "integer"}};
    EXPECT_NE(compile_schema(hops).error_or(Error{}).message.find("too much work"), std::string::npos);
}

TEST(Schema, PausesWhileALargeOneIsCompiled) {
    Json large = {{"type", "object"}, {"properties", Json::object()}};
    for (int i = 0; i < 200; ++i) {
        large["properties"]["p" + std::to_string(i)] = {{"pattern", "^([a-z]{1,9}\\d){" + std::to_string(i) + "}$"}};
    }
    int pauses = 0;
    const auto count = [&]() -> Task<Status> {
        ++pauses;
        co_return Status();
    };
    const auto made = compile_schema(large, count).run_now();
    ASSERT_TRUE(made && *made);
    EXPECT_GT(pauses, 3);
    const auto stop = []() -> Task<Status> { co_return fail(Code::cancelled, "stopped"); };
    const auto stopped = compile_schema(large, stop).run_now();
    ASSERT_TRUE(stopped && !*stopped);
    EXPECT_EQ(stopped->error().code, Code::cancelled);
}

TEST(Schema, WritesShorterTextsWhereAllWouldTakeTooManyStates) {
    // As a library of schemas writes the names of hosts.
    const Json name = {{"pattern",
                        "^(?=.{1,253}\\.?$)[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
                        "(?:\\.[a-zA-Z0-9](?:[-0-9a-zA-Z]{0,61}[0-9a-zA-Z])?)*\\.?$"}};
    Json both = name;
    both["format"] = "hostname";
    Schema host(compile_schema(both));
    EXPECT_TRUE(host.takes("\"www.example.org\""));
    EXPECT_FALSE(host.takes("\"-www.example.org\""));
    // What was left out must not count as what does not match.
    const Json long_lines = {{"pattern", "^(?=.{1,2000}$)([a-z]{1,62}\\.)*[a-z]$"}};
    Schema line(compile_schema(long_lines));
    EXPECT_TRUE(line.takes("\"ab.c\""));
    EXPECT_FALSE(line.takes("\"" + std::string(63, 'a') + ".c\""));
    EXPECT_FALSE(compile_schema({{"type", "string"}, {"not", long_lines}}));
}

TEST(Schema, RefusesHostileSchemas) {
    for (const char* bad : {R"(5)",
                            R"({"type":"thing"})",
                            R"({"type":[]})",
                            R"({"type":5})",
                            R"({"properties":[]})",
                            R"({"required":"a"})",
                            R"({"required":[1]})",
                            R"({"enum":[]})",
                            R"({"enum":5})",
                            R"({"anyOf":[]})",
                            R"({"anyOf":{}})",
                            R"({"$ref":5})",
                            R"({"minItems":-1})",
                            R"({"minLength":1.5})",
                            R"({"minimum":"1"})",
                            R"({"pattern":5})",
                            R"({"prefixItems":{}})",
                            R"({"additionalProperties":5})",
                            R"({"allOf":[]})",
                            R"({"not":5})",
                            R"({"patternProperties":{"[":{}}})",
                            R"({"multipleOf":0})",
                            R"({"dependencies":[]})",
                            R"({"$ref":"http://x"})"}) {
        EXPECT_FALSE(compile(bad)) << bad;
    }
    Json deep = Json::object();
    for (int i = 0; i < 200; ++i) deep = Json{{"items", deep}};
    EXPECT_FALSE(compile_schema(deep));
    Json large = {{"anyOf", Json::array()}};
    for (int i = 0; i < 300; ++i) large["anyOf"].push_back({{"const", std::string(1000, char('a' + i % 26))}});
    EXPECT_TRUE(compile_schema(large));
    large["anyOf"].clear();
    for (int i = 0; i < 9000; ++i)
        large["anyOf"].push_back({{"const", std::string(1000, char('a' + i % 26)) + std::to_string(i)}});
    EXPECT_FALSE(compile_schema(large));
}

TEST(Calls, AreWrittenAsTheModelWritesThem) {
    const auto tool = [](const char* name, const char* parameters) {
        return chat::Tool{
            .name = name, .description = {}, .parameters = Json::parse(parameters, nullptr, false), .response = {}};
    };
    const std::vector<chat::Tool> tools = {
        tool("weather", R"({"properties":{"city":{"type":"string","minLength":1},"unit":{"enum":["C","F"]},
                            "days":{"type":"array","items":{"type":"integer","maximum":9}}},"required":["city"]})"),
        tool("ping", "null"), tool("tag", R"({"type":"object","properties":{"id":{"pattern":"^[a-z\"]+$"}}})")};
    const auto program = compile_calls(tools);
    Schema calls(program);
    EXPECT_TRUE(
        calls.takes("call:weather{city:\xFFParis \"x\"\n\xFF,unit:\xFF"
                    "C\xFF,days:[1,2]}"));
    EXPECT_TRUE(calls.takes("call:ping{}"));
    EXPECT_TRUE(calls.takes("call:ping{a:1,b:{c:\xFF\xFF}}"));
    EXPECT_TRUE(
        calls.takes("call:tag{id:\xFF"
                    "a\"b\xFF}"));
    EXPECT_TRUE(calls.refuses("call:weather{}"));
    EXPECT_TRUE(calls.refuses("call:weather{city:\xFF\xFF"));
    EXPECT_TRUE(calls.refuses("call:weather{city:\""));
    EXPECT_TRUE(calls.refuses("call:weather{ "));
    EXPECT_TRUE(calls.refuses("call:fly"));
    EXPECT_FALSE(compile_calls(std::vector{tool("a", R"({"type":"string"})")}));
    EXPECT_FALSE(compile_calls(std::vector{tool("a", R"({"properties":{"a:b":{}}})")}));
    EXPECT_FALSE(compile_calls(std::vector{tool("a", R"({"unevaluatedItems":false})")}));
}

TEST(ResponseFormat, IsReadAsOpenAiWritesIt) {
    const auto read = [](std::string_view text) { return compile_response_format(Json::parse(text, nullptr, false)); };
    EXPECT_EQ(*read("null"), nullptr);
    EXPECT_EQ(*read(R"({"type":"text"})"), nullptr);
    Schema object(read(R"({"type":"json_object"})"));
    EXPECT_TRUE(object.takes(R"({"a": [1, {"b": null}]})"));
    EXPECT_TRUE(object.refuses("["));
    Schema schema(read(R"({"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"type":"null"}}})"));
    EXPECT_TRUE(schema.takes("null"));
    for (const char* bad : {"5", "{}", R"({"type":"xml"})", R"({"type":"json_schema"})",
                            R"({"type":"json_schema","json_schema":{"name":"n"}})"}) {
        EXPECT_FALSE(read(bad)) << bad;
    }
}

}  // namespace
}  // namespace lapidary::grammar

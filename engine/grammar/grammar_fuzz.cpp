// Schemas and texts from bytes. Whatever the program of a schema accepts must be JSON that a plain validator finds valid, and neither
// the schema nor a step may take more than it is allowed.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "grammar/recogniser.h"
#include "grammar/schema.h"
#include "grammar/test_validator.h"

namespace lapidary::grammar {
namespace {

void check(bool condition) {
    if (!condition) std::abort();
}

class Choices {
  public:
    Choices(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}
    uint32_t below(uint32_t n) { return at_ == end_ ? 0 : *at_++ % n; }
    [[nodiscard]] bool empty() const { return at_ == end_; }
    [[nodiscard]] std::string_view rest() const { return {reinterpret_cast<const char*>(at_), size_t(end_ - at_)}; }

  private:
    const uint8_t* at_;
    const uint8_t* end_;
};

Json value(Choices& choices, int depth) {
    switch (choices.below(depth > 0 ? 9 : 7)) {
        case 0: return nullptr;
        case 1: return choices.below(2) == 0;
        case 2: return int(choices.below(9)) - 3;
        case 3: return (double(choices.below(41)) - 9) / 4;
        case 4: return "";
        case 5: return std::string(1 + choices.below(3), char('a' + choices.below(3)));
        case 6: return "\xC3\xA9\"";
        case 7: return Json::array({value(choices, depth - 1), value(choices, depth - 1)});
        default: return Json{{std::string(1, char('a' + choices.below(3))), value(choices, depth - 1)}};
    }
}

Json schema(Choices& choices, int depth) {
    Json out = Json::object();
    const auto name = [&] { return std::string(1 + choices.below(2), char('a' + choices.below(3))); };
    const auto inner = [&] { return schema(choices, depth - 1); };
    const auto list = [&] {
        Json all = Json::array();
        for (uint32_t i = 0; i <= choices.below(3); ++i) all.push_back(inner());
        return all;
    };
    const uint32_t keywords = 1 + choices.below(4);
    for (uint32_t i = 0; i < keywords && !choices.empty(); ++i) {
        static const char* types[] = {"object", "array", "string", "number", "integer", "boolean", "null"};
        switch (choices.below(depth > 0 ? 34 : 15)) {
            case 0:
            case 1: out["type"] = types[choices.below(7)]; break;
            case 2: out["type"] = Json::array({types[choices.below(7)], types[choices.below(7)]}); break;
            case 3: out["const"] = value(choices, 2); break;
            case 4: out["enum"] = Json::array({value(choices, 2), value(choices, 1), value(choices, 1)}); break;
            case 5: out["minLength"] = choices.below(4); break;
            case 6: out["maxLength"] = choices.below(5); break;
            case 7: out["minimum"] = (double(choices.below(80)) - 30) / 4; break;
            case 8: out["exclusiveMaximum"] = (double(choices.below(120)) - 30) / 4; break;
            case 9: out["multipleOf"] = double(1 + choices.below(12)) / 4; break;
            case 10: out["minItems"] = choices.below(3); break;
            case 11: out["maxItems"] = choices.below(4); break;
            case 12: out["minProperties"] = choices.below(4); break;
            case 13: out["maxProperties"] = choices.below(4); break;
            case 14: out["required"] = Json::array({name(), name()}); break;
            case 15:
            case 16:
            case 17: out["properties"] = Json{{name(), inner()}, {name() + "x", inner()}}; break;
            case 18: out["additionalProperties"] = choices.below(2) == 0 ? Json(false) : inner(); break;
            case 19:
            case 20: out["items"] = inner(); break;
            case 21: out["prefixItems"] = list(); break;
            case 22:
            case 23: out["anyOf"] = list(); break;
            case 24:
            case 25: out["oneOf"] = list(); break;
            case 26: out["allOf"] = list(); break;
            case 27:
            case 28: out["not"] = inner(); break;
            case 29:
                out["if"] = inner();
                out[choices.below(2) == 0 ? "then" : "else"] = inner();
                break;
            case 30: out["dependentSchemas"] = Json{{name(), inner()}}; break;
            case 31: out["dependentRequired"] = Json{{name(), Json::array({name()})}}; break;
            case 32: out["contains"] = inner(); break;
            default: out["propertyNames"] = inner(); break;
        }
    }
    return out;
}

void judge(const Json& schema, const std::string& text) {
    const auto value = nlohmann::json::parse(text, nullptr, false);
    check(!value.is_discarded());
    const auto root =
        nlohmann::json::parse(schema.dump(-1, ' ', false, Json::error_handler_t::replace), nullptr, false);
    const bool valid = TestValidator(root).valid(value);
    if (!valid) std::fprintf(stderr, "%s\nallowed %s\n", root.dump().c_str(), text.c_str());
    check(valid);
}

// Writes by choice: first whatever comes, then what closes, so that it ends.
void write(const Json& schema, const std::shared_ptr<const Program>& program, Choices& choices) {
    Recogniser recogniser(program);
    Recogniser::State state = recogniser.start();
    std::string text;
    for (int step = 0; step < 400; ++step) {
        recogniser.allow(kMaskSteps);
        if (recogniser.complete(state)) {
            if (!program->distinct) judge(schema, text);
            if (choices.below(3) == 0) return;
        }
        constexpr std::string_view kBytes = "\"}],:0123456789ab{[xtrufalsn.- c\\\xC3\xA9";
        const auto from = choices.empty() ? 0 : choices.below(uint32_t(kBytes.size()));
        bool found = false;
        for (size_t i = 0; i < kBytes.size() && !found; ++i) {
            const char c = kBytes[(from + i) % kBytes.size()];
            const Recogniser::State next = recogniser.next(state, uint8_t(c));
            if (next == Recogniser::kDead) continue;
            text += c;
            state = next;
            found = true;
        }
        if (!found) return;  // only bytes that are not tried here go on
    }
}

}  // namespace
}  // namespace lapidary::grammar

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    using namespace lapidary::grammar;
    Choices choices(data, size);
    if (choices.below(4) == 0) {
        // A schema as text, and a text it may accept.
        const std::string_view rest = choices.rest();
        const size_t end = std::min(rest.find('\0'), rest.size());
        const auto schema = lapidary::chat::parse_json(rest.substr(0, end), "the schema");
        if (!schema) return 0;
        const auto program = compile_schema(*schema);
        if (!program || (*program)->distinct) return 0;
        Recogniser recogniser(*program);
        Recogniser::State state = recogniser.start();
        for (const char c : rest.substr(std::min(end + 1, rest.size()))) state = recogniser.next(state, uint8_t(c));
        check(state == Recogniser::kDead || !recogniser.complete(state) ||
              !nlohmann::json::parse(rest.substr(std::min(end + 1, rest.size())), nullptr, false).is_discarded());
        return 0;
    }
    const Json made = schema(choices, 3);
    const auto program = compile_schema(made);
    if (program) write(made, *program, choices);
    return 0;
}

#include "grammar/schema.h"

#include "chat/text.h"
#include "grammar/schema_compiler.h"

namespace lapidary::grammar {
namespace {

// Some milliseconds of work, also in a browser.
constexpr uint64_t kStepsBetweenPauses = 50'000;

struct Compiled {
    NodeId start = 0;
    std::string contradiction;
};

Task<Result<Compiled>> compile_into(ProgramBuilder& builder, JsonRules& rules, const Json& schema, Budget& budget,
                                    const Pause& pause) {
    SchemaCompiler compiler(schema, builder, rules, budget);
    const NodeId start = CO_TRY(compiler.start());
    while (CO_TRY(compiler.work(kStepsBetweenPauses))) {
        if (pause) CO_TRY(co_await pause());
    }
    co_return Compiled{start, compiler.contradiction()};
}

// Why there is no JSON for a schema is worth more than that there is none.
ProgramResult built(ProgramBuilder&& builder, NodeId start, const std::string& contradiction) {
    auto program = std::move(builder).build(start);
    if (program) return std::make_shared<const Program>(std::move(*program));
    if (contradiction.empty()) return std::unexpected(program.error());
    return fail(program.error().code, "{}: {}", program.error().message, contradiction);
}

}  // namespace

Task<ProgramResult> compile_schema(const Json& schema, Pause pause) {
    CO_TRY(chat::check_bounds(schema, "the schema"));
    Budget budget(kSchemaSteps);
    ProgramBuilder builder;
    JsonRules rules(builder);
    const Compiled made = CO_TRY(co_await compile_into(builder, rules, schema, budget, pause));
    co_return built(std::move(builder), made.start, made.contradiction);
}

Task<ProgramResult> compile_calls(std::span<const chat::Tool> tools, Pause pause) {
    Budget budget(kSchemaSteps);
    ProgramBuilder builder;
    JsonRules rules(builder, Dialect::call);
    std::vector<NodeId> calls;
    std::string contradiction;
    for (const chat::Tool& tool : tools) {
        CO_TRY(chat::check_bounds(tool.parameters, "the parameters of a tool"));
        NodeId arguments = rules.any_object();
        if (!tool.parameters.is_null()) {
            const auto refused = [&](const Error& error) {
                return fail(error.code, "the parameters of the tool '{}': {}", printable(tool.name), error.message);
            };
            // A schema that does not say so describes an object all the same.
            Json schema = tool.parameters;
            const bool unsaid = schema.is_object() && !schema.contains("type") && !schema.contains("$ref");
            if (unsaid) schema["type"] = "object";
            const SchemaDocument document(schema, budget);
            const auto resolved = document.resolved(&schema);
            if (!resolved) co_return refused(resolved.error());
            if (chat::string_of(chat::member(**resolved, "type")) != "object") {
                co_return fail(Code::invalid_argument, "the parameters of the tool '{}' must be of type object",
                               printable(tool.name));
            }
            auto made = co_await compile_into(builder, rules, schema, budget, pause);
            if (!made) co_return refused(made.error());
            arguments = made->start;
            if (contradiction.empty()) contradiction = made->contradiction;
        }
        calls.push_back(builder.literal("call:" + tool.name, arguments));
    }
    const NodeId start = builder.choice(calls);
    co_return built(std::move(builder), start, contradiction);
}

ProgramResult compile_json_object() {
    ProgramBuilder builder;
    const NodeId start = JsonRules(builder).any_object();
    return std::make_shared<const Program>(TRY(std::move(builder).build(start)));
}

Task<ProgramResult> compile_response_format(const Json& format, Pause pause) {
    if (format.is_null()) co_return nullptr;
    const std::string_view type = chat::string_of(chat::member(format, "type"));
    if (type == "text") co_return nullptr;
    if (type == "json_object") co_return compile_json_object();
    if (type != "json_schema") {
        co_return fail(Code::invalid_argument,
                       "'response_format' must have a 'type' of 'text', 'json_object' or 'json_schema'");
    }
    const Json& wrapped = chat::member(format, "json_schema");
    if (!wrapped.is_object() || !wrapped.contains("schema")) {
        co_return fail(Code::invalid_argument,
                       "'response_format' of type 'json_schema' must have 'json_schema.schema'");
    }
    co_return co_await compile_schema(wrapped["schema"], std::move(pause));
}

// Without pauses nothing is waited for.
ProgramResult compile_schema(const Json& schema) {
    return *compile_schema(schema, nullptr).run_now();
}
ProgramResult compile_calls(std::span<const chat::Tool> tools) {
    return *compile_calls(tools, nullptr).run_now();
}
ProgramResult compile_response_format(const Json& format) {
    return *compile_response_format(format, nullptr).run_now();
}

}  // namespace lapidary::grammar

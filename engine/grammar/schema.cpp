#include "grammar/schema.h"

#include "chat/text.h"
#include "grammar/schema_compiler.h"

namespace lapidary::grammar {
namespace {

constexpr uint64_t kAllSteps = ~uint64_t(0) >> 1;

struct Compiled {
    NodeId start = 0;
    std::string contradiction;
};

Result<Compiled> compile_into(ProgramBuilder& builder, JsonRules& rules, const Json& schema, Budget& budget) {
    SchemaCompiler compiler(schema, builder, rules, budget);
    const NodeId start = TRY(compiler.start());
    while (TRY(compiler.work(kAllSteps))) {
    }
    return Compiled{start, compiler.contradiction()};
}

// Why there is no JSON for a schema is worth more than that there is none.
ProgramResult built(ProgramBuilder&& builder, NodeId start, const std::string& contradiction) {
    auto program = std::move(builder).build(start);
    if (program) return std::make_shared<const Program>(std::move(*program));
    if (contradiction.empty()) return std::unexpected(program.error());
    return fail(program.error().code, "{}: {}", program.error().message, contradiction);
}

}  // namespace

ProgramResult compile_schema(const Json& schema) {
    TRY(chat::check_bounds(schema, "the schema"));
    Budget budget(kSchemaSteps);
    ProgramBuilder builder;
    JsonRules rules(builder);
    const Compiled made = TRY(compile_into(builder, rules, schema, budget));
    return built(std::move(builder), made.start, made.contradiction);
}

ProgramResult compile_calls(std::span<const chat::Tool> tools) {
    Budget budget(kSchemaSteps);
    ProgramBuilder builder;
    JsonRules rules(builder, Dialect::call);
    std::vector<NodeId> calls;
    std::string contradiction;
    for (const chat::Tool& tool : tools) {
        TRY(chat::check_bounds(tool.parameters, "the parameters of a tool"));
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
            if (!resolved) return refused(resolved.error());
            if (chat::string_of(chat::member(**resolved, "type")) != "object") {
                return fail(Code::invalid_argument, "the parameters of the tool '{}' must be of type object",
                            printable(tool.name));
            }
            auto made = compile_into(builder, rules, schema, budget);
            if (!made) return refused(made.error());
            arguments = made->start;
            if (contradiction.empty()) contradiction = made->contradiction;
        }
        calls.push_back(builder.literal("call:" + tool.name, arguments));
    }
    const NodeId start = builder.choice(calls);
    return built(std::move(builder), start, contradiction);
}

ProgramResult compile_json_object() {
    ProgramBuilder builder;
    const NodeId start = JsonRules(builder).any_object();
    return std::make_shared<const Program>(TRY(std::move(builder).build(start)));
}

ProgramResult compile_response_format(const Json& format) {
    if (format.is_null()) return nullptr;
    const std::string_view type = chat::string_of(chat::member(format, "type"));
    if (type == "text") return nullptr;
    if (type == "json_object") return compile_json_object();
    if (type != "json_schema") {
        return fail(Code::invalid_argument,
                    "'response_format' must have a 'type' of 'text', 'json_object' or 'json_schema'");
    }
    const Json& wrapped = chat::member(format, "json_schema");
    if (!wrapped.is_object() || !wrapped.contains("schema")) {
        return fail(Code::invalid_argument, "'response_format' of type 'json_schema' must have 'json_schema.schema'");
    }
    return compile_schema(wrapped["schema"]);
}

}  // namespace lapidary::grammar

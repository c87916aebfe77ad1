#include "api/schema.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "api/api.h"

namespace lapidary::api {
namespace {

std::set<std::string_view> names_of(Api::Methods methods) {
    std::set<std::string_view> out;
    for (const Api::Entry& entry : methods) out.insert(entry.name);
    return out;
}

TEST(Schema, HasEveryMethodOnce) {
    std::set<std::string_view> product, workshop;
    for (const MethodSchema& schema : method_schemas()) {
        EXPECT_TRUE((schema.workshop ? workshop : product).insert(schema.name).second) << schema.name;
    }
    EXPECT_EQ(product, names_of(Api::product_methods()));
    EXPECT_EQ(workshop, names_of(Api::workshop_methods()));
}

#ifndef __wasm__  // where there are no names
TEST(Schema, NamesOfPartsAreUnique) {
    std::map<std::string_view, const Nested*> seen;
    const auto look = [&](const auto& again, const Nested* message) -> void {
        const auto [it, fresh] = seen.emplace(message->name.text, message);
        EXPECT_EQ(it->second, message) << message->name.text;
        if (!fresh) return;
        std::set<std::string_view> members;
        for (const Field& field : message->fields) {
            EXPECT_TRUE(members.insert(field.name).second) << message->name.text << "." << field.name;
            if (field.nested != nullptr) again(again, field.nested);
        }
    };
    for (const MethodSchema& schema : method_schemas()) {
        look(look, schema.arguments);
        look(look, schema.result);
        for (const Nested* event : schema.events) look(look, event);
    }
    EXPECT_GT(seen.size(), 60u);
    EXPECT_NE(messages_ts().find("    'session.generate': { args: SessionGenerateArgs;"), std::string::npos);
    EXPECT_NE(messages_md().find("## session.generate\n"), std::string::npos);
}
#endif

}  // namespace
}  // namespace lapidary::api

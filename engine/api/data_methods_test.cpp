#include <gtest/gtest.h>

#include "testing/fake_host.h"
#include "testing/files.h"

namespace lapidary::api {
namespace {

using nlohmann::json;

class DataMethods : public ::testing::Test {
  protected:
    void SetUp() override {
        host.sources[1] = *testing::read_file("models/storyteller-q4_k_m.gguf");
        model = call("model.open", {{"sources", {{{"id", 1}, {"size", host.sources[1].size()}}}}}).json["model"];
    }
    testing::FinishedCall call(std::string_view method, const json& args, std::string_view file = {}) {
        api.call(++last, method, args.dump(), {reinterpret_cast<const uint8_t*>(file.data()), file.size()});
        host.run(api);
        EXPECT_TRUE(host.finished.contains(last)) << method << " never finished";
        return host.finished[last];
    }

    testing::FakeHost host;
    Api api{host};
    uint32_t last = 0;
    json model;
};

TEST_F(DataMethods, TellWhatAFileHoldsAndShowIt) {
    const auto read = call("data.read", {{"model", model}, {"preview", 1}},
                           "{\"prompt\":\"Who?\",\"completion\":\"Me.\"}\n{\"prompt\":7}\n{\"text\":\"Once.\"}\n");
    ASSERT_TRUE(read.ok) << read.json.dump();
    EXPECT_EQ(read.json["format"], "jsonl");
    EXPECT_EQ(read.json["examples"], 2);
    EXPECT_EQ(read.json["error_count"], 1);
    EXPECT_EQ(read.json["errors"][0]["line"], 2);
    EXPECT_EQ(read.json["questions"], json::array({"Who?"}));
    ASSERT_EQ(read.json["preview"].size(), 1u);
    const json& shown = read.json["preview"][0];
    EXPECT_EQ(shown["line"], 1);
    EXPECT_EQ(shown["tokens"], shown["shown"].size());
    EXPECT_EQ(shown["shown"][0], "<bos>");
    EXPECT_EQ(shown["shown"].back(), "<turn|>");
    EXPECT_EQ(shown["weights"][0], 0);
    EXPECT_EQ(shown["weights"].back(), 1);

    const json data = read.json["data"];
    const auto second = call("data.preview", {{"data", data}, {"first", 1}, {"count", 9}});
    ASSERT_EQ(second.json["preview"].size(), 1u);
    EXPECT_EQ(second.json["preview"][0]["line"], 3);
    EXPECT_TRUE(call("data.close", {{"data", data}}).ok);
    EXPECT_EQ(call("data.close", {{"data", data}}).json["code"], "not_found");
    EXPECT_EQ(call("data.preview", {{"data", data}}).json["code"], "not_found");
}

TEST_F(DataMethods, RefuseWhatTheyDoNotUnderstand) {
    const auto code = [&](json args, std::string_view file) {
        args["model"] = model;
        return call("data.read", args, file).json["code"].get<std::string>();
    };
    EXPECT_EQ(code({}, ""), "invalid_argument");
    EXPECT_EQ(code({{"format", "xml"}}, "a"), "invalid_argument");
    EXPECT_EQ(code({{"split", "words"}}, "a"), "invalid_argument");
    EXPECT_EQ(code({{"longest", 1}}, "a"), "invalid_argument");
    EXPECT_EQ(call("data.read", {{"model", 99}}, "a").json["code"], "not_found");
}

}  // namespace
}  // namespace lapidary::api

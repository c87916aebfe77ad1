#include "lora/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "testing/files.h"

namespace lapidary::lora {
namespace {

Bytes file_with(std::string_view header, size_t values) {
    Bytes out(8 + header.size() + values);
    const uint64_t size = header.size();
    std::memcpy(out.data(), &size, 8);
    std::memcpy(out.data() + 8, header.data(), header.size());
    return out;
}

void expect_refused(std::string_view header, std::string_view culprit, size_t values = 16) {
    const auto parsed = SafeTensors::parse(file_with(header, values));
    ASSERT_FALSE(parsed) << header;
    EXPECT_NE(parsed.error().message.find(culprit), std::string::npos) << parsed.error().message;
}

TEST(SafeTensors, ReadsWhatItWrites) {
    SafeTensorsWriter writer;
    writer.set_metadata("format", "pt");
    writer.set_metadata("quote", "\"\\ ✦");
    const uint64_t shape[] = {2, 3};
    const std::vector<float> values = {1, -2.5f, 3, 0, 1e-8f, 65504};
    const uint64_t short_shape[] = {3};
    const std::vector<int32_t> numbers = {-1, 0, 2147483647};
    writer.add("a", shape, values);
    writer.add("b", shape, values, Dtype::f16);
    writer.add("c", shape, values, Dtype::bf16);
    writer.add("ids", short_shape, numbers);
    writer.add("scalar", {}, std::vector<float>{7});
    const Bytes file = writer.file();
    const auto read = SafeTensors::parse(file);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_TRUE(SafeTensors::recognises(file));
    EXPECT_EQ(read->metadata("format"), "pt");
    EXPECT_EQ(read->metadata("quote"), "\"\\ ✦");
    EXPECT_EQ(read->metadata("other"), "");
    ASSERT_EQ(read->tensors().size(), 5u);
    EXPECT_EQ(*floats_of(*read->find("a")), values);
    EXPECT_EQ(read->find("a")->shape, (std::vector<uint64_t>{2, 3}));
    EXPECT_EQ((*floats_of(*read->find("b")))[1], -2.5f);
    EXPECT_EQ((*floats_of(*read->find("c")))[5], 65536.0f);
    EXPECT_EQ(*integers_of(*read->find("ids")), numbers);
    EXPECT_EQ((*floats_of(*read->find("scalar")))[0], 7.0f);
    EXPECT_FALSE(floats_of(*read->find("ids")));
    EXPECT_FALSE(integers_of(*read->find("a")));
    EXPECT_EQ(read->find("d"), nullptr);
    uint64_t header = 0;
    std::memcpy(&header, file.data(), 8);
    EXPECT_EQ(header % 8, 0u);
}

TEST(SafeTensors, ReadsAFileOfAnotherProgram) {
    const auto file = testing::read_file("tests/data/fixtures/tiny-e2b-q4km.lora.safetensors");
    ASSERT_TRUE(file);
    const auto read = SafeTensors::parse(*file);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->metadata("rank"), "4");
    EXPECT_EQ(integers_of(*read->find("tokens"))->size(), 48u);
    EXPECT_EQ(read->find("layers.0.q_proj.A")->shape, (std::vector<uint64_t>{4, 256}));
}

TEST(SafeTensors, RefusesWhatIsNoHeader) {
    expect_refused("[]", "list");
    expect_refused("{", "JSON");
    expect_refused("{}x", "JSON");
    expect_refused("7", "number");
    expect_refused(R"({"a":7})", "'a'");
    expect_refused(R"({"a":[]})", "list");
    expect_refused(R"({"a":{"dtype":{}}})", "object");
    expect_refused(R"({"a":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", "list");
    expect_refused(R"({"__metadata__":{"a":1}})", "number");
    expect_refused(R"({"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}})", "fraction");
    expect_refused(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})", "negative");
}

TEST(SafeTensors, RefusesTensorsThatAreNotWhereTheySay) {
    expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "'a'");
    expect_refused(R"({"a":{"dtype":"F32","shape":[5],"data_offsets":[0,20]}})", "'a'");
    expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[8,4]}})", "'a'");
    expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "'a'");
    expect_refused(R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "'a'");
    expect_refused(R"({"a":{"dtype":"F32","shape":[1],"shape":[1],"data_offsets":[0,4]}})", "second list");
    expect_refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", "'a'");
    expect_refused(R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})", "F64");
    expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
                       "b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
                   "overlap");
    expect_refused(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},
                       "a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                   "twice");
}

TEST(SafeTensors, RefusesAHeaderThatIsCutOffOrTooLong) {
    EXPECT_FALSE(SafeTensors::parse({}));
    Bytes file = file_with("{}", 0);
    EXPECT_TRUE(SafeTensors::parse(file));
    file[0] = 3;
    EXPECT_EQ(SafeTensors::parse(file).error().code, Code::truncated);
    file[7] = 0x40;
    EXPECT_EQ(SafeTensors::parse(file).error().code, Code::limit);
    EXPECT_FALSE(SafeTensors::recognises(file));
}

}  // namespace
}  // namespace lapidary::lora

// What is recorded for a GPU, dispatch by dispatch, is what it was. A change that is meant to alter it says why and brings
// the new list: build/native/dump_programs > tests/data/programs.txt
#include <gtest/gtest.h>

#include <sstream>

#include "testing/files.h"
#include "testing/planned_programs.h"
#include "testing/program_text.h"

namespace lapidary::infer {
namespace {

using testing::BindingUse;
using testing::PlannedModel;

class Programs : public ::testing::TestWithParam<PlannedModel> {};

TEST_P(Programs, AreThoseOfTheList) {
    const auto list = testing::read_text("tests/data/programs.txt");
    ASSERT_TRUE(list);
    const std::string prefix = std::string(GetParam().name) + " ";
    std::vector<std::string> wanted;
    std::istringstream lines(*list);
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(prefix)) wanted.push_back(line);
    }
    ASSERT_FALSE(wanted.empty());
    size_t at = 0;
    size_t different = 0;
    for (const testing::Profile& profile : testing::profiles()) {
        std::istringstream recorded(testing::program_digests(GetParam(), profile));
        for (std::string line; std::getline(recorded, line); ++at) {
            const std::string expected = at < wanted.size() ? wanted[at] : "(nothing)";
            if (line != expected && ++different <= 5) ADD_FAILURE() << "expected " << expected << "\nrecorded " << line;
        }
    }
    EXPECT_EQ(at, wanted.size()) << "programs";
    EXPECT_EQ(different, 0u) << "see them with build/native/dump_programs --full --model " << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(Planned, Programs, ::testing::ValuesIn(testing::planned_models()), [](const auto& tested) {
    std::string name(tested.param.name);
    std::ranges::replace(name, '-', '_');
    return name;
});

TEST(ProgramText, KnowsWhatAShaderOnlyWrites) {
    const auto bindings = testing::shader_bindings(
        "@group(0) @binding(0) var<storage,read> x:array<vec4f>;\n"
        "@group(0) @binding(1) var<storage,read_write> y:array<vec4f>;\n"
        "@group(0) @binding(2) var<storage,read_write> h:array<f32>;\n"
        "@group(0) @binding(3) var<storage,read_write> sum:array<f32>;\n"
        "fn main(){let y2=x[0];y[i[1]].x = y2.y;h[0]=h[1];if(sum[0]==1){}}");
    ASSERT_EQ(bindings.size(), 4u);
    EXPECT_EQ(bindings[0].name, "x");
    EXPECT_EQ(bindings[0].use, BindingUse::read);
    EXPECT_EQ(bindings[1].name, "y");
    EXPECT_EQ(bindings[1].use, BindingUse::write);
    EXPECT_EQ(bindings[2].use, BindingUse::update);
    EXPECT_EQ(bindings[3].use, BindingUse::update);
}

TEST(ProgramText, NamesWhatIsReadByWhoWroteIt) {
    gpu::PlanDevice device({});
    constexpr std::string_view kCopy =
        "override kM: u32;override kN: u32 = 7u;\n@group(0) @binding(0) var<storage,read> x:array<u32>;\n"
        "@group(0) @binding(1) var<storage,read_write> y:array<u32>;\nfn main(){y[0]=x[0];}";
    const auto copy = [&](gpu::Id from, gpu::Id to, uint64_t offset) {
        const gpu::Id pipeline = **device.pipeline(std::string(kCopy), "copy", {}, {{"kM", 2}}, {}).run_now();
        const std::array<gpu::Binding, 2> bindings = {{{from, offset, 16}, {to, 0, 32}}};
        return gpu::Command{pipeline, *device.bind_group(pipeline, bindings), 1, 2, 3};
    };
    const gpu::Id a = *device.buffer(32, gpu::Usage::storage, "a");
    const gpu::Id b = *device.buffer(32, gpu::Usage::storage, "b");
    const gpu::Id constant = *device.buffer(16, gpu::Usage::storage, "norms");
    const std::array<uint8_t, 4> bytes = {1, 2, 3, 4};
    device.write(constant, 0, bytes);
    const std::array<gpu::Command, 3> commands = {copy(a, b, 0), copy(b, a, 16), copy(constant, b, 0)};
    const std::string text = testing::ProgramPrinter(device, false).text(*device.program(commands));
    EXPECT_NE(text.find("%0 copy [1 2 3]"), std::string::npos) << text;
    EXPECT_NE(text.find("kM=2 kN=7\n      x=a+0:16 y=→b+0:32"), std::string::npos) << text;
    EXPECT_NE(text.find("x=%0.y@-16:16 y=→a+0:32"), std::string::npos) << text;
    EXPECT_NE(text.find("x=#"), std::string::npos) << text;
}

TEST(ProgramText, IsTheSameUnderOtherNames) {
    const std::string one =
        "struct Step { position: u32, w: u32 }\noverride kOut: u32 = 4u;  // rows\n"
        "@group(0) @binding(0) var<storage, read> x: array<vec4f>;\n"
        "fn gelu(x: f32) -> f32 { return x; }"
        "fn dots(a: vec4f, step: Step) -> f32 { let s = dot(a, x[kOut]); return s * step.position + a.x + 1.5e-3; }";
    const std::string other =
        "struct Now{at:u32,w:u32}override kRows:u32=4u;@group(0)@binding(0)var<storage,read>input:array<vec4f>;"
        "fn curve(v:f32)->f32{return v;}fn row(v:vec4f,now:Now)->f32{let sum=dot(v,input[kRows]);return "
        "sum*now.at+v.x+1.5e-3;}";
    EXPECT_EQ(testing::without_names(one), testing::without_names(other));
    for (const auto& [from, to] :
         {std::pair("a.x", "a.y"), std::pair("1.5e-3", "1.5e-4"), std::pair("(a, x", "(x, a")}) {
        std::string changed = one;
        changed.replace(changed.find(from), std::string_view(from).size(), to);
        EXPECT_NE(testing::without_names(changed), testing::without_names(other)) << to;
    }
}

}  // namespace
}  // namespace lapidary::infer

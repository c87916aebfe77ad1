// The fuzzer's corpus: made from the samples, replayed by every test run.
#include <dirent.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "testing/files.h"
#include "testing/gguf_invariants.h"
#include "testing/gguf_samples.h"

namespace lapidary::gguf {
namespace {

const std::string kFolder = "tests/data/fuzz/gguf/";

std::vector<std::string> files_in_corpus() {
    std::vector<std::string> names;
    DIR* folder = opendir((testing::root() + "/" + kFolder).c_str());
    if (folder == nullptr) return names;
    while (const dirent* entry = readdir(folder)) {
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    closedir(folder);
    return names;
}

// LAPIDARY_WRITE_CORPUS=1 makes the files instead of comparing them: after adding a sample.
TEST(GgufCorpus, HoldsEverySampleAsItIsMade) {
    for (const testing::GgufSample& sample : testing::gguf_samples()) {
        const std::string path = kFolder + sample.name + ".gguf";
        if (std::getenv("LAPIDARY_WRITE_CORPUS") != nullptr) {
            std::FILE* file = std::fopen((testing::root() + "/" + path).c_str(), "wb");
            ASSERT_NE(file, nullptr) << path;
            std::fwrite(sample.bytes.data(), 1, sample.bytes.size(), file);
            std::fclose(file);
        }
        EXPECT_EQ(testing::read_file(path), sample.bytes) << path;
    }
}

TEST(GgufCorpus, BreaksNoPromise) {
    const auto names = files_in_corpus();
    EXPECT_GE(names.size(), testing::gguf_samples().size());
    for (const std::string& name : names) {
        const auto bytes = testing::read_file(kFolder + name);
        ASSERT_TRUE(bytes) << name;
        EXPECT_EQ(testing::broken_gguf_promise(*bytes), "") << name;
    }
}

TEST(GgufCorpus, BreaksNoPromiseWithRealHeaders) {
    for (const char* name : {"tiny-31b-q4km", "tiny-e2b-q4_0", "tiny-moe-q4km"}) {
        const auto bytes = testing::read_file(std::string("tests/data/fixtures/") + name + ".gguf");
        ASSERT_TRUE(bytes) << name;
        EXPECT_EQ(testing::broken_gguf_promise(*bytes), "") << name;
    }
}

}  // namespace
}  // namespace lapidary::gguf

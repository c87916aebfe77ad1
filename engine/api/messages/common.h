// What several methods take.
#pragma once

#include "api/message.h"
#include "lora/adapter.h"

namespace lapidary::api {

struct SourceFile {
    Id id = 0;
    int64_t size = 0;
};
ARGUMENTS(SourceFile, MEMBER(id, "the host's number for it"), MEMBER(size, "in bytes").between(0, kMaxFileBytes));

struct AdapterUse {
    Id adapter = 0;
    double scale = 1;
};
ARGUMENTS(AdapterUse, MEMBER(adapter, "its number"), MEMBER(scale, "how much of it: 1 unless told"));

inline constexpr int64_t kMaxMedia = 4096;

struct MediaUse {
    Id media = 0;
};
ARGUMENTS(MediaUse, MEMBER(media, "its number"));

#define ADAPTERS                                                                              \
    MEMBER(adapters,                                                                          \
           "those that take part; none when left out. A session holds on to its tokens only " \
           "while they stay the same")                                                        \
        .at_most(lora::kMaxActive)

inline constexpr char kBackend[] = "'cpu' | 'gpu'";
inline constexpr char kKvType[] = "'f32' | 'f16' | 'i16' | 'q8'";

struct NoArgs {};
template <>
inline constexpr const char* kMessageName<NoArgs> = "NoArgs";
template <>
inline constexpr std::array<Field, 0> kFields<NoArgs>{};

struct Nothing {};
template <>
inline constexpr const char* kMessageName<Nothing> = "Nothing";
template <>
inline constexpr std::array<Field, 0> kFields<Nothing>{};

struct Progress {
    std::string type = "progress";
    int64_t done = 0;
    int64_t total = 0;
};
MESSAGE(Progress, MEMBER(type, "").as("'progress'"), MEMBER(done, "bytes, tokens or cases"),
        MEMBER(total, "of so many"));

}  // namespace lapidary::api

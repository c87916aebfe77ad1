// projector.* and media.*: towers, and what goes through them. Arguments and results.
#pragma once

#include "api/messages/model.h"

namespace lapidary::api {

inline constexpr int64_t kMaxSide = 1 << 16;  // of a picture, in pixels; how many there are in all is limited too
inline constexpr int64_t kMaxBudget = 1120;
inline constexpr int64_t kMaxVideoFrames = 1 << 24;
inline constexpr char kActivation[] = "'gelu' | 'quick-gelu'";
inline constexpr char kPixelLayout[] = "'rgba8' | 'rgb8' | 'grey8' | 'rgba16' | 'grey16'";

struct ProjectorOpenArgs {
    std::vector<SourceFile> sources;
    Id model = 0;
    std::string backend;
    std::string activation = "gelu";
};
ARGUMENTS(ProjectorOpenArgs,
          MEMBER(sources, "a projector file (mmproj); none: the towers that lie in the model's own file").at_most(1),
          MEMBER(model,
                 "whose soft tokens the towers are to make: others are refused. Left out, the towers can be described "
                 "and run by themselves")
              .maybe(),
          MEMBER(backend, "where the towers compute: as the model was loaded, unless told").maybe().as(kBackend),
          MEMBER(activation, "of the vision tower: 'gelu' as trained (default), 'quick-gelu' as llama.cpp computes")
              .maybe()
              .as(kActivation));

struct ProjectorOpenResult {
    Id projector = 0;
    std::string backend;
    int64_t width = 0;
    int64_t bytes = 0;
    std::optional<VisionTower> vision;
    std::optional<AudioTower> audio;
};
MESSAGE(ProjectorOpenResult, MEMBER(projector, "the number by which other methods know it"),
        MEMBER(backend, "where it will compute").as(kBackend), MEMBER(width, "of a soft token"),
        MEMBER(bytes, "of all its weights, which are loaded when they are first needed"), MEMBER(vision, "if it sees"),
        MEMBER(audio, "if it hears"));

struct ProjectorArgs {
    Id projector = 0;
};
ARGUMENTS(ProjectorArgs, MEMBER(projector, "its number"));

struct MediaArgs {
    Id media = 0;
};
ARGUMENTS(MediaArgs, MEMBER(media, "its number"));

struct MediaLookResult {
    std::string format;
    std::optional<int64_t> width;
    std::optional<int64_t> height;
    std::optional<int64_t> orientation;
};
MESSAGE(MediaLookResult,
        MEMBER(format, "told by the bytes, not by a name").as("'png' | 'jpeg' | 'webp' | 'gif' | 'wav' | 'unknown'"),
        MEMBER(width, "of a picture, as it is stored"), MEMBER(height, "likewise"),
        MEMBER(orientation, "of a picture, by EXIF: 1 is upright").as("1 | 2 | 3 | 4 | 5 | 6 | 7 | 8"));

struct MediaImageArgs {
    Id projector = 0;
    int64_t width = 0;
    int64_t height = 0;
    std::string layout = "rgba8";
    int64_t orientation = 1;
    std::optional<int64_t> budget;
    bool frame = false;
};
ARGUMENTS(
    MediaImageArgs, MEMBER(projector, "its number"),
    MEMBER(width, "in pixels, as they were stored").between(1, kMaxSide).required(),
    MEMBER(height, "likewise").between(1, kMaxSide).required(),
    MEMBER(layout,
           "rows of pixels from the top; 16 bits are little-endian. Alpha is dropped, of 16 bits the high 8 count")
        .maybe()
        .as(kPixelLayout),
    MEMBER(orientation, "by EXIF, as media.look tells: 1 unless told").between(1, 8),
    MEMBER(budget, "tokens it may become: 280 unless told, 70 of a frame").between(1, kMaxBudget),
    MEMBER(frame, "it is a frame of a video"));

struct MediaImageResult {
    Id media = 0;
    int64_t tokens = 0;
    int64_t width = 0;
    int64_t height = 0;
    std::string digest;
};
MESSAGE(MediaImageResult, MEMBER(media, "the number by which prompts know it"),
        MEMBER(tokens, "it becomes, without the two around it"), MEMBER(width, "in pixels, as the tower sees it"),
        MEMBER(height, "likewise"), MEMBER(digest, "the same for the same picture, budget and projector"));

struct MediaSoundArgs {
    Id projector = 0;
    std::optional<int64_t> rate;
};
ARGUMENTS(MediaSoundArgs, MEMBER(projector, "its number"),
          MEMBER(rate, "samples in a second, of one channel of float32; left out, the bytes are a WAV file"));

struct MediaSoundResult {
    Id media = 0;
    int64_t tokens = 0;
    double seconds = 0;
    int64_t pieces = 1;
    std::string digest;
};
MESSAGE(MediaSoundResult, MEMBER(media, "the number by which prompts know it"),
        MEMBER(tokens, "it becomes, without the two around it"), MEMBER(seconds, "how long it is"),
        MEMBER(pieces, "that are heard by themselves: more than 1 should be told to people"),
        MEMBER(digest, "the same for the same sound and projector"));

struct MediaFramesArgs {
    int64_t frames = 0;
    double fps = 24;
    int64_t most = 32;
};
ARGUMENTS(MediaFramesArgs, MEMBER(frames, "that the video has").between(1, kMaxVideoFrames).required(),
          MEMBER(fps, "frames in a second: 24 unless told"),
          MEMBER(most, "to look at: 32 unless told").between(1, 4096));

struct MediaFramesResult {
    std::vector<int64_t> indices;
    std::vector<int64_t> seconds;
};
MESSAGE(MediaFramesResult, MEMBER(indices, "of the frames to look at, from 0"),
        MEMBER(seconds, "when each is: for the part of the conversation"));

struct MediaPreparedResult {
    int64_t rows = 0;
    int64_t columns = 0;
    int64_t channels = 1;
};
MESSAGE(MediaPreparedResult, MEMBER(rows, "of a picture its height, of a sound its frames"),
        MEMBER(columns, "of a picture its width, of a sound the numbers in a frame"),
        MEMBER(channels, "3 of a picture"));

struct MediaEncodeResult {
    int64_t tokens = 0;
    int64_t width = 0;
    double ms = 0;
    double operations = 0;
};
MESSAGE(MediaEncodeResult, MEMBER(tokens, "rows"), MEMBER(width, "numbers in a row"),
        MEMBER(ms, "that the tower took; 0: it was known already"),
        MEMBER(operations, "additions and multiplications that the tower has to do for it"));

}  // namespace lapidary::api

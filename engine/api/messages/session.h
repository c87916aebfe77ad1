// session.*, but for session.generate: arguments and results.
#pragma once

#include "api/messages/generate.h"
#include "infer/session.h"
#include "infer/session_tensors.h"

namespace lapidary::api {

struct SessionArgs {
    Id session = 0;
};
ARGUMENTS(SessionArgs, MEMBER(session, "its number"));

struct SessionCreateArgs {
    Id model = 0;
    std::optional<int64_t> context;
    std::string backend;
    std::string kv;
    int64_t block = infer::kMaxBlock;
    bool share_scratch = true;
    std::string image_attention;
};
ARGUMENTS(
    SessionCreateArgs, MEMBER(model, "its number"),
    MEMBER(context, "tokens it can hold: 4,096 unless told, and at most the model's"),
    MEMBER(backend, "one the model was loaded for; the GPU if it was").maybe().as(kBackend),
    MEMBER(kv, "how the GPU keeps keys and values: i16 unless told").maybe().as(kKvType),
    MEMBER(block,
           "tokens that go through the GPU's layers together: 512 unless told, and fewer where a driver ends what "
           "takes long")
        .between(1, infer::kMaxBlock),
    MEMBER(share_scratch,
           "for tests: without it the GPU's intermediate results have a buffer each, which takes more memory and "
           "changes no bit"),
    MEMBER(image_attention,
           "how the tokens of an image see one another: 'reference' (default) as the model was trained, both ways on "
           "sliding layers of 12B and larger; 'llama.cpp': both ways everywhere")
        .maybe()
        .as("'reference' | 'llama.cpp'"));

struct SessionCreateResult {
    Id session = 0;
    int64_t context = 0;
};
MESSAGE(SessionCreateResult, MEMBER(session, "the number by which other methods know it"),
        MEMBER(context, "tokens it can hold"));

struct SessionLogitsArgs {
    Id session = 0;
    Id sink = 0;
    int64_t at_once = infer::Session::kLogitRows;
    std::vector<AdapterUse> adapters;
    std::vector<MediaUse> media;
};
ARGUMENTS(SessionLogitsArgs, MEMBER(session, "its number"), MEMBER(sink, "where the rows of float32 go"),
          MEMBER(at_once, "how many tokens go through the model together; 1 is how answers are made")
              .between(1, infer::Session::kLogitRows),
          ADAPTERS,
          MEMBER(media,
                 "what stands for the entries -1, -2, … of the tokens, each of which gives a row for each of its "
                 "soft tokens")
              .at_most(kMaxMedia));

struct SessionLogitsResult {
    int64_t tokens = 0;
    int64_t vocabulary = 0;
};
MESSAGE(SessionLogitsResult, MEMBER(tokens, "rows"), MEMBER(vocabulary, "numbers in a row"));

struct SessionScoreArgs {
    Id session = 0;
    int64_t top = 0;
    std::vector<AdapterUse> adapters;
};
ARGUMENTS(SessionScoreArgs, MEMBER(session, "its number"),
          MEMBER(top, "others to tell at each place").between(0, kMaxTopLogprobs), ADAPTERS);

struct SessionScoreResult {
    std::vector<Logprob> scores;
};
MESSAGE(SessionScoreResult, MEMBER(scores, "of every token but the first, after those before it"));

struct SessionEmbedArgs {
    Id session = 0;
    std::vector<int64_t> lengths;
    std::vector<AdapterUse> adapters;
};
ARGUMENTS(
    SessionEmbedArgs, MEMBER(session, "its number"),
    MEMBER(lengths, "tokens of each text, which follow one another in the blob; one text where there are none").maybe(),
    ADAPTERS);

struct SessionEmbedResult {
    int64_t tokens = 0;
    int64_t texts = 0;
    int64_t width = 0;
};
MESSAGE(SessionEmbedResult, MEMBER(tokens, "that were read"), MEMBER(texts, "and as many vectors"),
        MEMBER(width, "numbers in a vector"));

struct SessionPerplexityArgs {
    Id session = 0;
    std::optional<int64_t> window;
    std::vector<AdapterUse> adapters;
};
ARGUMENTS(SessionPerplexityArgs, MEMBER(session, "its number"),
          MEMBER(window, "tokens that are seen together: 512 unless told"), ADAPTERS);

struct SessionPerplexityResult {
    double perplexity = 0;
    double nll = 0;
    int64_t tokens = 0;
    int64_t window = 0;
};
MESSAGE(SessionPerplexityResult, MEMBER(perplexity, ""), MEMBER(nll, "the mean of the negative logarithms"),
        MEMBER(tokens, "that were predicted"), MEMBER(window, "tokens that were seen together"));

struct SessionSaveArgs {
    Id session = 0;
    Id sink = 0;
};
ARGUMENTS(SessionSaveArgs, MEMBER(session, "its number"), MEMBER(sink, "where it goes"));

struct SessionSaveResult {
    int64_t tokens = 0;
    int64_t bytes = 0;
};
MESSAGE(SessionSaveResult, MEMBER(tokens, "that it remembers"), MEMBER(bytes, "in the sink"));

struct SessionRestoreArgs {
    Id session = 0;
    SourceFile source;
    std::vector<AdapterUse> adapters;
};
ARGUMENTS(SessionRestoreArgs, MEMBER(session, "of the same model, backend and kv as the one that was saved"),
          MEMBER(source, "what was saved").required(), ADAPTERS);

struct SessionRestoreResult {
    int64_t tokens = 0;
};
MESSAGE(SessionRestoreResult, MEMBER(tokens, "that it remembers now"));

inline constexpr int64_t kMaxBenchTokens = 1 << 20;

struct SessionBenchArgs {
    Id session = 0;
    int64_t prompt = 512;
    int64_t decode = 128;
    int64_t depth = 0;
    int64_t runs = 5;
};
ARGUMENTS(SessionBenchArgs, MEMBER(session, "its number"),
          MEMBER(prompt, "tokens to read: 512 unless told").between(1, kMaxBenchTokens),
          MEMBER(decode, "tokens to write: 128 unless told").between(1, kMaxBenchTokens),
          MEMBER(depth, "tokens already in the context").between(0, kMaxBenchTokens),
          MEMBER(runs, "measurements, of which the median counts: 5 unless told").between(1, 100));

struct BenchBytes {
    int64_t weights = 0;
    int64_t session = 0;
};
MESSAGE(BenchBytes, MEMBER(weights, ""), MEMBER(session, ""));

struct SessionBenchResult {
    double prefill_tps = 0;
    double decode_tps = 0;
    int64_t prompt_tokens = 0;
    int64_t decode_tokens = 0;
    int64_t depth = 0;
    int64_t weight_bytes_per_token = 0;
    std::optional<double> decode_gpu_ms;
    std::optional<int64_t> dispatches_per_token;
    std::optional<int64_t> submits_per_token;
    std::optional<BenchBytes> gpu_bytes;
    std::optional<std::string> adapter;
    Json canvas;
};
MESSAGE(SessionBenchResult, MEMBER(prefill_tps, "tokens read in a second"),
        MEMBER(decode_tps, "tokens written in a second"), MEMBER(prompt_tokens, "that were read"),
        MEMBER(decode_tokens, "that were written"), MEMBER(depth, "tokens in the context before"),
        MEMBER(weight_bytes_per_token, "that a written token reads"),
        MEMBER(decode_gpu_ms, "of a written token, by the GPU's clock, if it has one"),
        MEMBER(dispatches_per_token, "on the GPU"), MEMBER(submits_per_token, "on the GPU"),
        MEMBER(gpu_bytes, "on the GPU"), MEMBER(adapter, "the GPU in words"),
        MEMBER(canvas, "of a model that writes by canvases, in place of decode_*").as("CanvasBench"));

struct SessionProfileArgs {
    Id session = 0;
    int64_t depth = 0;
};
ARGUMENTS(SessionProfileArgs, MEMBER(session, "one on the GPU"), MEMBER(depth, "tokens already in the context"));

struct KernelTime {
    std::string kernel;
    int64_t dispatches = 0;
    double ms = 0;
};
MESSAGE(KernelTime, MEMBER(kernel, "and its size"), MEMBER(dispatches, "of a token"),
        MEMBER(ms, "all of them together"));

struct SessionProfileResult {
    std::vector<KernelTime> profile;
};
MESSAGE(SessionProfileResult, MEMBER(profile, "where the GPU's time of a written token goes"));

}  // namespace lapidary::api

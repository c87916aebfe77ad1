#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "api/api.h"
#include "api/token_blob.h"
#include "chat/text.h"
#include "testing/fake_host.h"
#include "testing/files.h"
#include "testing/png.h"
#include "testing/safetensors.h"
#include "testing/tiny_projector.h"

namespace lapidary::api {
namespace {

using nlohmann::json;

class MediaTest : public ::testing::Test {
  protected:
    testing::FinishedCall call(std::string_view method, const json& args, std::span<const uint8_t> blob = {}) {
        api.call(++last, method, args.dump(), blob);
        host.run(api);
        EXPECT_TRUE(host.finished.contains(last)) << method << " never finished";
        return host.finished[last];
    }
    json succeed(std::string_view method, const json& args, std::span<const uint8_t> blob = {}) {
        const auto reply = call(method, args, blob);
        EXPECT_TRUE(reply.ok) << method << ": " << reply.json.dump();
        return reply.json;
    }
    std::string refusal(std::string_view method, const json& args, std::span<const uint8_t> blob = {}) {
        const auto reply = call(method, args, blob);
        EXPECT_FALSE(reply.ok) << reply.json.dump();
        return reply.ok ? "" : reply.json["message"].get<std::string>();
    }
    json source(Bytes bytes) {
        host.sources[++sources] = std::move(bytes);
        return {{"id", sources}, {"size", host.sources[sources].size()}};
    }
    json source(const std::string& path) {
        auto bytes = testing::read_file(path);
        EXPECT_TRUE(bytes) << path;
        return source(*std::move(bytes));
    }
    uint32_t open_model(const std::string& path) {
        const uint32_t model = succeed("model.open", {{"sources", {source(path)}}})["model"];
        succeed("model.load", {{"model", model}});
        return model;
    }
    uint32_t image(uint32_t projector, const std::string& name, uint32_t budget = 70, bool frame = false) {
        const auto png = testing::read_png("tests/data/media/img/" + name);
        const std::string layout = png->layout == image::Layout::rgb8 ? "rgb8" : "rgba8";
        return succeed("media.image",
                       {{"projector", projector},
                        {"width", png->width},
                        {"height", png->height},
                        {"layout", layout},
                        {"budget", budget},
                        {"frame", frame}},
                       png->pixels)["media"];
    }
    uint32_t sound(uint32_t projector, const std::string& name) {
        return succeed("media.sound", {{"projector", projector}},
                       *testing::read_file("tests/data/media/wav/" + name + ".wav"))["media"];
    }

    testing::FakeHost host;
    Api api{host};
    uint32_t last = 0;
    uint32_t sources = 0;
};

// Whole sequences with images and sounds between text, against transformers.
class Sequence : public MediaTest, public ::testing::WithParamInterface<const char*> {};

struct SequenceFiles {
    const char* text;
    const char* towers;
    std::vector<std::string> media;
};

TEST_P(Sequence, HasTheExpectedLogits) {
    const std::map<std::string, SequenceFiles> all = {
        {"seq-small", {"fixtures/tiny-e2b-q4km", "media/mmproj-small-F16", {"image square.png", "audio short"}}},
        {"seq-small-video",
         {"fixtures/tiny-e2b-q4km",
          "media/mmproj-small-F16",
          {"frame frame0.png", "frame frame1.png", "frame frame2.png"}}},
        {"seq-large", {"fixtures/tiny-31b-q4km", "media/mmproj-large-BF16", {"image wide.png"}}},
        {"seq-large-two",
         {"fixtures/tiny-31b-q4km", "media/mmproj-large-BF16", {"image square.png", "image wide.png"}}},
        {"seq-unified", {"fixtures/tiny-31b-q4km", "media/mmproj-unified-F16", {"image square.png", "audio second"}}},
        {"seq-blob", {"media/blob-e2b", "", {"audio second", "image wide.png"}}},
    };
    const SequenceFiles& files = all.at(GetParam());
    const auto expected = testing::read_safetensors(std::string("tests/data/media/") + GetParam() + ".safetensors");
    ASSERT_TRUE(expected);
    const uint32_t model = open_model(std::string("tests/data/") + files.text + ".gguf");
    json open = {{"model", model}};
    if (*files.towers != 0)
        open["sources"] = json::array({source(std::string("tests/data/") + files.towers + ".gguf")});
    const uint32_t projector = succeed("projector.open", open)["projector"];
    json media = json::array();
    for (const std::string& item : files.media) {
        const size_t space = item.find(' ');
        const std::string name = item.substr(space + 1);
        const bool hears = item.starts_with("audio");
        media.push_back(
            {{"media", hears ? sound(projector, name) : image(projector, name, 70, item.starts_with("frame"))}});
    }
    const uint32_t session = succeed("session.create", {{"model", model}, {"context", 256}})["session"];
    const json out = succeed("session.logits", {{"session", session}, {"sink", 1}, {"media", media}},
                             to_blob(expected->at("tokens").integers));
    const auto& logits = expected->at("logits").floats;
    const auto& rows = expected->at("logit_rows").integers;
    const size_t vocabulary = out["vocabulary"];
    ASSERT_EQ(logits.size(), rows.size() * vocabulary);
    const auto& spans = expected->at("spans").integers;
    ASSERT_EQ(out["tokens"].get<size_t>(), host.sinks[1].size() / vocabulary / sizeof(float));
    ASSERT_GE(out["tokens"].get<int>(), spans[spans.size() - 2] + spans.back());
    std::vector<float> actual;
    for (const int32_t row : rows) {
        std::vector<float> values(vocabulary);
        std::memcpy(values.data(), host.sinks[1].data() + size_t(row) * vocabulary * sizeof(float),
                    vocabulary * sizeof(float));
        actual.insert(actual.end(), values.begin(), values.end());
    }
    EXPECT_LT(testing::relative_l2(actual, logits), 1e-4);
}

INSTANTIATE_TEST_SUITE_P(All, Sequence,
                         ::testing::Values("seq-small", "seq-small-video", "seq-large", "seq-large-two", "seq-unified",
                                           "seq-blob"),
                         [](const auto& name) {
                             std::string out = name.param;
                             std::ranges::replace(out, '-', '_');
                             return out;
                         });

TEST_F(MediaTest, FramesOfAVideoAreThoseOfTheReference) {
    const auto text = testing::read_text("tests/data/media/video.json");
    ASSERT_TRUE(text);
    for (const json& video : json::parse(*text, nullptr, false)) {
        if (!video.contains("indices")) continue;  // fewer than transformers takes
        const json frames = succeed("media.frames", {{"frames", video["frames"]}, {"fps", video["fps"]}});
        EXPECT_EQ(frames["indices"], video["indices"]);
        std::string shown;
        for (const json& second : frames["seconds"]) {
            shown += (shown.empty() ? "" : " ") + chat::clock_text(second.get<uint64_t>()) + " <|image>.<image|>";
        }
        EXPECT_EQ(shown, video["text_with_one_soft_token_shown_as_a_dot"].get<std::string>());
    }
    EXPECT_EQ(succeed("media.frames", {{"frames", 5}})["indices"], json({0, 1, 2, 3, 4}));
}

// The story model with a projector of its width: a conversation with pictures.
class Talk : public MediaTest {
  protected:
    void SetUp() override {
        model = open_model("models/storyteller-q4_k_m.gguf");
        const uint32_t width = succeed("model.describe", {{"model", model}})["width"];
        projector = succeed("projector.open",
                            {{"model", model}, {"sources", {source(testing::tiny_projector(width))}}})["projector"];
        session = succeed("session.create", {{"model", model}, {"context", 512}})["session"];
    }
    static json seen(uint32_t media) { return {{"type", "image"}, {"media", media}}; }
    static json said(std::string_view text) { return {{"type", "text"}, {"text", text}}; }
    json answer(const json& messages, json more = json::object()) {
        more["session"] = session;
        more["messages"] = messages;
        more["max_tokens"] = 4;
        more["sampling"] = {{"temperature", 0}};
        return succeed("session.generate", more);
    }

    uint32_t model = 0;
    uint32_t projector = 0;
    uint32_t session = 0;
};

TEST_F(Talk, ReadsNoPictureTwice) {
    const uint32_t picture = image(projector, "square.png");
    json messages = {{{"role", "user"}, {"content", {seen(picture), said("What is it?")}}}};
    const json first = answer(messages);
    EXPECT_GT(first["prompt_tokens"], 64 + 2);
    EXPECT_EQ(first["cached_tokens"], 0);

    messages.push_back(first["message"]);
    messages.push_back({{"role", "user"}, {"content", "And its colour?"}});
    const json second = answer(messages);
    EXPECT_GE(second["cached_tokens"].get<int>(), first["prompt_tokens"].get<int>());

    // Another number for the same picture changes nothing; another picture is read from where it stands.
    succeed("media.close", {{"media", picture}});
    messages[0]["content"][0] = seen(image(projector, "square.png"));
    EXPECT_GT(answer(messages)["cached_tokens"], 64);
    messages.push_back({{"role", "user"}, {"content", {said("Like this?"), seen(image(projector, "wide.png"))}}});
    const json third = answer(messages);
    EXPECT_GT(third["cached_tokens"], 64);
    EXPECT_LT(third["cached_tokens"], third["prompt_tokens"]);
    messages[0]["content"].erase(0);
    EXPECT_LT(answer(messages)["cached_tokens"], 12) << "without the first picture everything behind it is new";
}

TEST_F(Talk, SeesWhatIsShown) {
    const auto logits_after = [&](const std::string& name) {
        const uint32_t media = image(projector, name);
        host.sinks[1].clear();
        succeed("session.logits", {{"session", session}, {"sink", 1}, {"media", {{{"media", media}}}}},
                to_blob(std::vector<int32_t>{2, -1, 5}));
        return host.sinks[1];
    };
    const Bytes square = logits_after("square.png");
    EXPECT_NE(square, logits_after("frame0.png"));
    EXPECT_EQ(square, logits_after("square.png"));
}

TEST_F(Talk, HearsAndWatches) {
    const uint32_t heard = sound(projector, "short");
    const json sounds = {{{"role", "user"}, {"content", {{{"type", "audio"}, {"media", heard}}, said("Who is it?")}}}};
    EXPECT_GT(answer(sounds)["prompt_tokens"], 8 + 2);
    json frames = json::array();
    for (const int second : {0, 61}) {
        frames.push_back({{"media", image(projector, "frame0.png", 70, true)}, {"seconds", second}});
    }
    const json video = {{{"role", "user"}, {"content", {{{"type", "video"}, {"frames", frames}}, said("Who won?")}}}};
    EXPECT_GT(answer(video)["prompt_tokens"], 2 * 60);
    const json wrong = {{{"role", "user"}, {"content", {seen(heard)}}}};
    EXPECT_EQ(refusal("session.generate", {{"session", session}, {"messages", wrong}}),
              "the messages call " + std::to_string(heard) + " a picture and it is a sound");
}

TEST_F(Talk, GoesOnFromASavedSession) {
    json messages = {{{"role", "user"}, {"content", {seen(image(projector, "square.png")), said("What is it?")}}}};
    const json first = answer(messages);
    succeed("session.save", {{"session", session}, {"sink", 9}});
    const uint32_t other = succeed("session.create", {{"model", model}, {"context", 512}})["session"];
    succeed("session.restore", {{"session", other}, {"source", source(host.sinks[9])}});
    session = other;
    messages.push_back(first["message"]);
    messages.push_back({{"role", "user"}, {"content", "And its colour?"}});
    EXPECT_GT(answer(messages)["cached_tokens"], 64);
}

TEST_F(Talk, ForgetsOldPicturesWhereTheContextSlides) {
    json messages = json::array();
    for (const char* name :
         {"square.png", "wide.png", "frame0.png", "frame1.png", "frame2.png", "square.png", "wide.png"}) {
        messages.push_back({{"role", "user"}, {"content", {seen(image(projector, name)), said("And this?")}}});
        messages.push_back({{"role", "assistant"}, {"content", "A thing."}});
    }
    messages.push_back({{"role", "user"}, {"content", "Which was the best?"}});
    json request = {{"session", session}, {"messages", messages}, {"max_tokens", 2}};
    EXPECT_NE(refusal("session.generate", request).find("the context holds 512"), std::string::npos);
    request["overflow"] = "slide";
    EXPECT_GT(succeed("session.generate", request)["dropped_messages"], 0);
}

TEST_F(Talk, RefusesWhatItCannotTakeAndGoesOn) {
    const auto said_of = [&](const json& content) {
        const json messages = {{{"role", "user"}, {"content", content}}};
        return refusal("session.generate", {{"session", session}, {"messages", messages}});
    };
    EXPECT_NE(said_of(json::array({{{"type", "image_url"}, {"image_url", {{"url", "x"}}}}})).find("without its number"),
              std::string::npos);
    EXPECT_NE(said_of(json::array({seen(999)})).find("there is no such picture or sound"), std::string::npos);
    EXPECT_NE(said_of(json::array({{{"type", "image"}, {"media", -1}}})).find("must be a whole number"),
              std::string::npos);
    json size = {{"projector", projector}, {"width", 60000}, {"height", 60000}};
    EXPECT_EQ(refusal("media.image", size),
              "the picture has 60000 × 60000 pixels; at most 100 million are taken: make it smaller");
    const Bytes thin(4 * 6000, 7);
    size = {{"projector", projector}, {"width", 6000}, {"height", 1}, {"budget", 280}};
    const uint32_t long_picture = succeed("media.image", size, thin)["media"];
    EXPECT_NE(refusal("media.encode", {{"media", long_picture}}).find("this model has positions for 64"),
              std::string::npos);
    EXPECT_NE(refusal("media.sound", {{"projector", projector}}, Bytes(100, 1)).find("WAV"), std::string::npos);
    EXPECT_NE(refusal("media.sound", {{"projector", projector}, {"rate", 16000}}, {}).find("empty"), std::string::npos);
    Bytes nan(64, 0xFF);
    EXPECT_NE(refusal("media.sound", {{"projector", projector}, {"rate", 16000}}, nan).find("not a number"),
              std::string::npos);
    EXPECT_GT(answer({{{"role", "user"}, {"content", "Are you there?"}}})["completion_tokens"], 0);
}

TEST_F(Talk, KnowsWhichProjectorsFit) {
    EXPECT_EQ(refusal("projector.open", {{"model", model}}),
              "this model neither sees nor hears: its file has no towers, and no projector (mmproj) was given");
    EXPECT_NE(
        refusal("projector.open", {{"model", model}, {"sources", {source("tests/data/media/mmproj-small-F16.gguf")}}})
            .find("the projector does not belong to this model"),
        std::string::npos);
    EXPECT_NE(refusal("projector.open", {{"sources", {source("models/storyteller-q4_k_m.gguf")}}})
                  .find("this file is no projector"),
              std::string::npos);
    const json alone = succeed("projector.open", {{"sources", {source("tests/data/media/mmproj-large-BF16.gguf")}}});
    EXPECT_EQ(alone["vision"]["kind"], "gemma4v");
    EXPECT_FALSE(alone.contains("audio"));
    EXPECT_NE(refusal("media.sound", {{"projector", alone["projector"]}}).find("does not hear"), std::string::npos);
    // A bare projector is a file like any other: it is described, and its towers run.
    const uint32_t bare =
        succeed("model.open", {{"sources", {source("tests/data/media/mmproj-unified-F16.gguf")}}})["model"];
    const json described = succeed("model.describe", {{"model", bare}});
    EXPECT_EQ(described["towers"]["audio"]["kind"], "gemma4ua");
    EXPECT_FALSE(described["supported"]);
    const json tower = succeed("projector.open", {{"model", bare}});
    const auto reply = call("media.encode", {{"media", sound(tower["projector"], "short")}});
    EXPECT_EQ(reply.json["tokens"], 8);
    EXPECT_EQ(reply.blob.size(), 8u * 256 * sizeof(float));
}

TEST_F(MediaTest, SoundsOfMoreThanHalfAMinuteAreCut) {
    const uint32_t projector =
        succeed("projector.open", {{"sources", {source("tests/data/media/mmproj-small-F16.gguf")}}})["projector"];
    const auto heard = [&](uint64_t samples) {
        const json out = succeed("media.sound", {{"projector", projector}, {"rate", 16000}}, Bytes(samples * 4));
        return std::pair<int, int>(out["tokens"], out["pieces"]);
    };
    EXPECT_EQ(heard(480000), std::pair(750, 1));
    EXPECT_EQ(heard(480100), std::pair(750, 1)) << "what is left is too short to be heard";
    EXPECT_EQ(heard(496000), std::pair(775, 2));
    EXPECT_EQ(refusal("media.sound", {{"projector", projector}, {"rate", 1000}}, Bytes(4 * 36'000'00)),
              "the sound lasts 1:00:00; at most 30:00 are taken: cut it into parts");
}

}  // namespace
}  // namespace lapidary::api

#include "train/session.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "testing/fixture_model.h"
#include "testing/safetensors.h"
#include "train/checkpoint.h"
#include "train/cpu_backend.h"
#include "train/sequence.h"

namespace lapidary::train {
namespace {

// Examples of different lengths, each recognisable by its first token.
std::shared_ptr<const Examples> examples(size_t count, size_t longest = 9) {
    auto out = std::make_shared<Examples>();
    for (size_t i = 0; i < count; ++i) {
        Example example;
        const size_t tokens = 3 + i % (longest - 2);
        for (size_t t = 0; t < tokens; ++t) example.tokens.push_back(int32_t(t == 0 ? i : 7 * i + 3 * t) % 300);
        example.weights.assign(tokens, 1);
        example.weights[0] = 0.5f;
        example.weights.back() = 0;
        out->push_back(std::move(example));
    }
    return out;
}

std::vector<int32_t> firsts(const std::vector<Sequence>& sequences) {
    std::vector<int32_t> out;
    for (const Sequence& sequence : sequences) {
        EXPECT_TRUE(check(sequence, 300));
        for (const uint32_t start : sequence.starts) out.push_back(sequence.tokens[start]);
    }
    return out;
}

TEST(Batches, GiveEveryExampleOnceAnEpochInAnotherOrder) {
    const Settings settings{.batch = 4, .sequence = 20, .epochs = 2, .seed = 3};
    const auto batches = *Batches::create(examples(11), settings);
    EXPECT_EQ(batches.steps_of_epoch(), 3u);
    EXPECT_EQ(batches.steps(), 6u);
    std::vector<std::vector<int32_t>> epochs(2);
    for (uint64_t step = 0; step < 6; ++step) {
        const auto sequences = batches.step(step);
        for (const Sequence& sequence : sequences) EXPECT_LE(sequence.tokens.size(), 20u);
        for (const int32_t first : firsts(sequences)) epochs[step / 3].push_back(first);
    }
    EXPECT_NE(epochs[0], epochs[1]);
    for (auto& epoch : epochs) {
        std::ranges::sort(epoch);
        EXPECT_EQ(epoch, (std::vector<int32_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
    }
    EXPECT_EQ(firsts((*Batches::create(examples(11), settings)).step(4)), firsts(batches.step(4)));
    Settings other = settings;
    other.seed = 4;
    EXPECT_NE(firsts((*Batches::create(examples(11), other)).step(4)), firsts(batches.step(4)));
}

TEST(Batches, PackShortExamplesIntoOneSequence) {
    const auto batches = *Batches::create(examples(4, 4), {.batch = 4, .sequence = 64});
    const auto sequences = batches.step(0);
    ASSERT_EQ(sequences.size(), 1u);
    EXPECT_EQ(sequences[0].starts.size(), 4u);
    EXPECT_EQ(batches.longest(), sequences[0].tokens.size());
}

TEST(Batches, KeepValidationApart) {
    const auto batches = *Batches::create(examples(20), {.batch = 100, .validation = 0.25f});
    const auto kept = firsts(batches.validation());
    EXPECT_EQ(kept.size(), 5u);
    for (const int32_t first : firsts(batches.step(0))) EXPECT_EQ(std::ranges::count(kept, first), 0);
    EXPECT_EQ(firsts(batches.step(0)).size(), 15u);
}

TEST(Batches, CutOrRefuseWhatIsTooLong) {
    Settings settings{.batch = 8, .sequence = 5};
    const auto cut = *Batches::create(examples(8), settings);
    EXPECT_EQ(cut.cut_examples(), 4u);
    for (const Sequence& sequence : cut.step(0)) {
        EXPECT_LE(sequence.tokens.size(), 5u);
        EXPECT_EQ(sequence.weights.back(), 0);
    }
    settings.cut = false;
    const auto refused = Batches::create(examples(8), settings);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("example 4 has 6 tokens"), std::string::npos) << refused.error().message;
}

TEST(Batches, LeaveOutWhatHasNothingToLearn) {
    auto list = *examples(3);
    std::ranges::fill(list[1].weights, 0.0f);
    const auto batches = *Batches::create(std::make_shared<Examples>(list), {.batch = 8});
    EXPECT_EQ(batches.training_examples(), 2u);
    for (auto& example : list) std::ranges::fill(example.weights, 0.0f);
    EXPECT_FALSE(Batches::create(std::make_shared<Examples>(list), {}));
}

TEST(Schedules, GrowInTheWarmUpAndFallTowardsNothing) {
    Settings settings{.adamw = {.learning_rate = 1}, .warmup = 0.2f};
    const auto at = [&](uint64_t step) { return double(learning_rate(settings, step, 20)); };
    EXPECT_NEAR(at(0), 0.2, 1e-6);
    EXPECT_NEAR(at(3), 0.8, 1e-6);
    EXPECT_NEAR(at(4), 1, 1e-6);
    EXPECT_NEAR(at(12), 0.5, 1e-6);
    EXPECT_GT(at(19), 0);
    EXPECT_LT(at(19), 0.02);
    settings.schedule = Schedule::linear;
    EXPECT_NEAR(at(8), 0.75, 1e-6);
    settings.schedule = Schedule::constant;
    EXPECT_NEAR(at(19), 1, 1e-6);
    EXPECT_FALSE(schedule_from("square"));
}

// Counts, and gives what it is told to.
class FakeBackend final : public Backend {
  public:
    explicit FakeBackend(std::vector<double>* divisors = nullptr) : divisors_(divisors) {}
    double loss = 1;
    double norm = 1;
    int forgotten = 0;

    Task<Result<double>> accumulate(const Sequence& sequence, double divisor, Dropout, Breathe breathe) override {
        if (divisors_) divisors_->push_back(divisor);
        if (breathe) CO_TRY(co_await breathe());
        co_return loss* weight_of(sequence);
    }
    Task<Result<double>> evaluate(const Sequence& sequence, Breathe) override { co_return 2 * weight_of(sequence); }
    Task<Result<double>> step(const AdamW&) override { co_return norm; }
    void forget_gradients() override { ++forgotten; }
    Task<Result<lora::Adapter>> adapter() override { co_return lora::Adapter{}; }
    Task<Result<std::vector<lora::Update>>> gradients() override { co_return std::vector<lora::Update>{}; }
    Task<Result<Moments>> moments() override { co_return Moments{}; }
    Task<Status> restore(const lora::Adapter&, const Moments&) override { co_return Status{}; }

  private:
    std::vector<double>* divisors_;
};

std::unique_ptr<Session> session_on(std::unique_ptr<Backend> backend, const Settings& settings, size_t count) {
    auto made = Session::create(settings, examples(count), std::move(backend), [] { return 0.0; });
    EXPECT_TRUE(made) << made.error().message;
    return made ? std::move(*made) : nullptr;
}

TEST(TrainingSession, AveragesOverEverythingInAStep) {
    std::vector<double> divisors;
    const Settings settings{.batch = 2, .accumulate = 3, .sequence = 9};
    const auto session = session_on(std::make_unique<FakeBackend>(&divisors), settings, 6);
    std::vector<StepReport> reports;
    const auto done = *session->run({.on_step = [&](const auto& r) { reports.push_back(r); }}, {}, {}).run_now();
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(reports.size(), 1u);
    EXPECT_NEAR(reports[0].loss, 1, 1e-12);
    EXPECT_GT(divisors.size(), 1u);
    double all = 0;
    for (const Example& example : *examples(6)) {
        for (const float w : example.weights) all += double(w);
    }
    for (const double divisor : divisors) EXPECT_EQ(divisor, all);
}

TEST(TrainingSession, ValidatesAndSamplesAtTheStartNowAndThenAndAtTheEnd) {
    const Settings settings{.batch = 1, .validation = 0.1f, .epochs = 1, .every = 4};
    const auto session = session_on(std::make_unique<FakeBackend>(), settings, 10);
    std::vector<uint64_t> validated;
    std::vector<uint64_t> sampled;
    Listener listener;
    listener.on_validation = [&](uint64_t step, double loss) {
        validated.push_back(step);
        EXPECT_NEAR(loss, 2, 1e-12);
    };
    listener.sample = [&](uint64_t step) -> Task<Status> {
        sampled.push_back(step);
        co_return Status{};
    };
    EXPECT_TRUE(*session->run(listener, {}, {}).run_now());
    EXPECT_EQ(validated, (std::vector<uint64_t>{0, 4, 8, 9}));
    EXPECT_EQ(sampled, validated);
}

TEST(TrainingSession, StopsAndExplainsWhenTheLossIsNoNumber) {
    for (const bool loss : {true, false}) {
        auto backend = std::make_unique<FakeBackend>();
        FakeBackend& fake = *backend;
        const auto session = session_on(std::move(backend), {.batch = 1}, 5);
        Listener listener;
        listener.on_step = [&](const StepReport& report) {
            if (report.step == 2) (loss ? fake.loss : fake.norm) = NAN;
        };
        const auto ended = *session->run(listener, {}, {}).run_now();
        ASSERT_FALSE(ended);
        EXPECT_NE(ended.error().message.find("step 3"), std::string::npos);
        EXPECT_NE(ended.error().message.find("learning rate"), std::string::npos);
        EXPECT_EQ(session->step(), 2u);
        EXPECT_GT(fake.forgotten, 0);
    }
}

TEST(TrainingSession, StopsBetweenStepsAndGoesOn) {
    const auto session = session_on(std::make_unique<FakeBackend>(), {.batch = 1}, 5);
    const auto stopped = *session->run({}, {}, [&] { return session->step() == 3; }).run_now();
    EXPECT_EQ(stopped.error().code, Code::cancelled);
    EXPECT_EQ(session->step(), 3u);
    EXPECT_TRUE(*session->run({}, {}, {}).run_now());
    EXPECT_TRUE(session->finished());
}

class RealTraining : public ::testing::Test {
  protected:
    void SetUp() override {
        auto loaded = testing::load_model("tests/data/fixtures/tiny-moe-q4km.gguf");
        ASSERT_TRUE(loaded) << loaded.error().message;
        model_ = std::make_unique<testing::FixtureModel>(std::move(*loaded));
    }
    [[nodiscard]] std::unique_ptr<Session> session(const Settings& settings) const {
        auto adapter = initial_adapter(*model_->table, settings);
        EXPECT_TRUE(adapter);
        auto backend = CpuBackend::create(model_->config, model_->table, model_->weights, *adapter, {});
        EXPECT_TRUE(backend);
        return session_on(std::move(*backend), settings, 10);
    }
    static lora::Adapter adapter(Session& session) { return **session.backend().adapter().run_now(); }

    // Ten steps, on few layers to be quick.
    Settings settings_{.rank = 2,
                       .targets = {lora::Target::q, lora::Target::v, lora::Target::down},
                       .layers = {1, 2},
                       .batch = 2,
                       .sequence = 12,
                       .epochs = 2,
                       .adamw = {.learning_rate = 1e-2f},
                       .dropout = 0.1f,
                       .seed = 11};
    std::unique_ptr<testing::FixtureModel> model_;
};

void expect_same(const lora::Adapter& a, const lora::Adapter& b) {
    ASSERT_EQ(a.updates.size(), b.updates.size());
    for (size_t i = 0; i < a.updates.size(); ++i) {
        EXPECT_EQ(a.updates[i].a, b.updates[i].a);
        EXPECT_EQ(a.updates[i].b, b.updates[i].b);
    }
}

TEST_F(RealTraining, BeginsWhereTheModelIsAndDependsOnTheSeed) {
    const auto adapter = *initial_adapter(*model_->table, settings_);
    ASSERT_EQ(adapter.updates.size(), 5u);  // layer 2 has no values of its own
    for (const lora::Update& update : adapter.updates) {
        for (const float b : update.b) ASSERT_EQ(b, 0);
        float largest = 0;
        for (const float a : update.a) largest = std::max(largest, std::abs(a));
        EXPECT_LE(largest, 1 / std::sqrt(float(update.in)));
        EXPECT_GT(largest, 0.9f / std::sqrt(float(update.in)));
        EXPECT_EQ(update.scale, settings_.alpha / 2);
    }
    Settings other = settings_;
    other.seed = 12;
    EXPECT_NE(adapter.updates[0].a, (*initial_adapter(*model_->table, other)).updates[0].a);
    EXPECT_NE(adapter.updates[0].a, adapter.updates[1].a);
    other.layers = {99};
    EXPECT_FALSE(initial_adapter(*model_->table, other));
}

TEST_F(RealTraining, GoesOnFromACheckpointWithTheSameBits) {
    const auto straight = session(settings_);
    std::vector<double> losses;
    Listener listener{.on_step = [&](const StepReport& report) { losses.push_back(report.loss); }};
    ASSERT_TRUE(*straight->run(listener, {}, {}).run_now());
    ASSERT_EQ(straight->step(), 10u);
    const std::vector<double> expected = std::exchange(losses, {});

    const auto first = session(settings_);
    ASSERT_FALSE(*first->run(listener, {}, [&] { return first->step() == 5; }).run_now());
    const Bytes saved = **first->save().run_now();
    const auto second = session(settings_);
    const auto restored = *second->restore(saved).run_now();
    ASSERT_TRUE(restored) << restored.error().message;
    EXPECT_EQ(second->step(), 5u);
    ASSERT_TRUE(*second->run(listener, {}, {}).run_now());
    EXPECT_EQ(losses, expected);
    expect_same(adapter(*second), adapter(*straight));
    EXPECT_EQ(**second->save().run_now(), **straight->save().run_now());

    // A step that is interrupted is lost, and nothing else.
    const auto third = session(settings_);
    int breaths = 0;
    const Breathe stop = [&]() -> Task<Status> {
        if (++breaths == 20) co_return fail(Code::cancelled, "enough");
        co_return Status{};
    };
    ASSERT_FALSE(*third->run({}, stop, {}).run_now());
    EXPECT_LT(third->step(), 10u);
    ASSERT_TRUE(*third->run({}, {}, {}).run_now());
    expect_same(adapter(*third), adapter(*straight));
}

TEST_F(RealTraining, RefusesOtherCheckpointsAndOtherBytes) {
    settings_.steps = 1;
    const auto training = session(settings_);
    ASSERT_TRUE(*training->run({}, {}, {}).run_now());
    const Bytes saved = **training->save().run_now();
    ASSERT_TRUE(*training->restore(saved).run_now());

    for (const size_t length : {size_t{0}, size_t{7}, size_t{100}, saved.size() / 2, saved.size() - 1}) {
        EXPECT_FALSE(*training->restore(std::span(saved).first(length)).run_now()) << length;
    }
    for (size_t at = 0; at < saved.size(); at += saved.size() / 97) {
        Bytes damaged = saved;
        damaged[at] ^= 0x40;
        EXPECT_FALSE(*training->restore(damaged).run_now()) << "byte " << at;
    }
    settings_.seed = 1;
    EXPECT_FALSE(*session(settings_)->restore(saved).run_now());  // other order of the examples
    settings_.seed = 11;
    settings_.rank = 3;
    EXPECT_FALSE(*session(settings_)->restore(saved).run_now());  // other shape
    EXPECT_EQ(training->step(), 1u);
}

TEST_F(RealTraining, PacksOrNotWithTheSameResult) {
    settings_.steps = 2;
    settings_.batch = 5;
    settings_.dropout = 0;
    settings_.sequence = 64;
    const auto packed = session(settings_);
    settings_.sequence = 12;
    const auto apart = session(settings_);
    std::vector<double> losses;
    Listener listener{.on_step = [&](const StepReport& report) { losses.push_back(report.loss); }};
    ASSERT_TRUE(*packed->run(listener, {}, {}).run_now());
    ASSERT_TRUE(*apart->run(listener, {}, {}).run_now());
    ASSERT_EQ(losses.size(), 4u);
    EXPECT_NEAR(losses[0], losses[2], 1e-5);
    EXPECT_NEAR(losses[1], losses[3], 1e-3);
}

}  // namespace
}  // namespace lapidary::train

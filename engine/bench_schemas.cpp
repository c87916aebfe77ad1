// Reads a folder of files {schema, tests: [{valid, data}]}, as those of MaskBench are (guidance-ai/jsonschemabench,
// maskbench/data), and a vocabulary, and says how answer formats fare: which schemas are refused, which instances are judged
// wrongly, and what a mask costs.
//
//   cmake --build --preset native --target bench_schemas
//   build/native/bench_schemas FOLDER VOCABULARY.gguf [every nth file] [file names must contain this]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "gguf/header.h"
#include "grammar/recogniser.h"
#include "grammar/schema.h"
#include "infer/answer_format.h"
#include "tokenizer/tokenizer.h"

namespace lapidary::infer {
namespace {

using grammar::Json;

// The thread's own time: what else the machine does makes no difference.
double now_us() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) * 1e6 + double(time.tv_nsec) / 1e3;
}

// As most programs write it: a blank after commas and colons.
void write_json(const Json& value, std::string& out) {
    if (value.is_object() || value.is_array()) {
        const bool object = value.is_object();
        out += object ? '{' : '[';
        bool first = true;
        for (const auto& [name, inner] : value.items()) {
            if (!first) out += ", ";
            first = false;
            if (object) out += chat::json_text(Json(name)) + ": ";
            write_json(inner, out);
        }
        out += object ? '}' : ']';
    } else {
        out += chat::json_text(value);
    }
}

// Whether a program takes a value with its members in some order. Objects are written member by member, whichever comes next.
class AnyOrder {
  public:
    explicit AnyOrder(std::shared_ptr<const grammar::Program> program) : recogniser_(std::move(program)) {}

    bool takes(const Json& value) {
        auto state = recogniser_.start();
        return write(value, state) && recogniser_.complete(state);
    }

  private:
    using State = grammar::Recogniser::State;
    using Members = std::vector<std::pair<std::string, const Json*>>;
    static constexpr int kMaxTries = 20'000;  // of which most are soon over

    bool read(std::string_view text, State& state) {
        for (const char c : text) {
            state = recogniser_.next(state, uint8_t(c));
            if (state == grammar::Recogniser::kDead) return false;
        }
        return true;
    }
    bool write(const Json& value, State& state) {
        if (value.is_object()) {
            Members members;
            for (const auto& [name, inner] : value.items()) members.emplace_back(chat::json_text(Json(name)), &inner);
            return read("{", state) && write_members(members, "", state);
        }
        if (!value.is_array()) return read(chat::json_text(value), state);
        if (!read("[", state)) return false;
        for (size_t i = 0; i < value.size(); ++i) {
            if ((i > 0 && !read(", ", state)) || !write(value[i], state)) return false;
        }
        return read("]", state);
    }
    bool write_members(const Members& left, std::string_view comma, State& state) {
        if (left.empty()) return read("}", state);
        for (size_t i = 0; i < left.size() && ++tries_ < kMaxTries; ++i) {
            State next = state;
            if (!read(comma, next) || !read(left[i].first, next) || !read(": ", next)) continue;
            if (!write(*left[i].second, next)) continue;
            Members rest = left;
            rest.erase(rest.begin() + ptrdiff_t(i));
            if (!write_members(rest, ", ", next)) continue;
            state = next;
            return true;
        }
        return false;
    }

    grammar::Recogniser recogniser_;
    int tries_ = 0;
};

class Bench {
  public:
    explicit Bench(std::shared_ptr<const tokenizer::Tokenizer> tokenizer)
        : tokenizer_(std::move(tokenizer)), texts_(std::make_shared<const grammar::TokenTexts>(tokenizer_)) {}

    void run(const std::string& name, const Json& file) {
        ++schemas_;
        Json format = {{"type", "json_schema"}, {"json_schema", {{"name", "bench"}}}};
        format["json_schema"]["schema"] = chat::member(file, "schema");
        const double begun = now_us();
        const auto program = grammar::compile_response_format(format);
        const double took = now_us() - begun;
        compiles_.push_back(took);
        if (!program) {
            ++refused_;
            std::string reason = program.error().message;
            if (const size_t at = reason.find(" at #"); at != std::string::npos) reason = reason.substr(0, at);
            ++reasons_[reason];
            std::printf("REFUSED %s: %s\n", name.c_str(), program.error().message.c_str());
            return;
        }
        double slowest = took;
        bool valid_refused = false;
        bool only_order = true;  // and every one would be taken with its members in another order
        bool invalid_accepted = false;
        double spent = took;
        for (const Json& test : chat::member(file, "tests")) {
            ++instances_;
            const bool valid = chat::member(test, "valid") == Json(true);
            std::string text;
            write_json(chat::member(test, "data"), text);
            const auto judged = judge(*program, text);
            slowest = std::max(slowest, judged.slowest);
            spent += judged.spent;
            if (valid && !judged.accepted) {
                valid_refused = true;
                const bool ordered = AnyOrder(*program).takes(chat::member(test, "data"));
                only_order = only_order && ordered;
                std::printf("%s %s: %s\n", ordered ? "OTHER ORDER" : "VALID REFUSED", name.c_str(),
                            judged.where.c_str());
            }
            if (!valid && judged.accepted) {
                invalid_accepted = true;
                std::printf("INVALID ACCEPTED %s: %s\n", name.c_str(), text.substr(0, 300).c_str());
            }
        }
        if (slowest > 20'000)
            std::printf("SLOW %s: compile %.1f ms, dearest mask %.1f ms\n", name.c_str(), took / 1000, slowest / 1000);
        if (spent > 1'000'000) std::printf("LONG %s: %.1f s in all\n", name.c_str(), spent / 1e6);
        valid_refused_ += valid_refused ? 1 : 0;
        only_order_ += valid_refused && only_order ? 1 : 0;
        invalid_accepted_ += invalid_accepted ? 1 : 0;
        passing_ += !valid_refused && !invalid_accepted ? 1 : 0;
        slow_ += spent > 5'000'000 ? 1 : 0;
    }

    void report() {
        std::printf("\nfirst reasons:\n");
        std::vector<std::pair<size_t, std::string>> sorted;
        for (const auto& [reason, count] : reasons_) sorted.emplace_back(count, reason);
        std::ranges::sort(sorted, std::greater<>());
        for (size_t i = 0; i < sorted.size() && i < 40; ++i)
            std::printf("%6zu %s\n", sorted[i].first, sorted[i].second.c_str());
        std::printf("\nschemas %zu, instances %zu\npassing %zu\nrefused %zu\n", schemas_, instances_, passing_,
                    refused_);
        std::printf("valid refused %zu, of them %zu only for the order of members\ninvalid accepted %zu\n",
                    valid_refused_, only_order_, invalid_accepted_);
        std::printf("above 5 s %zu\n", slow_);
        tell("mask", masks_);
        tell("compile", compiles_);
    }

  private:
    struct Judged {
        bool accepted = false;
        std::string where;
        double slowest = 0;
        double spent = 0;
    };

    Judged judge(const std::shared_ptr<const grammar::Program>& program, const std::string& text) {
        Judged out;
        AnswerFormat format(*tokenizer_, texts_, {.content = program});
        size_t read = 0;
        std::vector<int32_t> tokens = tokenizer_->encode(text, {.add_bos = false, .parse_special = false});
        tokens.push_back(texts_->ends()[0]);
        for (const int32_t token : tokens) {
            const double begun = now_us();
            const sample::Allowed allowed = format.allowed();
            const double took = now_us() - begun;
            masks_.push_back(took);
            out.slowest = std::max(out.slowest, took);
            out.spent += took;
            const bool may = allowed.empty() || (allowed[size_t(token) / 32] >> (uint32_t(token) % 32) & 1) != 0;
            if (!may || !format.accept(token)) {
                const size_t from = read > 80 ? read - 80 : 0;
                out.where = text.substr(from, read - from) + " >>> " + text.substr(std::min(read, text.size()), 60);
                return out;
            }
            read += texts_->text_of(token).size();
        }
        out.accepted = true;
        return out;
    }

    static void tell(const char* what, std::vector<double>& times) {
        if (times.empty()) return;
        std::ranges::sort(times);
        double sum = 0;
        for (const double time : times) sum += time;
        const auto at = [&](double part) {
            return times[std::min(times.size() - 1, size_t(part * double(times.size())))];
        };
        std::printf("%s µs: mean %.1f, p50 %.1f, p90 %.1f, p99 %.1f, p99.9 %.1f, worst %.1f (%zu)\n", what,
                    sum / double(times.size()), at(0.5), at(0.9), at(0.99), at(0.999), times.back(), times.size());
    }

    std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
    std::shared_ptr<const grammar::TokenTexts> texts_;
    size_t schemas_ = 0, instances_ = 0, passing_ = 0, refused_ = 0, valid_refused_ = 0, invalid_accepted_ = 0,
           slow_ = 0, only_order_ = 0;
    std::map<std::string, size_t> reasons_;
    std::vector<double> masks_, compiles_;
};

std::string read_all(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

int run(int count, char** words) {
    if (count < 3) {
        std::fprintf(stderr, "usage: %s FOLDER VOCABULARY.gguf [EVERY] [CONTAINS]\n", words[0]);
        return 2;
    }
    const std::string bytes = read_all(words[2]);
    MemorySource source(Bytes(bytes.begin(), bytes.end()));
    const auto header = gguf::read_header(source, {}).run_now();
    if (!header || !*header) return std::fprintf(stderr, "%s is no GGUF\n", words[2]), 1;
    const auto tokenizer = tokenizer::Tokenizer::create(**header);
    if (!tokenizer) return std::fprintf(stderr, "%s\n", tokenizer.error().message.c_str()), 1;
    Bench bench(*tokenizer);
    std::vector<std::filesystem::path> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(words[1], error)) paths.push_back(entry.path());
    if (error || paths.empty()) return std::fprintf(stderr, "there is nothing to read in %s\n", words[1]), 1;
    std::ranges::sort(paths);
    const size_t every = count > 3 ? size_t(std::max(1, std::atoi(words[3]))) : 1;
    const std::string part = count > 4 ? words[4] : "";
    for (size_t i = 0; i < paths.size(); i += every) {
        const std::string name = paths[i].filename().string();
        if (!name.contains(part)) continue;
        const Json file = Json::parse(read_all(paths[i]), nullptr, false);
        if (file.is_object() && file.contains("schema")) {
            bench.run(name, file);
        } else {
            std::printf("SKIPPED %s: it has no schema\n", name.c_str());
        }
        std::fflush(stdout);
    }
    bench.report();
    return 0;
}

}  // namespace
}  // namespace lapidary::infer

int main(int count, char** words) {
    return lapidary::infer::run(count, words);
}

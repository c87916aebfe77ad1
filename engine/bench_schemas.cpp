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

// Whether a program takes a value with its members in some order. Objects are written member by member; of those that may come
// next first the one after which
// most of the others that could have come instead still may.
class AnyOrder {
  public:
    explicit AnyOrder(std::shared_ptr<const grammar::Program> program) : recogniser_(std::move(program)) {}

    bool takes(const Json& value) {
        recogniser_.allow(~uint64_t(0));
        return recogniser_.complete(after(value, recogniser_.start()));
    }

  private:
    using State = grammar::Recogniser::State;
    static constexpr State kDead = grammar::Recogniser::kDead;
    struct Member {
        std::string name;
        const Json* value;
    };
    static constexpr int kMaxTries = 200'000;

    State read(std::string_view text, State state) {
        for (size_t i = 0; i < text.size() && state != kDead; ++i) state = recogniser_.next(state, uint8_t(text[i]));
        return state;
    }
    // Where the program is when the value was written; kDead when it takes it in no order.
    State after(const Json& value, State state) {
        if (state == kDead) return kDead;
        if (!value.is_structured()) return read(chat::json_text(value), state);
        const auto known = written_.find({&value, state});
        if (known != written_.end()) return known->second;
        State end = read(value.is_object() ? "{" : "[", state);
        if (value.is_object()) {
            std::vector<Member> members;
            for (const auto& [name, inner] : value.items()) {
                members.push_back({.name = chat::json_text(Json(name)) + ": ", .value = &inner});
            }
            end = after_members(members, "", end);
        } else {
            for (size_t i = 0; i < value.size(); ++i) end = after(value[i], i > 0 ? read(", ", end) : end);
            end = read("]", end);
        }
        written_.emplace(std::pair{&value, state}, end);
        return end;
    }
    State after_members(const std::vector<Member>& left, std::string_view comma, State state) {
        if (left.empty()) return read("}", state);
        struct Way {
            size_t member, lost, open;
            State next;
        };
        std::vector<Way> ways;
        const State begun = read(comma, state);
        std::vector<bool> now;
        for (const Member& member : left) now.push_back(read(member.name, begun) != kDead);
        for (size_t i = 0; i < left.size() && ++tries_ < kMaxTries; ++i) {
            const State next = now[i] ? after(*left[i].value, read(left[i].name, begun)) : kDead;
            if (next == kDead) continue;
            Way way{.member = i, .lost = 0, .open = 0, .next = next};
            const State then = read(", ", next);
            for (size_t k = 0; k < left.size(); ++k) {
                if (k == i) continue;
                const bool may_come = read(left[k].name, then) != kDead;
                way.lost += now[k] && !may_come ? 1 : 0;
                way.open += may_come ? 1 : 0;
            }
            if (way.lost == 0) {
                if (const State end = after_way(left, i, next); end != kDead) return end;
                continue;
            }
            ways.push_back(way);
        }
        std::ranges::stable_sort(
            ways, [](const Way& a, const Way& b) { return a.lost != b.lost ? a.lost < b.lost : a.open > b.open; });
        for (const Way& way : ways) {
            if (const State end = after_way(left, way.member, way.next); end != kDead) return end;
        }
        return kDead;
    }

    State after_way(const std::vector<Member>& left, size_t taken, State next) {
        std::vector<Member> rest = left;
        rest.erase(rest.begin() + ptrdiff_t(taken));
        return after_members(rest, ", ", next);
    }

    grammar::Recogniser recogniser_;
    std::map<std::pair<const Json*, State>, State> written_;
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

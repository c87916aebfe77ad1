// Prints the programs the engine would record, without weights and without a GPU.
//
//     dump_programs                       one line a program, as tests/data/programs.txt has them
//     dump_programs --full                every dispatch with its constants, grid, and where what it binds comes from
//     dump_programs --json                the same for tools/compare-programs, with the texts of shaders
//     … --model NAME --profile NAME       only those
#include <cstdio>
#include <string_view>

#include "base/format.h"
#include "chat/json.h"
#include "testing/planned_programs.h"

using namespace lapidary::testing;

namespace {

// What a program's text has for tools, or what it has for people.
void print_lines(std::string_view text, bool for_tools) {
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n') + 1);
        if (line.starts_with('|') == for_tools)
            std::fwrite(line.data() + for_tools, 1, line.size() - for_tools, stdout);
        text.remove_prefix(line.size());
    }
}

}  // namespace

int main(int argc, char** argv) {
    bool full = false;
    bool for_tools = false;
    std::string_view only_model;
    std::string_view only_profile;
    for (int i = 1; i < argc; ++i) {
        const std::string_view argument = argv[i];
        if (argument == "--full") {
            full = true;
        } else if (argument == "--json") {
            full = for_tools = true;
        } else if (argument == "--model" && i + 1 < argc) {
            only_model = argv[++i];
        } else if (argument == "--profile" && i + 1 < argc) {
            only_profile = argv[++i];
        } else {
            std::fputs("usage: dump_programs [--full | --json] [--model NAME] [--profile NAME]\n", stderr);
            return 2;
        }
    }
    bool any = false;
    for (const PlannedModel& model : planned_models()) {
        if (!only_model.empty() && model.name != only_model) continue;
        for (const Profile& profile : profiles()) {
            if (!only_profile.empty() && profile.name != only_profile) continue;
            any = true;
            if (!full) {
                std::fputs(program_digests(model, profile).c_str(), stdout);
                continue;
            }
            each_program(model, profile, false, [&](std::string_view name, size_t dispatches, const std::string& text) {
                const std::string title = lapidary::format("{} {}: {}", model.name, profile.name, name);
                if (for_tools) {
                    const lapidary::chat::Json json = {{"program", title}, {"dispatches", dispatches}};
                    std::printf("%s\n", lapidary::chat::json_text(json).c_str());
                } else {
                    std::printf("program %s: %zu dispatches\n", title.c_str(), dispatches);
                }
                print_lines(text, for_tools);
            });
        }
    }
    if (!any) {
        std::fputs("no such model or profile; there are\n ", stderr);
        for (const PlannedModel& model : planned_models()) std::fprintf(stderr, " %s", std::string(model.name).c_str());
        std::fputs("\n ", stderr);
        for (const Profile& profile : profiles()) std::fprintf(stderr, " %s", std::string(profile.name).c_str());
        std::fputs("\n", stderr);
    }
    return any ? 0 : 2;
}

#include "chat/embedding_tasks.h"

#include <algorithm>
#include <array>

namespace lapidary::chat {
namespace {

struct EmbeddingTask {
    std::string_view name;
    std::string_view prompt;
    std::array<std::string_view, 3> other_names = {};  // as sentence transformers call it
};

constexpr EmbeddingTask kEmbeddingTasks[] = {
    {"query", "task: search result | query: ", {"retrieval", "reranking", "retrieval-query"}},
    {"document", "title: none | text: ", {"retrieval-document"}},
    {"similarity", "task: sentence similarity | query: ", {"sts", "pairclassification"}},
    {"classification", "task: classification | query: "},
    {"clustering", "task: clustering | query: "},
    {"question-answering", "task: question answering | query: "},
    {"fact-checking", "task: fact checking | query: "},
    {"code", "task: code retrieval | query: ", {"instructionretrieval", "code-retrieval"}},
    {"summarization", "task: summarization | query: ", {"summarisation"}},
};

// Capitals do not count, and words may be divided in any of three ways.
bool is_task_name(std::string_view given, std::string_view name) {
    const auto plain = [](char c) {
        if (c == '_' || c == ' ') return '-';
        return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
    };
    return !name.empty() && std::ranges::equal(given, name, {}, plain);
}

}  // namespace

Result<std::string_view> embedding_prompt(std::string_view task) {
    if (task.empty()) return std::string_view();
    for (const EmbeddingTask& one : kEmbeddingTasks) {
        if (is_task_name(task, one.name)) return one.prompt;
        for (const std::string_view name : one.other_names) {
            if (is_task_name(task, name)) return one.prompt;
        }
    }
    return fail(Code::invalid_argument, "there is no task '{}': it is one of {}", printable(task), embedding_tasks());
}

std::string embedding_tasks() {
    std::string out;
    for (const EmbeddingTask& one : kEmbeddingTasks) out += (out.empty() ? "" : ", ") + std::string(one.name);
    return out;
}

}  // namespace lapidary::chat

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

constexpr std::string_view kDocument = "document";

constexpr EmbeddingTask kEmbeddingTasks[] = {
    {"query", "task: search result | query: ", {"retrieval", "reranking", "retrieval-query"}},
    {kDocument, "title: none | text: ", {"retrieval-document"}},
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

Result<std::string> prompt_of(const EmbeddingTask& task, std::string_view title) {
    if (title.empty()) return std::string(task.prompt);
    if (task.name == kDocument) return "title: " + std::string(title) + " | text: ";
    return fail(Code::invalid_argument, "a title is for the task 'document', not for '{}'", task.name);
}

}  // namespace

Result<std::string> embedding_prompt(std::string_view task, std::string_view title) {
    if (task.empty()) {
        if (title.empty()) return std::string();
        return fail(Code::invalid_argument, "a title is for the task 'document', and no task is given");
    }
    for (const EmbeddingTask& one : kEmbeddingTasks) {
        if (is_task_name(task, one.name)) return prompt_of(one, title);
        for (const std::string_view name : one.other_names) {
            if (is_task_name(task, name)) return prompt_of(one, title);
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

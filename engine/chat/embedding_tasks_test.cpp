#include "chat/embedding_tasks.h"

#include <gtest/gtest.h>

namespace lapidary::chat {
namespace {

TEST(EmbeddingTasks, HaveTheWordsTheModelWasTrainedWith) {
    EXPECT_EQ(*embedding_prompt("query"), "task: search result | query: ");
    EXPECT_EQ(*embedding_prompt("document"), "title: none | text: ");
    EXPECT_EQ(*embedding_prompt("question answering"), "task: question answering | query: ");
    EXPECT_EQ(*embedding_prompt("fact_checking"), "task: fact checking | query: ");
    EXPECT_EQ(*embedding_prompt("Clustering"), "task: clustering | query: ");
    EXPECT_EQ(*embedding_prompt("code"), "task: code retrieval | query: ");
    EXPECT_EQ(*embedding_prompt(""), "") << "the text as it is";
}

TEST(EmbeddingTasks, AreKnownByTheNamesOfSentenceTransformersToo) {
    for (const char* name : {"STS", "PairClassification"}) {
        EXPECT_EQ(*embedding_prompt(name), "task: sentence similarity | query: ");
    }
    for (const char* name : {"Retrieval", "Reranking", "Retrieval-query"}) {
        EXPECT_EQ(*embedding_prompt(name), *embedding_prompt("query"));
    }
    EXPECT_EQ(*embedding_prompt("InstructionRetrieval"), *embedding_prompt("code"));
    EXPECT_EQ(*embedding_prompt("Summarization"), "task: summarization | query: ");
}

TEST(EmbeddingTasks, TakeATitleForADocumentAlone) {
    EXPECT_EQ(*embedding_prompt("document", "Tire pressure"), "title: Tire pressure | text: ");
    EXPECT_EQ(*embedding_prompt("Retrieval-document", "a"), "title: a | text: ");
    EXPECT_EQ(embedding_prompt("query", "a").error().message, "a title is for the task 'document', not for 'query'");
    EXPECT_EQ(embedding_prompt("", "a").error().message, "a title is for the task 'document', and no task is given");
}

TEST(EmbeddingTasks, AreNamedWhereThereIsNoSuchOne) {
    const auto refused = embedding_prompt("poetry");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message,
              "there is no task 'poetry': it is one of query, document, similarity, classification, clustering, "
              "question-answering, fact-checking, code, summarization");
}

}  // namespace
}  // namespace lapidary::chat

// A model file the host has opened: its header, what it says, and (once loaded) its weights.
#pragma once

#include <memory>

#include "cpu/model.h"
#include "gguf/file.h"
#include "grammar/token_texts.h"
#include "infer/gpu_model.h"
#include "model/config.h"
#include "model/weights.h"
#include "reference/weights.h"
#include "tokenizer/tokenizer.h"

namespace lapidary::api {

struct OpenModel {
    explicit OpenModel(gguf::File opened) : file(std::move(opened)) {}

    gguf::File file;
    uint64_t file_bytes = 0;

    // Read when first asked for: inspecting a file needs no tokenizer, and tokenizing needs no weights.
    // A file that cannot run (a bare vocabulary, say) still has those parts it has.
    Result<std::shared_ptr<const model::Config>> config();
    Result<std::shared_ptr<const model::WeightTable>> weights();
    Result<std::shared_ptr<const tokenizer::Tokenizer>> tokenizer();
    Result<std::shared_ptr<const grammar::TokenTexts>> token_texts();

    // Null until loaded for that backend.
    std::shared_ptr<cpu::Model> cpu_model;
    std::shared_ptr<const reference::Weights> cpu_weights;  // for the reference, and for training
    std::string why_reference;                              // runs a model on the CPU, if it does
    std::shared_ptr<infer::GpuModel> gpu_weights;

  private:
    std::shared_ptr<const model::Config> config_;
    std::shared_ptr<const model::WeightTable> weights_;
    std::shared_ptr<const tokenizer::Tokenizer> tokenizer_;
    std::shared_ptr<const grammar::TokenTexts> token_texts_;
};

}  // namespace lapidary::api

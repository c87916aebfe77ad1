#include "api/open_model.h"

namespace lapidary::api {

Result<std::shared_ptr<const model::Config>> OpenModel::config() {
    if (config_ == nullptr) {
        TRY(model::check_architecture(file.metadata()));
        if (file.tensors().empty()) {
            return fail(Code::unsupported, "the file has no weights (it holds a vocabulary only)");
        }
        config_ = std::make_shared<const model::Config>(TRY(model::read_config(file)));
    }
    return config_;
}

Result<std::shared_ptr<const model::WeightTable>> OpenModel::weights() {
    if (weights_ == nullptr) {
        const auto known = TRY(config());
        weights_ = std::make_shared<const model::WeightTable>(
            TRY(model::find_weights(*known, [this](std::string_view name) -> const gguf::TensorInfo* {
                const gguf::FileTensor* tensor = file.find(name);
                return tensor == nullptr ? nullptr : &tensor->info;
            })));
    }
    return weights_;
}

Result<std::shared_ptr<const tokenizer::Tokenizer>> OpenModel::tokenizer() {
    if (tokenizer_ == nullptr) tokenizer_ = TRY(tokenizer::Tokenizer::create(file.metadata()));
    return tokenizer_;
}

Result<std::shared_ptr<const grammar::TokenTexts>> OpenModel::token_texts() {
    if (token_texts_ == nullptr) token_texts_ = std::make_shared<const grammar::TokenTexts>(TRY(tokenizer()));
    return token_texts_;
}

}  // namespace lapidary::api

// adapter.*: arguments and results.
#pragma once

#include "api/messages/common.h"

namespace lapidary::api {

struct AdapterArgs {
    Id adapter = 0;
};
ARGUMENTS(AdapterArgs, MEMBER(adapter, "its number"));

struct AdapterLoadArgs {
    Id model = 0;
    std::string name;
    std::string config;
};
ARGUMENTS(AdapterLoadArgs, MEMBER(model, "the number of the model it is for"),
          MEMBER(name, "for people; what the file calls itself unless told").maybe(),
          MEMBER(config, "the text of PEFT's adapter_config.json").maybe());

struct AdapterUpdate {
    int64_t layer = 0;
    std::string target;
    int64_t rank = 0;
    double scale = 0;
};
MESSAGE(AdapterUpdate, MEMBER(layer, ""), MEMBER(target, ""), MEMBER(rank, ""), MEMBER(scale, ""));

struct AdapterDescription {
    std::string name;
    std::string base_model;
    double alpha = 0;
    int64_t parameters = 0;
    std::vector<int64_t> ranks;
    std::vector<int64_t> layers;
    std::vector<std::string> targets;
    std::vector<AdapterUpdate> updates;
    std::optional<std::string> format;
    Json ignored;
};
MESSAGE(AdapterDescription, MEMBER(name, ""), MEMBER(base_model, "what it was trained for, as it says"),
        MEMBER(alpha, ""), MEMBER(parameters, "numbers it is made of"), MEMBER(ranks, "of its updates"),
        MEMBER(layers, "that it updates"), MEMBER(targets, "the matrices that it updates"),
        MEMBER(updates, "each of them"), MEMBER(format, "of the file it was read from"),
        MEMBER(ignored, "tensors of that file that are not used").as("string[]"));

struct LoadedAdapter {
    Id adapter = 0;
    AdapterDescription description;
};
MESSAGE(LoadedAdapter, MEMBER(adapter, "the number by which other methods know it"), MEMBER(description, ""));

struct AdapterExportArgs {
    Id adapter = 0;
    std::string format;
    std::string type = "F32";
};
ARGUMENTS(AdapterExportArgs, MEMBER(adapter, "its number"),
          MEMBER(format, "PEFT's two files, the same in one zip, or one file for llama.cpp and Ollama")
              .as("'peft' | 'zip' | 'gguf'"),
          MEMBER(type, "of its numbers, in capitals or not: f32 unless told, f16, bf16 or, in gguf, q8_0").maybe());

struct ExportedPart {
    std::string name;
    int64_t offset = 0;
    int64_t size = 0;
};
MESSAGE(ExportedPart, MEMBER(name, "of the file"), MEMBER(offset, "in the bytes beside this"),
        MEMBER(size, "in bytes"));

struct AdapterExportResult {
    std::vector<ExportedPart> files;
};
MESSAGE(AdapterExportResult, MEMBER(files, "their bytes come one after the other"));

}  // namespace lapidary::api

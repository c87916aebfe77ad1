#include "model/quantize.h"

#include "gguf/writer.h"
#include "model/config.h"
#include "quant/decode.h"
#include "quant/encode.h"

namespace lapidary::model {
namespace {

// Elements encoded at a time. Q4_K's search runs at a few million a second in WebAssembly, so a chunk is a blink,
// and the pauses between chunks are where Ctrl-C is noticed.
constexpr uint64_t kChunkElements = 1 << 18;

bool is_float(TensorType type) {
    return type == TensorType::f32 || type == TensorType::f16 || type == TensorType::bf16;
}

// What a mix gives each tensor, whatever it is now.
Result<std::vector<TensorType>> types_of_mix(const gguf::File& file, quant::Mix mix) {
    const std::string key = std::string(file.metadata().string("general.architecture").value_or("")) + ".block_count";
    const auto layers = file.metadata().integer(key);
    if (!layers || *layers < 1) return fail(Code::bad_file, "the metadata key '{}' is missing", printable(key));
    std::vector<quant::MixTensor> tensors;
    for (const gguf::FileTensor& tensor : file.tensors()) {
        const gguf::TensorInfo& info = tensor.info;
        if (!info.type->decodable) {
            return fail(Code::unsupported, "tensor '{}' is stored as {}, which cannot be read", printable(info.name),
                        info.type->name);
        }
        tensors.push_back({info.name, {info.ne.data(), std::max<size_t>(info.n_dims, 1)}, TensorType(info.type->id)});
    }
    return quant::choose_types(mix, tensors, uint32_t(*layers));
}

Result<std::vector<TensorType>> plan(const gguf::File& file, quant::Mix mix) {
    auto types = TRY(types_of_mix(file, mix));
    for (size_t i = 0; i < types.size(); ++i) {
        const gguf::TensorInfo& info = file.tensors()[i].info;
        const auto source = TensorType(info.type->id);
        if (types[i] != source && !is_float(source) && !is_float(types[i])) {
            return fail(Code::unsupported, "tensor '{}' is {} already: start from an F32, F16 or BF16 file",
                        printable(info.name), tensor_type_name(source));
        }
    }
    return types;
}

// The type a changed tensor is written in when it should keep its own.
TensorType closest_type(TensorType source, uint64_t cols) {
    if (quant::can_encode(source)) return source;
    return cols % tensor_type_info(TensorType::q8_0).block_elements == 0 ? TensorType::q8_0 : TensorType::f16;
}

Result<std::vector<TensorType>> plan_rewrite(const gguf::File& file, std::optional<quant::Mix> mix,
                                             const WeightEdit& edit) {
    std::vector<TensorType> types;
    if (mix) types = TRY(types_of_mix(file, *mix));
    types.resize(file.tensors().size());
    for (size_t i = 0; i < types.size(); ++i) {
        const gguf::TensorInfo& info = file.tensors()[i].info;
        const auto source = TensorType(info.type->id);
        const bool touched = edit.touches(info.name);
        if (touched && !info.type->decodable) {
            return fail(Code::unsupported, "tensor '{}' is stored as {}, which cannot be read", printable(info.name),
                        info.type->name);
        }
        if (!mix) types[i] = source;
        if (touched) {
            types[i] = closest_type(types[i], info.ne[0]);
        } else if (!touched && !is_float(source) && !is_float(types[i])) {
            types[i] = source;
        }
    }
    return types;
}

gguf::Writer new_header(const gguf::File& file, std::optional<quant::Mix> mix, std::span<const TensorType> types) {
    gguf::Writer writer;
    for (const gguf::KeyValue& entry : file.metadata().keys) {
        // The result is one file, whatever the source was.
        if (!entry.key.starts_with("split.")) writer.set(entry.key, entry.value);
    }
    if (mix) writer.set_u32("general.file_type", quant::file_type(*mix));
    if (mix) writer.set_u32("general.quantization_version", 2);
    for (size_t i = 0; i < types.size(); ++i) {
        const gguf::TensorInfo& info = file.tensors()[i].info;
        writer.add_tensor(info.name, types[i], std::span(info.ne.data(), info.n_dims));
    }
    return writer;
}

// Tensor by tensor, each in its new type.
Task<Result<QuantizeReport>> write_file(const gguf::File& file, std::optional<quant::Mix> mix,
                                        std::vector<TensorType> types, WeightEdit edit, ByteSink& sink,
                                        std::function<void(uint64_t done, uint64_t total)> progress, Cancel cancel,
                                        std::function<Task<Status>()> breathe) {
    gguf::Layout layout = CO_TRY(new_header(file, mix, types).layout());
    const uint64_t header_bytes = layout.header.size();
    CO_TRY(co_await sink.write(0, std::move(layout.header), cancel));

    QuantizeReport report;
    report.bytes = layout.file_size;
    uint64_t written = header_bytes;  // everything before this offset is on its way
    for (size_t i = 0; i < types.size(); ++i) {
        const gguf::FileTensor& tensor = file.tensors()[i];
        const auto source = TensorType(tensor.info.type->id);
        report.tensors.push_back({std::string(tensor.info.name), source, types[i]});
        if (layout.tensors[i].offset > written) {
            CO_TRY(co_await sink.write(written, Bytes(size_t(layout.tensors[i].offset - written)), cancel));
            written = layout.tensors[i].offset;
        }
        const bool touched = edit.touches && edit.touches(tensor.info.name);
        const uint64_t elements = tensor.info.elements();
        std::vector<float> values;
        for (uint64_t at = 0; at < elements; at += kChunkElements) {
            const uint64_t count = std::min(kChunkElements, elements - at);
            Bytes bytes = CO_TRY(co_await file.read(tensor, row_bytes(source, at), row_bytes(source, count), cancel));
            if (types[i] != source || touched) {
                values.resize(size_t(count));
                quant::decode(source, bytes.data(), values);
                if (touched) edit.change(tensor.info.name, at, values);
                bytes.resize(size_t(row_bytes(types[i], count)));
                quant::encode(types[i], values, bytes.data());
            }
            const uint64_t size = bytes.size();
            CO_TRY(co_await sink.write(written, std::move(bytes), cancel));
            written += size;
            if (progress) progress(written, layout.file_size);
            if (breathe) CO_TRY(co_await breathe());
        }
    }
    if (layout.file_size > written) {
        CO_TRY(co_await sink.write(written, Bytes(size_t(layout.file_size - written)), cancel));
    }
    if (progress) progress(layout.file_size, layout.file_size);
    co_return report;
}

}  // namespace

Task<Result<QuantizeReport>> quantize(const gguf::File& file, quant::Mix mix, ByteSink& sink,
                                      std::function<void(uint64_t done, uint64_t total)> progress, Cancel cancel,
                                      std::function<Task<Status>()> breathe) {
    CO_TRY(check_architecture(file.metadata()));
    co_return co_await write_file(file, mix, CO_TRY(plan(file, mix)), {}, sink, std::move(progress), std::move(cancel),
                                  std::move(breathe));
}

Task<Result<QuantizeReport>> rewrite(const gguf::File& file, std::optional<quant::Mix> mix, WeightEdit edit,
                                     ByteSink& sink, std::function<void(uint64_t done, uint64_t total)> progress,
                                     Cancel cancel, std::function<Task<Status>()> breathe) {
    CO_TRY(check_architecture(file.metadata()));
    auto types = CO_TRY(plan_rewrite(file, mix, edit));
    co_return co_await write_file(file, mix, std::move(types), std::move(edit), sink, std::move(progress),
                                  std::move(cancel), std::move(breathe));
}

}  // namespace lapidary::model

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

Result<std::vector<TensorType>> plan(const gguf::File& file, quant::Mix mix) {
    const auto layers = file.metadata().integer("gemma4.block_count");
    if (!layers || *layers < 1) return fail(Code::bad_file, "the metadata key 'gemma4.block_count' is missing");
    std::vector<quant::MixTensor> tensors;
    for (const gguf::FileTensor& tensor : file.tensors()) {
        const gguf::TensorInfo& info = tensor.info;
        if (!info.type->decodable) {
            return fail(Code::unsupported, "tensor '{}' is stored as {}, which cannot be read", printable(info.name),
                        info.type->name);
        }
        tensors.push_back({info.name, {info.ne.data(), std::max<size_t>(info.n_dims, 1)}, TensorType(info.type->id)});
    }
    auto types = quant::choose_types(mix, tensors, uint32_t(*layers));
    for (size_t i = 0; i < types.size(); ++i) {
        if (types[i] != tensors[i].source && !is_float(tensors[i].source) && !is_float(types[i])) {
            return fail(Code::unsupported, "tensor '{}' is {} already: start from an F32, F16 or BF16 file",
                        printable(tensors[i].name), tensor_type_name(tensors[i].source));
        }
    }
    return types;
}

gguf::Writer new_header(const gguf::File& file, quant::Mix mix, std::span<const TensorType> types) {
    gguf::Writer writer;
    for (const gguf::KeyValue& entry : file.metadata().keys) {
        // The result is one file, whatever the source was.
        if (!entry.key.starts_with("split.")) writer.set(entry.key, entry.value);
    }
    writer.set_u32("general.file_type", quant::file_type(mix));
    writer.set_u32("general.quantization_version", 2);
    for (size_t i = 0; i < types.size(); ++i) {
        const gguf::TensorInfo& info = file.tensors()[i].info;
        writer.add_tensor(info.name, types[i], std::span(info.ne.data(), info.n_dims));
    }
    return writer;
}

}  // namespace

Task<Result<QuantizeReport>> quantize(const gguf::File& file, quant::Mix mix, ByteSink& sink,
                                      std::function<void(uint64_t done, uint64_t total)> progress, Cancel cancel,
                                      std::function<Task<Status>()> breathe) {
    CO_TRY(check_architecture(file.metadata()));
    const std::vector<TensorType> types = CO_TRY(plan(file, mix));
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
        const uint64_t elements = tensor.info.elements();
        std::vector<float> values;
        for (uint64_t at = 0; at < elements; at += kChunkElements) {
            const uint64_t count = std::min(kChunkElements, elements - at);
            Bytes bytes = CO_TRY(co_await file.read(tensor, row_bytes(source, at), row_bytes(source, count), cancel));
            if (types[i] != source) {
                values.resize(size_t(count));
                quant::decode(source, bytes.data(), values);
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

}  // namespace lapidary::model

#include "towers/projector.h"

#include "towers/keys.h"
#include "towers/read_towers.h"

namespace lapidary::towers {
namespace {

constexpr std::string_view kProjectorArchitecture = "clip";

// "gemma4v", "gemma4a", …, of one of the encoders; empty where the file says nothing.
std::string_view projector_type(const gguf::Header& header, std::string_view encoder) {
    const auto own = header.string("clip." + std::string(encoder) + ".projector_type");
    return own ? *own : header.string("clip.projector_type").value_or("");
}

// What a file without a type holds is told by its tensors, which all differ.
Result<VisionKind> vision_kind(std::string_view type, const gguf::File& file) {
    if (type == "gemma4v") return VisionKind::gemma4v;
    if (type == "gemma4uv") return VisionKind::gemma4uv;
    if (!type.empty() && type != "gemma4a" && type != "gemma4ua") {
        return fail(Code::unsupported, "this projector is of type '{}'; Gemma 4's are gemma4v and gemma4uv",
                    printable(type));
    }
    return file.find("v.patch_norm.1.weight") != nullptr ? VisionKind::gemma4uv : VisionKind::gemma4v;
}

Result<AudioKind> audio_kind(std::string_view type, const gguf::File& file) {
    if (type == "gemma4a") return AudioKind::gemma4a;
    if (type == "gemma4ua") return AudioKind::gemma4ua;
    if (!type.empty() && type != "gemma4v" && type != "gemma4uv") {
        return fail(Code::unsupported, "this projector is of type '{}'; Gemma 4's are gemma4a and gemma4ua",
                    printable(type));
    }
    return file.find("a.conv1d.0.weight") != nullptr ? AudioKind::gemma4a : AudioKind::gemma4ua;
}

bool has_vision(const gguf::File& file) {
    return file.find("v.patch_embd.weight") != nullptr;
}
bool has_audio(const gguf::File& file) {
    return file.find("mm.a.input_projection.weight") != nullptr || file.find("a.conv1d.0.weight") != nullptr;
}

// A projector says what it has; a model's own file just has it.
bool promises(const gguf::File& file, std::string_view key) {
    const gguf::Value* value = file.metadata().find(key);
    return value != nullptr && value->as_bool().value_or(false);
}

}  // namespace

bool is_projector(const gguf::File& file) {
    return file.metadata().string("general.architecture") == kProjectorArchitecture ||
           file.metadata().string("general.type") == "mmproj";
}

bool has_towers(const gguf::File& file) {
    return is_projector(file) || has_vision(file) || has_audio(file);
}

Result<Projector> read_projector(const gguf::File& file) {
    const gguf::Header& header = file.metadata();
    const bool alone = is_projector(file);
    const std::string prefix = alone ? "clip." : std::string(header.string("general.architecture").value_or("")) + ".";
    Projector out;
    if (alone ? promises(file, "clip.has_vision_encoder") || has_vision(file) : has_vision(file)) {
        const VisionKind kind = TRY(vision_kind(projector_type(header, "vision"), file));
        out.vision = TRY(read_vision(kind, Keys(header, prefix + "vision."), file));
    }
    if (alone ? promises(file, "clip.has_audio_encoder") || has_audio(file) : has_audio(file)) {
        const AudioKind kind = TRY(audio_kind(projector_type(header, "audio"), file));
        out.audio = TRY(read_audio(kind, Keys(header, prefix + "audio."), file));
    }
    if (alone && !out.vision && !out.audio) {
        return fail(Code::unsupported, "this projector has no tower for images and none for sound");
    }
    return out;
}

Status check_fits(const Projector& projector, const model::Config& model) {
    const auto check = [&](std::string_view what, uint32_t width) -> Status {
        if (width == model.width) return {};
        return fail(Code::invalid_argument,
                    "the projector does not belong to this model: its {} tower makes tokens of {} numbers, the model's "
                    "have {}",
                    what, width, model.width);
    };
    if (projector.vision) TRY(check("vision", projector.vision->config.output));
    if (projector.audio) TRY(check("audio", projector.audio->config.output));
    return {};
}

}  // namespace lapidary::towers

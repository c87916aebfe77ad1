// projector.* and media.*: from a picture or a sound to what a prompt can hold.
#include <cmath>
#include <cstring>

#include "api/api.h"
#include "api/describe.h"
#include "api/messages/media.h"
#include "api/open_media.h"
#include "audio/mel.h"
#include "audio/wav.h"
#include "base/checksum.h"
#include "image/look.h"
#include "image/video.h"
#include "towers/audio_forward.h"
#include "towers/work.h"

namespace lapidary::api {
namespace {

constexpr uint32_t kImageBudget = 280;
constexpr uint32_t kFrameBudget = 70;

std::string digest_text(uint64_t digest) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[digest >> shift & 15];
    return out;
}

Bytes bytes_of(std::span<const float> values) {
    Bytes out(values.size_bytes());
    if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
    return out;
}

// Tells projectors apart as sessions tell models: by their tensors and a few of their weights.
Task<Result<uint64_t>> digest_of(const gguf::File& file, const std::vector<towers::Weight>& weights, Cancel cancel) {
    constexpr size_t kSamples = 4;
    constexpr uint64_t kSampleBytes = 4096;
    Checksum sum;
    const size_t step = std::max<size_t>(1, weights.size() / kSamples);
    for (size_t i = 0; i < weights.size(); ++i) {
        sum.add(weights[i].name);
        sum.add(uint64_t(weights[i].type));
        sum.add(weights[i].elements());
        const auto* tensor = file.find(weights[i].name);
        if (i % step != 0 || tensor == nullptr) continue;
        const uint64_t bytes = tensor->info.range.size;
        const uint64_t size = std::min(bytes, kSampleBytes);
        sum.add(CO_TRY(co_await file.read(*tensor, (bytes - size) / 2, size, cancel)));
    }
    co_return sum.value();
}

}  // namespace

Result<std::shared_ptr<OpenProjector>> Api::projector_of(Id projector) const {
    const auto it = projectors_.find(projector);
    if (it == projectors_.end()) {
        return fail(Code::not_found, "there is no such projector: it was closed or never opened");
    }
    return it->second;
}

Result<std::shared_ptr<OpenMedia>> Api::media_of(Id media) const {
    const auto it = media_.find(media);
    if (it == media_.end()) {
        return fail(Code::not_found, "there is no such picture or sound: it was closed or never opened");
    }
    return it->second;
}

uint32_t Api::keep_media(std::shared_ptr<OpenMedia> media) {
    media_.emplace(++last_id_, std::move(media));
    return last_id_;
}

Task<Result<Reply>> Api::projector_open(Call& call) {
    ProjectorOpenArgs args;
    CO_TRY(read_message(call.args, args));
    const auto model = args.model == 0 ? nullptr : CO_TRY(model_of(args.model));
    auto open = std::make_shared<OpenProjector>();
    if (!args.sources.empty()) {
        const SourceFile& source = args.sources.front();
        auto bytes = std::make_shared<HostSource>(ops_, source.id, uint64_t(source.size));
        open->file = std::make_shared<OpenModel>(CO_TRY(co_await gguf::File::open({std::move(bytes)}, call.cancel)));
        open->file->file_bytes = uint64_t(source.size);
    } else if (model != nullptr) {
        open->file = model;
    } else {
        co_return fail(Code::invalid_argument, "'sources' must have a projector file, or 'model' a model");
    }
    open->towers = CO_TRY(towers::read_projector(open->file->file));
    if (!open->towers.vision && !open->towers.audio) {
        if (!args.sources.empty()) {
            co_return fail(Code::unsupported,
                           "this file is no projector: it has no tower for images and none for sound");
        }
        co_return fail(
            Code::unsupported,
            "this model neither sees nor hears: its file has no towers, and no projector (mmproj) was given");
    }
    // A projector by itself may be described and run; one for a model has to fit.
    if (model != nullptr && !(args.sources.empty() && towers::is_projector(model->file))) {
        CO_TRY(towers::check_fits(open->towers, *CO_TRY(model->config())));
    }
    if (args.activation != "gelu" && args.activation != "quick-gelu") {
        co_return fail(Code::invalid_argument, "'activation' must be 'gelu' or 'quick-gelu'");
    }
    open->activation = args.activation == "gelu" ? towers::Activation::gelu : towers::Activation::quick_gelu;
    const bool beside_gpu = model != nullptr && model->gpu_weights != nullptr;
    open->backend = !args.backend.empty() ? args.backend : beside_gpu ? "gpu" : "cpu";
    if (open->backend == "gpu") {
        if (device_ == nullptr) co_return fail(Code::unsupported, "there is no WebGPU here: use the CPU backend");
        CO_TRY(co_await device_->open({}, call.cancel));
        open->variant = beside_gpu ? model->gpu_weights->choice().variant : infer::wanted_variant(device_->info());
    }
    const std::vector<towers::Weight> weights = open->weights();
    open->digest = CO_TRY(co_await digest_of(open->file->file, weights, call.cancel)) + uint64_t(open->activation);
    const uint32_t id = ++last_id_;
    projectors_.emplace(id, open);
    const TowersDescription towers = describe(open->towers);
    co_return reply(ProjectorOpenResult{.projector = id,
                                        .backend = open->backend,
                                        .width = open->width(),
                                        .bytes = towers.bytes,
                                        .vision = towers.vision,
                                        .audio = towers.audio});
}

Task<Result<Reply>> Api::projector_close(Call& call) {
    ProjectorArgs args;
    CO_TRY(read_message(call.args, args));
    CO_TRY(projector_of(args.projector));
    projectors_.erase(args.projector);
    co_return Reply{};
}

Task<Result<Reply>> Api::media_look(Call& call) {
    if (audio::is_wav(call.blob)) co_return reply(MediaLookResult{.format = "wav"});
    const image::Looked looked = CO_TRY(image::look(call.blob));
    MediaLookResult out{.format = std::string(image::name_of(looked.format))};
    if (looked.size) {
        out.width = looked.size->width;
        out.height = looked.size->height;
        out.orientation = looked.orientation;
    }
    co_return reply(out);
}

Task<Result<Reply>> Api::media_image(Call& call) {
    MediaImageArgs args;
    CO_TRY(read_message(call.args, args));
    const auto projector = CO_TRY(projector_of(args.projector));
    if (!projector->towers.vision) {
        co_return fail(Code::unsupported, "this model does not see: its projector has no tower for images");
    }
    const uint32_t side = projector->towers.vision->config.side();
    const auto pixels =
        CO_TRY(image::Pixels::create(call.blob, uint32_t(args.width), uint32_t(args.height),
                                     CO_TRY(image::layout_from(args.layout)), uint32_t(args.orientation)));
    const auto budget = uint32_t(args.budget.value_or(args.frame ? kFrameBudget : kImageBudget));
    const image::Size size = CO_TRY(image::target_size(pixels.width(), pixels.height(), budget, side));
    auto media = std::make_shared<OpenMedia>();
    media->projector = projector;
    media->picture = image::resize(pixels, size);
    media->tokens = size.width / side * (size.height / side);
    Checksum sum;
    sum.add(projector->digest);
    sum.add(uint64_t{size.width});
    sum.add(uint64_t{size.height});
    sum.add(media->picture->rgb);
    media->digest = sum.value();
    co_return reply(MediaImageResult{.media = keep_media(media),
                                     .tokens = media->tokens,
                                     .width = size.width,
                                     .height = size.height,
                                     .digest = digest_text(media->digest)});
}

Task<Result<Reply>> Api::media_sound(Call& call) {
    MediaSoundArgs args;
    CO_TRY(read_message(call.args, args));
    const auto projector = CO_TRY(projector_of(args.projector));
    if (!projector->towers.audio) {
        co_return fail(Code::unsupported, "this model does not hear: its projector has no tower for sound");
    }
    auto media = std::make_shared<OpenMedia>();
    media->projector = projector;
    media->sound = std::make_unique<HeardSound>();
    media->sound->bytes = std::move(call.blob);
    const std::span<const uint8_t> bytes = media->sound->bytes;
    constexpr int64_t kFastest = 1 << 30;
    if (args.rate) CO_TRY(check_between("rate", *args.rate, 1, kFastest));
    const audio::Sound sound =
        CO_TRY(args.rate ? audio::sound_of_floats(bytes, uint32_t(*args.rate)) : audio::read_wav(bytes));
    media->sound->samples.emplace(sound);
    const uint64_t samples = media->sound->samples->samples();
    media->tokens = uint32_t(sound_tokens(projector->towers.audio->config, samples));
    if (media->tokens == 0) {
        co_return fail(Code::invalid_argument, "the sound is too short to be heard: it lasts {} samples at 16 kHz",
                       samples);
    }
    Checksum sum;
    sum.add(projector->digest);
    sum.add(uint64_t{sound.rate});
    sum.add(bytes);
    media->digest = sum.value();
    const uint32_t pieces = pieces_of(*media);
    co_return reply(MediaSoundResult{.media = keep_media(media),
                                     .tokens = media->tokens,
                                     .seconds = double(sound.samples) / sound.rate,
                                     .pieces = pieces,
                                     .digest = digest_text(media->digest)});
}

Task<Result<Reply>> Api::media_frames(Call& call) {
    MediaFramesArgs args;
    CO_TRY(read_message(call.args, args));
    constexpr double kFastest = 1e6;
    if (!(args.fps > 0 && args.fps <= kFastest)) {
        co_return fail(Code::invalid_argument, "'fps' must be frames in a second, such as 24");
    }
    MediaFramesResult out;
    for (const image::Frame& frame : image::frames_of(uint64_t(args.frames), args.fps, uint32_t(args.most))) {
        out.indices.push_back(int64_t(frame.index));
        out.seconds.push_back(int64_t(frame.second));
    }
    co_return reply(out);
}

Task<Result<Reply>> Api::media_prepared(Call& call) {
    MediaArgs args;
    CO_TRY(read_message(call.args, args));
    const auto media = CO_TRY(media_of(args.media));
    if (media->picture) {
        const image::Picture& picture = *media->picture;
        const std::vector<float> levels(picture.rgb.begin(), picture.rgb.end());
        co_return reply(MediaPreparedResult{.rows = picture.size.height, .columns = picture.size.width, .channels = 3},
                        bytes_of(levels));
    }
    std::vector<float> all;
    for (uint32_t piece = 0; piece < pieces_of(*media); ++piece) {
        const std::vector<float> one = piece_of(*media, piece);
        all.insert(all.end(), one.begin(), one.end());
    }
    const auto& config = media->projector->towers.audio->config;
    const bool mel = config.kind == towers::AudioKind::gemma4a;
    const size_t columns = mel ? config.mel_bins : config.frame;
    if (!mel) all.resize(size_t{media->tokens} * columns);
    co_return reply(MediaPreparedResult{.rows = int64_t(all.size() / columns), .columns = int64_t(columns)},
                    bytes_of(all));
}

bool Api::release_towers() {
    bool any = false;
    for (const auto& [id, projector] : projectors_) {
        any = any || projector->gpu_vision != nullptr || projector->gpu_audio != nullptr;
        projector->gpu_vision = nullptr;
        projector->gpu_audio = nullptr;
    }
    return any;
}

Task<Status> Api::load_cpu_towers(OpenProjector& projector, Cancel cancel) {
    if (projector.cpu_weights != nullptr) co_return Status{};
    const std::vector<towers::Weight> all = projector.weights();
    projector.cpu_weights =
        CO_TRY(co_await reference::Weights::load(projector.file->file, towers::to_load(all), nullptr, cancel));
    co_return Status{};
}

Task<Result<std::vector<float>>> Api::seen(const OpenMedia& media, towers::Listener listener, Cancel cancel) {
    OpenProjector& projector = *media.projector;
    const towers::Vision& vision = *projector.towers.vision;
    const towers::Shown shown{media.picture->size.width, media.picture->size.height, media.picture->rgb};
    if (projector.backend == "gpu" && towers::GpuVision::can(vision, projector.activation)) {
        if (projector.gpu_vision == nullptr) {
            projector.gpu_vision = CO_TRY(co_await towers::GpuVision::load(
                *device_, projector.variant, projector.file->file, vision, nullptr, cancel));
        }
        const auto tower = projector.gpu_vision;
        co_return co_await tower->run(shown, std::move(listener), cancel);
    }
    CO_TRY(co_await load_cpu_towers(projector, cancel));
    const towers::VisionForward tower(vision, projector.cpu_weights, projector.activation);
    co_return co_await tower.run(shown, std::move(listener));
}

Task<Result<std::vector<float>>> Api::heard(const OpenMedia& media, towers::Listener listener, Cancel cancel) {
    OpenProjector& projector = *media.projector;
    const towers::Audio& audio = *projector.towers.audio;
    std::shared_ptr<const towers::AudioForward> tower;
    if (projector.backend == "gpu") {
        if (projector.gpu_audio == nullptr) {
            projector.gpu_audio = CO_TRY(
                co_await towers::gpu_audio(*device_, projector.variant, projector.file->file, audio, nullptr, cancel));
        }
        tower = projector.gpu_audio;
    } else {
        CO_TRY(co_await load_cpu_towers(projector, cancel));
        tower = std::make_shared<const towers::AudioForward>(audio, projector.cpu_weights);
    }
    std::vector<float> soft;
    for (uint32_t piece = 0; piece < pieces_of(media); ++piece) {
        const std::vector<float> heard = piece_of(media, piece);
        const std::vector<float> some = CO_TRY(co_await tower->run(heard, listener));
        soft.insert(soft.end(), some.begin(), some.end());
    }
    co_return soft;
}

Task<Result<infer::SoftPart::Rows>> Api::soft_tokens(std::shared_ptr<OpenMedia> media, towers::Listener listener,
                                                     Cancel cancel) {
    if (media->soft != nullptr) co_return media->soft;
    const OpenProjector& projector = *media->projector;
    const auto encoded = [&] {
        return media->picture ? seen(*media, listener, cancel) : heard(*media, listener, cancel);
    };
    auto made = co_await encoded();
    if (!made && made.error().code == Code::out_of_memory && projector.backend == "gpu") {
        // The other tower, and what other pictures left.
        if (release_towers()) made = co_await encoded();
        if (!made && made.error().code == Code::out_of_memory) {
            co_return fail(Code::out_of_memory,
                           "the GPU has no room for the model's {} beside the model ({}): a smaller budget for "
                           "pictures, a shorter context or a smaller model leaves more",
                           media->picture ? "eyes" : "ears", made.error().message);
        }
    }
    std::vector<float> soft = CO_TRY(std::move(made));
    if (soft.size() != size_t{media->tokens} * projector.width()) {
        co_return fail(Code::internal, "{} numbers are not {} soft tokens", soft.size(), media->tokens);
    }
    for (const float value : soft) {
        if (!std::isfinite(value)) {
            co_return fail(Code::bad_file,
                           "the projector makes numbers that are none of this: its weights are damaged");
        }
    }
    media->soft = std::make_shared<const std::vector<float>>(std::move(soft));
    co_return media->soft;
}

Task<Result<Reply>> Api::media_encode(Call& call) {
    MediaArgs args;
    CO_TRY(read_message(call.args, args));
    const auto media = CO_TRY(media_of(args.media));
    const bool known = media->soft != nullptr;
    const double started = host_.now();
    const auto soft = CO_TRY(co_await soft_tokens(
        media, {.breathe = breathe_for(call), .progress = progress_of(call), .trace = nullptr}, call.cancel));
    const towers::Projector& towers = media->projector->towers;
    co_return reply(
        MediaEncodeResult{.tokens = media->tokens,
                          .width = media->projector->width(),
                          .ms = known ? 0 : host_.now() - started,
                          .operations = media->picture
                                            ? towers::operations_of_picture(*towers.vision, media->picture->size.width,
                                                                            media->picture->size.height)
                                            : towers::operations_of_sound(*towers.audio, media->tokens)},
        bytes_of(*soft));
}

Task<Result<Reply>> Api::media_close(Call& call) {
    MediaArgs args;
    CO_TRY(read_message(call.args, args));
    CO_TRY(media_of(args.media));
    media_.erase(args.media);
    co_return Reply{};
}

Result<PromptMedia> Api::prompt_media(const Call& call, const OpenSession& open, Id wanted) {
    const auto media = TRY(media_of(wanted));
    const auto config = TRY(open.model->config());
    if (media->projector->width() != config->width) {
        return fail(Code::invalid_argument,
                    "the picture or sound {} is for another model: its soft tokens have {} numbers, this model's {}",
                    wanted, media->projector->width(), config->width);
    }
    PromptMedia out{.is_sound = media->is_sound(), .digest = media->digest, .part = {.count = media->tokens}};
    if (!out.is_sound) {
        out.part.sight = open.image_attention == ImageAttention::llama_cpp ? Sight::both_ways
                         : config->is_small()                              ? Sight::causal
                                                                           : Sight::sliding;
    }
    out.part.rows = [this, media, cancel = call.cancel](Breathe breathe) {
        return soft_tokens(media, {.breathe = std::move(breathe), .progress = nullptr, .trace = nullptr}, cancel);
    };
    return out;
}

Result<infer::Prompt> Api::prompt_with_media(const Call& call, const OpenSession& open, std::span<const int32_t> tokens,
                                             std::span<const MediaUse> media) {
    infer::Prompt out;
    for (const int32_t token : tokens) {
        if (token >= 0) {
            out.tokens.push_back(token);
            continue;
        }
        const size_t which = size_t(-(int64_t{token} + 1));
        if (which >= media.size()) {
            return fail(Code::invalid_argument, "the tokens have an entry {}, and there are {} media", token,
                        media.size());
        }
        TRY(append_media(TRY(prompt_media(call, open, media[which].media)), open.session->runner().context(), out));
    }
    return out;
}

}  // namespace lapidary::api

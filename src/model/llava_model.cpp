// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/llava_model.h"

#include "base/error.h"
#include "base/log.h"
#include "model/describe_model.h"
#include "model/tensor_bridge.h"
#include "model/torch_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace ecokv::model {

namespace {

/// Names as transformers 5 holds them in memory; what it and older releases write to files.
constexpr PrefixRule kPrefixRules[] = {
    {"language_model.model.", "model.language_model."},
    {"language_model.lm_head.", "lm_head."},
    {"vision_tower.", "model.vision_tower."},
    {"multi_modal_projector.", "model.multi_modal_projector."},
};

std::vector<float> toHost(const at::Tensor& logits) {
    const at::Tensor host = logits.to(c10::kCPU, c10::kFloat).contiguous();
    const float* data = host.const_data_ptr<float>();
    return {data, data + host.numel()};
}

at::TensorOptions computeOptions(DType dtype, Device device) {
    return at::TensorOptions(toTorch(dtype)).device(toTorch(device));
}

} // namespace

struct LlavaModel::Files {
    ModelConfig config;
    Checkpoint checkpoint;
    PromptBuilder promptBuilder;
    std::filesystem::path folder;
};

std::unique_ptr<Model> LlavaModel::open(const std::filesystem::path& folder,
                                        const LoadOptions& options) {
    ModelConfig config = readModelConfig(folder);
    PromptBuilder promptBuilder = PromptBuilder::open(folder, config);
    Files files{std::move(config), Checkpoint::open(folder), std::move(promptBuilder), folder};
    return std::unique_ptr<Model>(new LlavaModel(std::move(files), options));
}

LlavaModel::LlavaModel(Files files, const LoadOptions& options)
    : m_config(std::move(files.config)), m_checkpoint(std::move(files.checkpoint)),
      m_promptBuilder(std::move(files.promptBuilder)), m_device(options.device) {
    const auto& chatTemplate = m_promptBuilder.chatTemplate();
    m_info =
        makeModelInfo(files.folder, {.config = m_config,
                                     .checkpoint = m_checkpoint,
                                     .templateSource = chatTemplate ? chatTemplate->origin() : "",
                                     .processorSource = m_promptBuilder.imageProcessor().source});
    m_endTokens = readEndTokens(files.folder, m_config);
    m_dtype = chooseComputeDType({.asked = options.dtype,
                                  .stored = m_info.storedDType,
                                  .weightBytes = m_info.weightBytes,
                                  .device = m_device});
    m_threads = resolveThreads(options.threads, m_info.parameters);
    loadWeights(options);
}

void LlavaModel::loadWeights(const LoadOptions& options) {
    prepareDevice(m_device);
    const TorchScope scope(m_threads);
    WeightLoader loader(m_checkpoint, kPrefixRules,
                        {m_dtype, m_device, options.progress, options.cancel});
    m_tower.emplace(m_config.vision, m_config.projector.encoderLayersUsed,
                    "model.vision_tower.vision_model.", loader);
    m_projector.emplace(m_config, "model.multi_modal_projector.", loader);
    m_decoder.emplace(m_config.decoder,
                      LlamaDecoder::Names{.prefix = "model.language_model.", .head = "lm_head"},
                      loader, computeOptions(m_dtype, m_device));
    loader.finish(m_info.path);
    log()->info("{} computes in {} (stored in {}) with {} thread(s).", m_info.name,
                dtypeName(m_dtype), dtypeName(m_info.storedDType), m_threads);
}

cache::CacheShape LlavaModel::cacheShape() const {
    const DecoderConfig& decoder = m_config.decoder;
    return {decoder.layers, decoder.kvHeads, decoder.headDim, m_dtype, m_device};
}

void LlavaModel::checkCache(const cache::KvCache& cache) const {
    const cache::CacheShape wanted = cacheShape();
    const cache::CacheShape& is = cache.shape();
    const bool fits = is.layers == wanted.layers && is.kvHeads == wanted.kvHeads &&
                      is.headDim == wanted.headDim && is.dtype == wanted.dtype &&
                      is.device == wanted.device;
    if (!fits) {
        throwInternal(
            fmt::format("A cache of {} layers x {} heads x {} ({}) was given to {}, which "
                        "needs {} x {} x {} ({}).",
                        is.layers, is.kvHeads, is.headDim, dtypeName(is.dtype), m_info.name,
                        wanted.layers, wanted.kvHeads, wanted.headDim, dtypeName(wanted.dtype)));
    }
}

Prompt LlavaModel::prepare(const PromptRequest& request) const {
    return m_promptBuilder.build(request);
}

std::vector<TokenId> LlavaModel::tokenize(const std::string& text) const {
    std::vector<TokenId> ids = m_promptBuilder.tokenizer().encode(text, false);
    if (std::ranges::find(ids, m_config.imageToken) != ids.end()) { // field case F055
        throwBadInput(fmt::format("The question holds the picture marker {}, but pictures belong "
                                  "to the context.",
                                  m_promptBuilder.imageMarker()),
                      "Remove the marker, or start a new run with that picture.");
    }
    return ids;
}

std::vector<float> LlavaModel::prefill(const Prompt& prompt, cache::KvCache& cache,
                                       LayerObserver* observer, const ProgressSink& progress,
                                       const CancellationToken& cancel,
                                       const PrefillOptions& options) {
    const TorchScope scope(m_threads);
    checkCache(cache);
    if (cache.tokensSeen() != 0) {
        throwInternal("A prefill was started on a cache that already holds tokens.");
    }
    if (prompt.tokenIds.empty()) {
        throwBadInput("The prompt has no tokens.", "Type at least one word.");
    }
    at::Tensor hidden = m_decoder->embed(prompt.tokenIds);
    mixInPictures(prompt, hidden, progress, cancel);
    const DecoderPass pass{cache, cancel, observer, progress, options.chunk};
    return toHost(m_decoder->prefill(std::move(hidden), pass));
}

std::vector<float> LlavaModel::extend(std::span<const TokenId> tokens, cache::KvCache& cache,
                                      LayerObserver* observer, const ProgressSink& progress,
                                      const CancellationToken& cancel) {
    const TorchScope scope(m_threads);
    checkCache(cache);
    if (tokens.empty()) {
        throwBadInput("There are no tokens to go on with.", "Type at least one word.");
    }
    const DecoderPass pass{cache, cancel, observer, progress};
    return toHost(m_decoder->extend(m_decoder->embed(tokens), pass));
}

std::vector<float> LlavaModel::decode(TokenId token, cache::KvCache& cache,
                                      const CancellationToken& cancel, LayerObserver* observer) {
    return extend({&token, 1}, cache, observer, {}, cancel);
}

void LlavaModel::mixInPictures(const Prompt& prompt, at::Tensor& hidden,
                               const ProgressSink& progress,
                               const CancellationToken& cancel) const {
    const auto layers = std::int64_t{m_tower->layersUsed()};
    Progress state{"Reading pictures", 0,
                   static_cast<std::int64_t>(prompt.pictures.size()) * layers, "layers"};
    const auto step = [&] {
        cancel.throwIfCancelled("Reading pictures");
        ++state.done;
        if (progress) {
            progress(state);
        }
    };
    for (std::size_t picture = 0; picture < prompt.pictures.size(); ++picture) {
        const at::Tensor features = encodePicture(prompt, picture, step);
        std::int64_t used = 0;
        for (std::int64_t token = 0; token < prompt.tokens(); ++token) {
            const auto index = static_cast<std::size_t>(token);
            if (prompt.tokenKind[index] == TokenKind::Image &&
                prompt.imageIndex[index] == static_cast<std::int32_t>(picture)) {
                if (used < features.size(0)) {
                    hidden.select(0, token).copy_(features.select(0, used));
                }
                ++used;
            }
        }
        if (used != features.size(0)) {
            throwBadInput(fmt::format("Picture {} ({}) has {} image tokens in the prompt, but the "
                                      "vision tower gives {} features.",
                                      picture + 1, prompt.pictures[picture].path, used,
                                      features.size(0)));
        }
    }
}

at::Tensor LlavaModel::encodePicture(const Prompt& prompt, std::size_t picture,
                                     const std::function<void()>& step) const {
    const std::int64_t side = m_config.vision.imageSize;
    const std::vector<float>& values = prompt.pixelValues.at(picture);
    if (static_cast<std::int64_t>(values.size()) != 3 * side * side) {
        throwBadInput(
            fmt::format(
                "Picture {} ({}) was prepared as {} x {} pixels, but the vision tower takes "
                "{} x {}.",
                picture + 1, prompt.pictures[picture].path, prompt.pictures[picture].resizedWidth,
                prompt.pictures[picture].resizedHeight, side, side),
            "The image processor file and config.json of the model do not belong together.");
    }
    const TensorView view =
        TensorView::contiguous(const_cast<float*>(values.data()), DType::F32, {3, side, side});
    const at::Tensor pixels = tensorOf(view).to(toTorch(m_device), toTorch(m_dtype));
    return m_projector->project(m_tower->encode(pixels, step));
}

bool LlavaModel::isUnused(TokenId id) const {
    return id >= 0 && id < m_config.decoder.vocabulary && !m_promptBuilder.tokenizer().knows(id);
}

std::string LlavaModel::decodeText(const std::vector<TokenId>& ids) const {
    std::vector<TokenId> known;
    std::ranges::copy_if(ids, std::back_inserter(known), [&](TokenId id) { return !isUnused(id); });
    return m_promptBuilder.tokenizer().decode(known, true);
}

std::string LlavaModel::tokenText(TokenId id) const {
    return isUnused(id) ? "" : m_promptBuilder.tokenizer().tokenBytes(id);
}

} // namespace ecokv::model

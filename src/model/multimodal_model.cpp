// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/multimodal_model.h"

#include "base/error.h"
#include "base/log.h"
#include "model/decoder/finite_checks.h"
#include "model/describe_model.h"
#include "model/end_tokens.h"
#include "model/tensor_bridge.h"
#include "model/tensor_check.h"
#include "model/torch_runtime.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace ecokv::model {

namespace {

std::vector<float> toHost(const at::Tensor& logits) {
    const at::Tensor host = logits.to(c10::kCPU, c10::kFloat).contiguous();
    const float* data = host.const_data_ptr<float>();
    return {data, data + host.numel()};
}

/// A key or value that is not finite.
struct DamagedRow {
    std::int32_t layer = 0;
    std::int64_t position = 0; ///< true position of its token
};

/// Of `rows` [row, dim] of a head, the true position of the first that is not finite.
std::optional<std::int64_t> firstDamaged(const TensorView& rows,
                                         std::span<const std::int64_t> positions) {
    if (rows.shape[0] == 0 || isFinite(tensorOf(rows))) {
        return std::nullopt;
    }
    for (std::int64_t row = 0; row < rows.shape[0]; ++row) {
        if (!isFinite(tensorOf(rows.slice(0, row, row + 1)))) {
            return positions[static_cast<std::size_t>(row)];
        }
    }
    return std::nullopt;
}

/// The one of the first layer that has some, and there of the first token; looked for only when
/// something is wrong.
std::optional<DamagedRow> findDamage(const cache::KvCache& cache) {
    for (std::int32_t layer = 0; layer < cache.shape().layers; ++layer) {
        std::optional<DamagedRow> found;
        for (std::int32_t head = 0; head < cache.shape().kvHeads; ++head) {
            const LayerId id{layer};
            const HeadId kvHead{head};
            for (const TensorView& rows : {cache.keys(id, kvHead), cache.values(id, kvHead)}) {
                const auto position = firstDamaged(rows, cache.positions(id, kvHead));
                if (position && (!found || *position < found->position)) {
                    found = DamagedRow{layer, *position};
                }
            }
        }
        if (found) {
            return found;
        }
    }
    return std::nullopt;
}

/// The logits behind the last token that `cache` holds. Throws Error{BadInput} where no token can
/// be chosen by them.
std::vector<float> finiteLogits(const at::Tensor& logits, const cache::KvCache& cache,
                                const Decoder& decoder) {
    std::vector<float> host = toHost(logits);
    if (std::ranges::all_of(host, [](float logit) { return std::isfinite(logit); })) {
        return host;
    }
    if (const auto damage = findDamage(cache)) {
        throwNotFinite(fmt::format("From layer {} on, the keys and values of token {}",
                                   damage->layer, damage->position),
                       logits.scalar_type());
    }
    if (const auto part = decoder.damagedEnd(); !part.empty()) {
        throwDamaged("What turns the last layer into logits", part);
    }
    throwNotFinite(fmt::format("The logits behind token {} (final norm or output head)",
                               cache.tokensSeen() - 1),
                   logits.scalar_type());
}

/// Of a `picture` in words.
void requireFinite(const VisionFeatures& features, const std::string& picture) {
    if (!isFinite(features.rows)) {
        throwNotFinite("The features that the vision tower gives for " + picture,
                       features.rows.scalar_type());
    }
    for (std::size_t layer = 0; layer < features.deepstack.size(); ++layer) {
        if (!isFinite(features.deepstack[layer])) {
            throwNotFinite(
                fmt::format("The features that deepstack merger {} gives for {}", layer, picture),
                features.rows.scalar_type());
        }
    }
}

/// Positions of the image tokens of one picture, [imageToken] i64.
at::Tensor imageTokensOf(const Prompt& prompt, std::int32_t picture) {
    std::vector<std::int64_t> tokens;
    for (std::size_t token = 0; token < prompt.tokenIds.size(); ++token) {
        if (prompt.tokenKind[token] == TokenKind::Image && prompt.imageIndex[token] == picture) {
            tokens.push_back(static_cast<std::int64_t>(token));
        }
    }
    at::Tensor index =
        at::empty({static_cast<std::int64_t>(tokens.size())}, at::TensorOptions(c10::kLong));
    std::ranges::copy(tokens, index.data_ptr<std::int64_t>());
    return index;
}

at::TensorOptions computeOptions(DType dtype, Device device) {
    return at::TensorOptions(toTorch(dtype)).device(toTorch(device));
}

} // namespace

struct MultimodalModel::Files {
    std::unique_ptr<const Family> family;
    Checkpoint checkpoint;
    PromptBuilder promptBuilder;
    std::filesystem::path folder;
};

std::unique_ptr<Model> MultimodalModel::open(const std::filesystem::path& folder,
                                             const LoadOptions& options) {
    std::unique_ptr<const Family> family = openFamily(folder);
    PromptBuilder promptBuilder = PromptBuilder::open(folder, *family);
    Files files{std::move(family), Checkpoint::open(folder), std::move(promptBuilder), folder};
    std::unique_ptr<MultimodalModel> model(new MultimodalModel(std::move(files), options));
    checkTensors(*model->m_family, model->m_checkpoint, model->m_info.path);
    if (options.beforeWeights) {
        options.beforeWeights(*model);
    }
    model->loadWeights(options);
    return model;
}

MultimodalModel::MultimodalModel(Files files, const LoadOptions& options)
    : m_family(std::move(files.family)), m_checkpoint(std::move(files.checkpoint)),
      m_promptBuilder(std::move(files.promptBuilder)), m_device(options.device) {
    m_info = makeModelInfo(
        files.folder,
        {.config = m_family->config(), .checkpoint = m_checkpoint, .prompts = m_promptBuilder});
    m_endTokens = model::endTokens(files.folder, m_family->config(), m_promptBuilder.tokenizer());
    m_dtype = chooseComputeDType({.asked = options.dtype,
                                  .stored = m_info.storedDType,
                                  .weightBytes = m_info.weightBytes,
                                  .device = m_device});
    m_threads = resolveThreads(options.threads, m_info.parameters);
}

void MultimodalModel::loadWeights(const LoadOptions& options) {
    prepareDevice(m_device);
    keepFreedBlocks();
    const TorchScope scope(m_threads);
    WeightLoader loader(m_checkpoint, m_family->prefixRules(),
                        {m_dtype, m_device, options.progress, options.cancel});
    m_vision = m_family->takeVision(loader);
    m_decoder.emplace(decoderConfig(), m_family->decoderNames(), loader,
                      computeOptions(m_dtype, m_device));
    loader.finish(m_info.path);
    log()->info("{} computes in {} (stored in {}) with {} thread(s).", m_info.name,
                dtypeName(m_dtype), dtypeName(m_info.storedDType), m_threads);
}

cache::CacheShape MultimodalModel::cacheShape() const {
    const DecoderConfig& decoder = decoderConfig();
    return {decoder.layers, decoder.kvHeads, decoder.headDim, m_dtype, m_device};
}

void MultimodalModel::checkCache(const cache::KvCache& cache) const {
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

Prompt MultimodalModel::prepare(const PromptRequest& request) const {
    return m_promptBuilder.build(request);
}

std::vector<TokenId> MultimodalModel::tokenize(const std::string& text) const {
    return m_promptBuilder.encodeQuestion(text);
}

std::vector<float> MultimodalModel::prefill(const Prompt& prompt, cache::KvCache& cache,
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
    if (!isFinite(hidden)) {
        throwNotFinite("The embeddings of the prompt's tokens", hidden.scalar_type());
    }
    const DeepFeatures deepstack = mixInPictures(prompt, hidden, progress, cancel);
    const DecoderPass pass{.cache = cache,
                           .cancel = cancel,
                           .observer = observer,
                           .progress = progress,
                           .chunk = options.chunk,
                           .ropePositions = prompt.ropePositions,
                           .imageIndex = prompt.imageIndex,
                           .deepstack = deepstack};
    return finiteLogits(m_decoder->prefill(std::move(hidden), pass), cache, *m_decoder);
}

std::vector<float> MultimodalModel::extend(std::span<const TokenId> tokens, cache::KvCache& cache,
                                           LayerObserver* observer, const ProgressSink& progress,
                                           const CancellationToken& cancel) {
    const TorchScope scope(m_threads);
    checkCache(cache);
    if (tokens.empty()) {
        throwBadInput("There are no tokens to go on with.", "Type at least one word.");
    }
    const DecoderPass pass{cache, cancel, observer, progress};
    return finiteLogits(m_decoder->extend(m_decoder->embed(tokens), pass), cache, *m_decoder);
}

std::vector<float> MultimodalModel::decode(TokenId token, cache::KvCache& cache,
                                           const CancellationToken& cancel,
                                           LayerObserver* observer) {
    return extend({&token, 1}, cache, observer, {}, cancel);
}

DeepFeatures MultimodalModel::mixInPictures(const Prompt& prompt, at::Tensor& hidden,
                                            const ProgressSink& progress,
                                            const CancellationToken& cancel) const {
    DeepFeatures deep;
    Progress state{"Reading pictures", 0, 0, "layers"};
    for (const PictureInput& input : prompt.pictureInputs) {
        state.total += m_vision->steps(input);
    }
    const auto step = [&] {
        cancel.throwIfCancelled("Reading pictures");
        ++state.done;
        if (progress) {
            progress(state);
        }
    };
    for (std::size_t picture = 0; picture < prompt.pictureInputs.size(); ++picture) {
        const VisionFeatures features = encodePicture(prompt.pictureInputs[picture], step);
        const at::Tensor tokens =
            imageTokensOf(prompt, static_cast<std::int32_t>(picture)).to(hidden.device());
        if (tokens.size(0) != features.rows.size(0)) { // field case F054
            throwBadInput(fmt::format("Picture {} ({}) has {} image tokens in the prompt, but the "
                                      "vision tower gives {} features.",
                                      picture + 1, prompt.pictures[picture].path, tokens.size(0),
                                      features.rows.size(0)),
                          "The processor files and config.json of the model do not belong "
                          "together: download them from the same place.");
        }
        const std::string& path = prompt.pictures[picture].path;
        requireFinite(features, fmt::format("picture {} ({})", picture + 1, path));
        hidden.index_copy_(0, tokens, features.rows);
        deep.add(tokens, features.deepstack);
    }
    return deep;
}

VisionFeatures MultimodalModel::encodePicture(const PictureInput& input,
                                              const std::function<void()>& step) const {
    const at::Tensor values =
        at::from_blob(const_cast<float*>(input.values.data()), input.shape, c10::kFloat);
    return m_vision->encode(values.to(toTorch(m_device), toTorch(m_dtype)), input, step);
}

bool MultimodalModel::isUnused(TokenId id) const {
    return id >= 0 && id < decoderConfig().vocabulary && !m_promptBuilder.tokenizer().knows(id);
}

std::string MultimodalModel::decodeText(const std::vector<TokenId>& ids) const {
    std::vector<TokenId> known;
    std::ranges::copy_if(ids, std::back_inserter(known), [&](TokenId id) { return !isUnused(id); });
    return m_promptBuilder.tokenizer().decode(known, true);
}

std::string MultimodalModel::tokenText(TokenId id) const {
    return isUnused(id) ? "" : m_promptBuilder.tokenizer().tokenBytes(id);
}

} // namespace ecokv::model

// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/trace_records.h"

#include "model/text/utf8.h"
#include "policy/policy_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

namespace ecokv::session {

namespace {

/// A trace travels: it names files, not where they lay on this machine.
std::string fileName(const std::string& path) {
    return std::filesystem::path(path).filename().string();
}

/// The bytes of a token as valid UTF-8: bytes that are no character stand as "<0xE5>", so that none
/// is lost and every reader can open the text (field case F118).
std::string readableBytes(const std::string& bytes) {
    std::string text;
    for (std::size_t at = 0; at < bytes.size();) {
        const model::Utf8Char character = model::utf8At(bytes, at);
        for (std::size_t i = 0; i < character.length; ++i) {
            if (character.valid) {
                text += bytes[at + i];
            } else {
                text += fmt::format("<0x{:02X}>", static_cast<unsigned char>(bytes[at + i]));
            }
        }
        at += character.length;
    }
    return text;
}

std::vector<std::string> readableTokens(const std::vector<std::string>& tokens) {
    std::vector<std::string> texts;
    std::transform(tokens.begin(), tokens.end(), std::back_inserter(texts), readableBytes);
    return texts;
}

} // namespace

const char* producerName() {
    return "ecokv " ECOKV_VERSION;
}

trace::ModelRecord modelRecord(const model::ModelInfo& info) {
    trace::ModelRecord record;
    record.configJson = info.configJson;
    const model::RopeSettings first =
        info.ropes.settings.empty() ? model::RopeSettings() : info.ropes.settings.front();
    for (const model::RopeSettings& rope : info.ropes.settings) {
        record.ropes.push_back(
            {rope.inverseFrequencies, rope.axes, static_cast<double>(rope.attentionScaling)});
    }
    record.ropeOfLayer = info.ropes.ofLayer;
    record.linearLayers = info.linearLayers;
    if (std::ranges::any_of(info.slidingWindows, [](std::int64_t window) { return window > 0; })) {
        record.slidingWindows = info.slidingWindows;
    }
    record.attributes = {
        {"name", info.name},
        {"family", info.family},
        {"architecture", info.architecture},
        {"path_basename", fileName(info.path)},
        {"config_sha256", info.configSha256},
        {"weights_sha256", info.weightsSha256},
        {"n_layers", std::int64_t{info.layers}},
        {"n_heads", std::int64_t{info.heads}},
        {"n_kv_heads", std::int64_t{info.kvHeads}},
        {"head_dim", std::int64_t{info.headDim}},
        {"hidden_size", std::int64_t{info.hidden}},
        {"vocabulary", std::int64_t{info.vocabulary}},
        {"parameters", info.parameters},
        {"dtype", std::string(dtypeName(info.storedDType))},
        {"rope_theta", first.theta},
        {"rope_style",
         std::string(first.style == kernels::RopeStyle::Half ? "half" : "interleaved")},
        {"template_source", fileName(info.templateSource)},
        {"processor_source", fileName(info.processorSource)},
        {"processor_class", info.processorClass},
        {"processor_rule", info.processorRule},
    };
    return record;
}

std::vector<std::uint8_t> tokenKinds(const model::Prompt& prompt) {
    std::vector<std::uint8_t> kinds;
    std::transform(prompt.tokenKind.begin(), prompt.tokenKind.end(), std::back_inserter(kinds),
                   [](model::TokenKind kind) { return static_cast<std::uint8_t>(kind); });
    return kinds;
}

trace::PromptRecord promptRecord(const model::Prompt& prompt) {
    trace::PromptRecord record;
    record.text = readableBytes(prompt.text);
    record.tokenIds.assign(prompt.tokenIds.begin(), prompt.tokenIds.end());
    record.tokenText = readableTokens(prompt.tokenText);
    record.imageIndex = prompt.imageIndex;
    record.patchBox = prompt.patchBox;
    record.tokenKind = tokenKinds(prompt);
    record.ropePositions = prompt.ropePositions;
    std::transform(prompt.patchRole.begin(), prompt.patchRole.end(),
                   std::back_inserter(record.patchRole),
                   [](model::PatchRole role) { return static_cast<std::uint8_t>(role); });
    return record;
}

trace::ImageRecord imageRecord(const model::Picture& picture) {
    trace::ImageRecord record;
    record.width = picture.width;
    record.height = picture.height;
    record.pixels = picture.pixels;
    record.attributes = {
        {"sha256", picture.sha256},
        {"source_basename", fileName(picture.path)},
        {"orientation", std::int64_t{picture.orientation}},
        {"transparency", picture.transparency},
        {"resized_width", std::int64_t{picture.resizedWidth}},
        {"resized_height", std::int64_t{picture.resizedHeight}},
        {"grid_columns", std::int64_t{picture.gridColumns}},
        {"grid_rows", std::int64_t{picture.gridRows}},
    };
    return record;
}

trace::Attributes policyAttributes(const policy::ResolvedPolicy& policy) {
    return policy::settingsOf(policy);
}

trace::LayerRecord layerRecord(const policy::LayerInput& input, const policy::LayerScores& scores,
                               std::int64_t recordWindow, bool recordValues) {
    trace::LayerRecord record;
    record.layer = input.layer.value;
    record.keys = input.keys;
    if (recordValues) {
        record.values = input.values;
    }
    const std::int64_t rows = input.windowQueries.shape[1];
    record.windowQueries = input.windowQueries.slice(1, rows - std::min(recordWindow, rows), rows);
    record.heads = {{"redundancy", scores.redundancy},
                    {"redundancy_cosine", scores.redundancyCosine},
                    {"redundancy_euclid", scores.redundancyEuclid},
                    {"anisotropy", scores.anisotropy},
                    {"mean_key_norm", scores.meanKeyNorm}};
    record.scores = {{"importance", scores.importance},
                     {"diversity_cosine", scores.diversityCosine},
                     {"diversity_euclid", scores.diversityEuclid},
                     {"diversity", scores.diversity},
                     {"score", scores.score},
                     {"key_norm", scores.keyNorm},
                     {"value_norm", scores.valueNorm}};
    return record;
}

trace::DecodeRecord decodeRecord(const Answer& answer) {
    trace::DecodeRecord record;
    record.tokenIds.assign(answer.tokenIds.begin(), answer.tokenIds.end());
    record.tokenText = readableTokens(answer.tokenText);
    record.logprob = answer.logprob;
    record.attributes = {{"answer", readableBytes(answer.text)},
                         {"stopped_at_end", std::int64_t{answer.stoppedAtEnd}},
                         {"peak_bytes", static_cast<std::int64_t>(answer.cache.peakBytes())}};
    record.keptLength = answer.cache.keptLength;
    for (const Eviction& eviction : answer.cache.evictions) {
        record.evictions.step.push_back(eviction.step);
        record.evictions.layer.push_back(eviction.layer);
        record.evictions.kvHead.push_back(eviction.kvHead);
        record.evictions.position.push_back(eviction.position);
    }
    return record;
}

trace::DecodeRecord questionRecord(const QuestionResult& question, const Answer& answer) {
    trace::DecodeRecord record = decodeRecord(answer);
    record.questionIds.assign(question.questionIds.begin(), question.questionIds.end());
    record.attributes["question"] = readableBytes(question.question);
    return record;
}

trace::PolicyRecord comparedRecord(const Variant& variant, const ComparedPolicy& compared,
                                   std::int64_t layers, std::int64_t kvHeads) {
    const std::int64_t tokens = variant.policy.tokens;
    trace::PolicyRecord record;
    record.id = compared.traceId;
    record.attributes = policyAttributes(variant.policy);
    record.attributes["kept_bytes"] = static_cast<std::int64_t>(compared.ledger.keptBytes);
    record.attributes["full_bytes"] = static_cast<std::int64_t>(compared.ledger.fullBytes);
    record.attributes["answer"] = readableBytes(compared.answer.text);
    record.attributes["first_divergence"] = compared.divergence ? compared.divergence->step : -1;
    record.attributes["decode_seconds"] = compared.seconds;
    record.attributes["tokens_per_second"] = compared.tokensPerSecond;
    for (const auto& [name, mean] : {std::pair{"mean_kl", compared.meanKl},
                                     std::pair{"top1_agreement", compared.top1Agreement},
                                     std::pair{"perplexity_ratio", compared.perplexityRatio},
                                     std::pair{"predicted_output_error", compared.predictedError},
                                     std::pair{"measured_output_error", compared.measuredError}}) {
        if (mean) {
            record.attributes[name] = *mean;
        }
    }
    const bool everything = variant.plans.empty();
    record.kept.assign(static_cast<std::size_t>(layers * kvHeads * tokens), everything ? 1 : 0);
    record.budgetPerHead.assign(static_cast<std::size_t>(layers * kvHeads),
                                static_cast<std::int32_t>(tokens));
    for (std::int64_t layer = 0; everything && layer < layers; ++layer) {
        if (variant.policy.shape.isLinear(static_cast<std::int32_t>(layer))) {
            const std::int64_t first = layer * kvHeads;
            std::fill_n(record.budgetPerHead.begin() + first, kvHeads, 0);
            std::fill_n(record.kept.begin() + first * tokens, kvHeads * tokens, std::uint8_t{0});
        }
    }
    std::size_t head = 0;
    for (const cache::LayerPlan& plan : variant.plans) {
        for (const auto& rows : plan.keptRows) {
            for (const std::int32_t row : rows) {
                record
                    .kept[head * static_cast<std::size_t>(tokens) + static_cast<std::size_t>(row)] =
                    1;
            }
            record.budgetPerHead[head++] = static_cast<std::int32_t>(rows.size());
        }
    }
    record.outputError = variant.predictedError;
    record.retainedMass = variant.retainedMass;
    record.measuredError = compared.measuredErrors;
    return record;
}

trace::ForcedRecord forcedRecord(const ComparedPolicy& compared) {
    return {compared.kl, compared.top1Agree, compared.forcedLogprob};
}

trace::RunRecord runRecord(const RunConfig& config, const RunResult& result) {
    const Timings& t = result.timings;
    trace::RunRecord record;
    record.argumentsJson = toJson(config);
    record.log = fmt::format("{}", fmt::join(result.notes, "\n"));
    record.attributes = {{"seed", static_cast<std::int64_t>(config.policy.seed)},
                         {"threads", std::int64_t{result.threads}},
                         {"device", result.device},
                         {"dtype", result.dtype},
                         {"backend", result.backend},
                         {"decode_eviction", result.decodeEviction},
                         {"prompt_tokens", result.promptTokens},
                         {"image_tokens", result.imageTokens},
                         {"load_seconds", t.loadSeconds},
                         {"prepare_seconds", t.prepareSeconds},
                         {"prefill_seconds", t.prefillSeconds},
                         {"scoring_seconds", t.scoringSeconds},
                         {"decode_seconds", t.decodeSeconds},
                         {"decode_tokens_per_second", t.decodeTokensPerSecond},
                         {"total_seconds", t.totalSeconds}};
    return record;
}

} // namespace ecokv::session

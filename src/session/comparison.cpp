// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/comparison.h"

#include "base/stop_watch.h"
#include "policy/host_tensor.h"
#include "policy/retention.h"
#include "session/ledger_book.h"
#include "session/trace_records.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace ecokv::session {

namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

/// Mean over the heads of `values` [layer, kvHead] that count (field case F034).
std::optional<double> meanOf(const std::vector<float>& values, const policy::ModelShape& shape) {
    const std::vector<float> own = shape.kinds().countedOf(values, shape.layers);
    return own.empty() ? std::nullopt
                       : std::optional(std::accumulate(own.begin(), own.end(), 0.0) /
                                       static_cast<double>(own.size()));
}

double speedOf(std::size_t tokens, double seconds) {
    return seconds > 0 && tokens > 1 ? static_cast<double>(tokens - 1) / seconds : 0;
}

/// Survivors and everything that was generated.
cache::LayerPlan withContinuation(cache::LayerPlan plan, std::int64_t prompt, std::int64_t end) {
    for (auto& rows : plan.keptRows) {
        for (std::int64_t row = prompt; row < end; ++row) {
            rows.push_back(static_cast<std::int32_t>(row));
        }
    }
    return plan;
}

ComparedPolicy described(const Variant& variant) {
    policy::PolicyConfig config = variant.policy.config;
    const std::string allocator = config.allocator;
    config.budget = 0;
    config.ratio.reset();
    config.allocator = policy::PolicyConfig{}.allocator;
    ComparedPolicy result;
    result.policy = policyText(config);
    result.allocator = config.scorer == "full" ? std::string() : allocator;
    result.budget = variant.policy.budget;
    result.refused = variant.refused;
    result.note = variant.policy.note;
    result.compressed = variant.measured() && variant.policy.compresses;
    return result;
}

} // namespace

std::optional<Divergence> divergenceOf(const Answer& full, const Answer& kept) {
    const std::size_t shared = std::min(full.tokenIds.size(), kept.tokenIds.size());
    const auto differing = std::mismatch(
        full.tokenIds.begin(), full.tokenIds.begin() + static_cast<std::ptrdiff_t>(shared),
        kept.tokenIds.begin());
    const auto step = static_cast<std::size_t>(differing.first - full.tokenIds.begin());
    if (step == full.tokenIds.size() && step == kept.tokenIds.size()) {
        return std::nullopt;
    }
    const auto text = [step](const Answer& answer) {
        return step < answer.tokenText.size() ? answer.tokenText[step] : std::string();
    };
    return Divergence{static_cast<std::int64_t>(step), text(full), text(kept)};
}

Comparison::Comparison(ComparisonSetup setup) : m_setup(std::move(setup)) {}

std::vector<ComparedPolicy> Comparison::run() {
    GenerationParams params;
    params.maxNewTokens = m_setup.maxNewTokens;
    params.onText = m_setup.onText;
    params.onToken = [this](std::int64_t done) {
        m_setup.progress({"Answering from the full cache", done, m_setup.maxNewTokens, "tokens"});
    };
    params.cancel = m_setup.cancel;
    m_fullLedger = makeLedger(*m_setup.full, m_setup.variants->front().policy);
    m_continuation = followFull(*m_setup.model, *m_setup.full, m_setup.logits, params);
    if (m_setup.trace != nullptr) {
        m_setup.trace->writeDecode(decodeRecord(m_continuation.answer));
    }
    measureErrors();
    std::vector<ComparedPolicy> results;
    const auto count = static_cast<std::int64_t>(m_setup.variants->size());
    for (std::size_t index = 0; index < m_setup.variants->size(); ++index) {
        m_setup.progress({"Comparing", static_cast<std::int64_t>(index), count, "policies"});
        results.push_back(compare(index));
    }
    m_setup.progress({"Comparing", count, count, "policies"});
    return results;
}

void Comparison::measureErrors() {
    std::vector<Variant>& variants = *m_setup.variants;
    m_measuredError.assign(variants.size(), {});
    const auto heads = static_cast<std::size_t>(m_setup.full->shape().kvHeads);
    const std::int64_t steps = m_continuation.queries.steps();
    if (steps == 0) {
        return;
    }
    for (std::int32_t i = 0; i < m_setup.full->shape().layers; ++i) {
        const LayerId layer{i};
        m_setup.cancel.throwIfCancelled("The comparison");
        m_setup.progress({"Measuring errors", i, m_setup.full->shape().layers, "layers"});
        if (variants.front().policy.shape.isLinear(i)) {
            for (std::size_t v = 0; v < variants.size(); ++v) {
                if (variants[v].cache != nullptr) {
                    m_measuredError[v].resize(m_measuredError[v].size() + heads, kNone);
                }
            }
            continue;
        }
        const policy::HostTensor keys(m_setup.full->layerKeys(layer));
        const policy::HostTensor values(m_setup.full->layerValues(layer));
        const std::int64_t end = keys.view().shape[1];
        std::vector<cache::LayerPlan> plans;
        for (const Variant& variant : variants) {
            if (variant.cache != nullptr) {
                plans.push_back(
                    withContinuation(variant.plans[layer.index()], variant.policy.tokens, end));
            }
        }
        std::vector<policy::MeasuredPlan> measured;
        std::transform(plans.begin(), plans.end(), std::back_inserter(measured),
                       [steps](const auto& plan) {
                           return policy::MeasuredPlan{&plan, steps};
                       });
        const auto retentions =
            policy::measureRetentions({.layer = layer,
                                       .keys = keys.view(),
                                       .values = values.view(),
                                       .windowQueries = m_continuation.queries.queries(layer),
                                       .positions = m_setup.full->positions(layer, HeadId{0}),
                                       .windowPositions = m_continuation.queries.positions()},
                                      measured);
        auto next = retentions.begin();
        for (std::size_t v = 0; v < variants.size(); ++v) {
            if (variants[v].cache != nullptr) {
                m_measuredError[v].insert(m_measuredError[v].end(), next->outputError.begin(),
                                          next->outputError.end());
                ++next;
            }
        }
    }
}

ComparedPolicy Comparison::compare(std::size_t index) {
    Variant& variant = (*m_setup.variants)[index];
    ComparedPolicy result = described(variant);
    if (!variant.measured()) {
        return result;
    }
    if (variant.cache == nullptr) {
        takeFromFull(result);
    } else {
        result.ledger = makeLedger(*variant.cache, variant.policy);
        const ForcedSteps forced = force(*variant.cache, result.seconds);
        const ForcedSummary summary = summarise(forced, m_continuation.answer.logprob);
        result.kl = forced.kl;
        result.top1Agree = forced.top1Agree;
        result.forcedLogprob = forced.logprob;
        result.meanKl = summary.meanKl;
        result.top1Agreement = summary.top1Agreement;
        result.perplexityRatio = summary.perplexityRatio;
        result.predictedError = meanOf(variant.predictedError, variant.policy.shape);
        result.measuredErrors = m_measuredError[index];
        result.measuredError = meanOf(result.measuredErrors, variant.policy.shape);
        answerFreely(variant, forced, result);
    }
    result.divergence = divergenceOf(m_continuation.answer, result.answer);
    record(variant, result);
    variant.cache.reset(); // its memory is not needed any more
    return result;
}

/// On a copy, which is gone afterwards: there are never two beside the original.
ForcedSteps Comparison::force(const cache::KvCache& kept, double& seconds) const {
    cache::KvCache copy = kept.clone(m_setup.maxNewTokens);
    return forceAlong(m_continuation, *m_setup.model, copy, m_setup.cancel, seconds);
}

/// A greedy answer that never leaves the continuation has its words, and the forced pass was it.
void Comparison::answerFreely(const Variant& variant, const ForcedSteps& forced,
                              ComparedPolicy& result) {
    if (forced.top == m_continuation.answer.tokenIds) {
        result.answer = m_continuation.answer;
        result.answer.logprob = forced.logprob;
        result.answer.cache = forced.cache;
    } else {
        GenerationParams params;
        params.maxNewTokens = m_setup.maxNewTokens;
        params.cancel = m_setup.cancel;
        cache::KvCache copy = variant.cache->clone(params.maxNewTokens); // with room, as in a run
        const StopWatch watch;
        result.answer = generateAnswer(*m_setup.model, copy, m_continuation.logits.front(), params);
        result.seconds = watch.seconds();
    }
    result.tokensPerSecond = speedOf(result.answer.tokenIds.size(), result.seconds);
}

/// What keeps everything is the full cache itself.
void Comparison::takeFromFull(ComparedPolicy& result) const {
    result.ledger = m_fullLedger;
    const Answer& answer = m_continuation.answer;
    const bool decoded = answer.tokenIds.size() > 1;
    result.kl.assign(answer.tokenIds.size(), 0.0F);
    result.top1Agree.assign(answer.tokenIds.size(), 1);
    result.forcedLogprob = answer.logprob;
    if (decoded) {
        result.meanKl = 0.0;
        result.top1Agreement = 1.0;
        result.perplexityRatio = 1.0;
        result.measuredError = 0.0;
    }
    result.predictedError = 0.0;
    result.answer = answer;
    result.seconds = m_continuation.seconds;
    result.tokensPerSecond = speedOf(answer.tokenIds.size(), m_continuation.seconds);
}

void Comparison::record(const Variant& variant, ComparedPolicy& result) {
    if (m_setup.trace == nullptr) {
        return;
    }
    const cache::CacheShape& shape = m_setup.full->shape();
    result.traceId = std::to_string(m_recorded++);
    m_setup.trace->writePolicy(comparedRecord(variant, result, shape.layers, shape.kvHeads));
    m_setup.trace->writePolicyDecode(result.traceId, decodeRecord(result.answer));
    m_setup.trace->writePolicyForced(result.traceId, forcedRecord(result));
}

} // namespace ecokv::session

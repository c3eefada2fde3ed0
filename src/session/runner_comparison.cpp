// SPDX-License-Identifier: GPL-3.0-or-later
// The steps of a run that compares policies: one prefill, one full cache, a copy for each policy.
#include "session/runner.h"

#include "base/stop_watch.h"
#include "kernels/backend_choice.h"
#include "session/compared_prefill.h"
#include "session/comparison.h"
#include "session/layer_gaps.h"
#include "session/trace_records.h"

#include <algorithm>
#include <utility>

namespace ecokv::session {

void Runner::prepareComparison() {
    const model::ModelInfo& info = m_model.info();
    std::vector<std::string> added;
    const auto policies = completeComparison(m_config.compare, added);
    for (const std::string& sentence : added) {
        note(sentence);
    }
    m_variants = resolveVariants(policies, m_prompt.tokens(), m_policy.shape);
    for (const Variant& variant : m_variants) {
        if (variant.measured()) {
            m_recordWindow = std::max(
                {m_recordWindow, std::int64_t{variant.policy.window}, variant.policy.judgedRows()});
        }
    }
    m_recordWindow = std::min(m_recordWindow, m_prompt.tokens());
    note(memoryNote(m_variants, m_model.cacheShape(), m_config.maxNewTokens, info.vocabulary));
}

void Runner::prefillComparison() {
    const StopWatch watch;
    const cache::CacheShape shape = m_model.cacheShape();
    m_cache = std::make_unique<cache::KvCache>(shape);
    m_cache->setRopePositions(m_prompt.ropePositions);
    m_cache->reserveForDecode(m_config.maxNewTokens);
    for (Variant& variant : m_variants) {
        if (variant.measured() && variant.policy.compresses) {
            variant.cache = std::make_unique<cache::KvCache>(shape);
        }
    }
    ComparedPrefill pipeline({.variants = &m_variants,
                              .full = m_cache.get(),
                              .backend = kernels::backendFor(shape.device),
                              .ropes = m_model.info().ropes,
                              .trace = m_trace.get(),
                              .recordWindow = m_recordWindow,
                              .recordValues = m_config.recordValues,
                              .recordGeometry = m_config.recordGeometry,
                              .tokenKinds = tokenKinds(m_prompt),
                              .cancel = m_cancel});
    m_logits = m_model.prefill(m_prompt, *m_cache, &pipeline,
                               [this](const Progress& progress) { m_listener.progress(progress); },
                               m_cancel, {.chunk = m_config.prefillChunk});
    for (Variant& variant : m_variants) {
        if (variant.cache) {
            fillGaps(variant.plans, shape.layers, shape.kvHeads);
            fillGaps(variant.predictedError, shape.layers, shape.kvHeads);
            fillGaps(variant.retainedMass, shape.layers, shape.kvHeads);
            variant.cache->copyUnevicted(*m_cache);
        }
    }
    for (const std::string& sentence : pipeline.notes()) {
        note(sentence);
    }
    notePrefilled(watch.seconds(), pipeline.scoringSeconds());
}

void Runner::compare() {
    Comparison comparison(
        {.model = &m_model,
         .variants = &m_variants,
         .full = m_cache.get(),
         .logits = m_logits,
         .maxNewTokens = m_config.maxNewTokens,
         .trace = m_trace.get(),
         .progress = [this](const Progress& progress) { m_listener.progress(progress); },
         .onText = [this](const std::string& piece) { m_listener.text(Stream::Full, piece); },
         .cancel = m_cancel});
    m_result.compared = comparison.run();
    m_result.answer = comparison.fullAnswer();
    m_result.fullAnswer = m_result.answer;
    m_result.hasFullAnswer = true;
    noteDecoded(comparison.fullSeconds(), m_result.answer.tokenIds.size() - 1);
}

} // namespace ecokv::session

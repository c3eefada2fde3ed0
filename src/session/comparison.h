#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Compares prefilled policies with the full cache: its greedy continuation, then each policy forced
// along it and answering freely, and the attention-output error on the continuation's own query
// rows. One thread.

#include "base/cancellation.h"
#include "base/progress.h"
#include "model/model.h"
#include "session/compared_variants.h"
#include "session/continuation.h"
#include "session/run_result.h"
#include "trace/trace_writer.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace ecokv::session {

struct ComparisonSetup {
    model::Model* model = nullptr;
    std::vector<Variant>* variants = nullptr; ///< prefilled (ComparedPrefill)
    cache::KvCache* full = nullptr;           ///< prefilled; grows by the continuation
    std::vector<float> logits;                ///< [vocabulary] f32 of the last prompt token
    std::int64_t maxNewTokens = 0;
    trace::TraceWriter* trace = nullptr;
    ProgressSink progress;
    std::function<void(const std::string&)> onText; ///< of the full cache's answer
    CancellationToken cancel;
};

class Comparison {
public:
    explicit Comparison(ComparisonSetup setup);

    /// In the order of the variants. Writes /decode, /policies/<id> and their decodes.
    std::vector<ComparedPolicy> run();
    const Answer& fullAnswer() const { return m_continuation.answer; }
    double fullSeconds() const { return m_continuation.seconds; }

private:
    ComparedPolicy compare(std::size_t index);
    ForcedSteps force(const cache::KvCache& kept, double& seconds) const;
    void answerFreely(const Variant& variant, const ForcedSteps& forced, ComparedPolicy& result);
    void takeFromFull(ComparedPolicy& result) const;
    void measureErrors();
    void record(const Variant& variant, ComparedPolicy& result);

    ComparisonSetup m_setup;
    Continuation m_continuation;
    std::vector<std::vector<float>> m_measuredError; ///< [variant][layer, kvHead]
    Ledger m_fullLedger;                             ///< before the continuation
    std::int64_t m_recorded = 0;
};

/// First token in which the answers differ; empty if none does.
std::optional<Divergence> divergenceOf(const Answer& full, const Answer& kept);

} // namespace ecokv::session

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Any policy asked of a recorded trace: the same measuring, scoring and planning code as a live
// run, on the very numbers the run recorded, so that a run's own settings reproduce its survivors.
// What depends on fewer settings is kept: a new budget needs no new scores, a new alpha no new
// attention.

#include "base/cancellation.h"
#include "base/progress.h"
#include "policy/policy.h"
#include "policy/policy_settings.h"
#include "trace/trace_reader.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ecokv::analysis {

struct ReplayOptions {
    /// Bound of what is kept between calls: recorded tensors and measurements. Results that a
    /// caller holds come on top.
    std::size_t cacheBytes = std::size_t{1} << 30;
};

struct ReplayRequest {
    policy::PolicyConfig policy;
    /// Importance, diversity and norms per token, not the score alone; takes a little longer.
    bool tokenScores = false;
    /// Predicted error of the attention output; needs values and attends to every key again.
    bool outputError = false;
    /// Window rows that retained mass and output error are measured on; 0 = the policy's own
    /// (ResolvedPolicy::judgedRows), as in a run. The same number for several policies makes them
    /// comparable.
    std::int64_t measureRows = 0;
    /// Participation ratio of the key spectra, which /heads of a trace shows.
    bool participation = false;
};

struct ReplayResult {
    policy::ResolvedPolicy policy;
    /// [layer]; of the arrays over tokens only `score` is filled unless tokenScores was asked for.
    std::vector<std::shared_ptr<const policy::LayerScores>> layers;
    std::vector<cache::LayerPlan> plans;     ///< [layer] survivors by row, ascending
    std::vector<std::int32_t> budgetPerHead; ///< [layer, kvHead] tokens kept
    std::int64_t rows = 0;                 ///< last window rows that mass and error are measured on
    std::vector<float> retainedMass;       ///< [layer, kvHead] share of the attention of `rows`
    std::vector<float> outputError;        ///< [layer, kvHead], empty unless asked for
    std::vector<float> participationRatio; ///< [layer, kvHead], empty unless asked for
    DType storedDType = DType::F32;        ///< of the recorded keys
    std::int64_t headDim = 0;
    /// Layers whose keys, values or queries hold NaN or Inf, ascending: they have survivors, and
    /// NaN for every number that is said of a head.
    std::vector<std::int64_t> notFinite;
    std::vector<std::string> notes;

    std::vector<std::uint8_t> kept() const; ///< [layer, kvHead, token] 1 = survives
    /// Entries of [layer, kvHead] numbers that belong to layers that count (LayerKinds).
    template <class T> std::vector<T> counted(const std::vector<T>& perHead) const {
        return policy.shape.kinds().countedOf(perHead, std::ssize(plans));
    }
    /// Redundancy of the heads that count.
    std::vector<float> countedRedundancy() const;
    std::int64_t keptBytes() const; ///< keys and values of the heads that count
    std::int64_t fullBytes() const; ///< of the same heads without eviction
};

/// Survivors whose output error is asked for.
struct SurvivorPlans {
    std::vector<cache::LayerPlan> layers; ///< [layer]
    std::int64_t rows = 0;                ///< last window rows that it is measured on
};

struct ReplayStatistics {
    std::size_t tensorBytes = 0, measurementBytes = 0; ///< kept now
    std::int64_t hits = 0, misses = 0;                 ///< of measurements and scores
};

/// Calls from several threads take turns; cancel the running one to get in.
class Replayer {
public:
    /// Throws Error{BadInput} for traces that cannot be replayed, with what they lack.
    explicit Replayer(std::shared_ptr<const trace::TraceReader> reader,
                      const ReplayOptions& options = {});
    ~Replayer();
    Replayer(const Replayer&) = delete;
    Replayer& operator=(const Replayer&) = delete;

    const trace::TraceReader& reader() const;

    /// Throws Error{Usage} for settings that are impossible here (a window beyond the recorded
    /// rows, a budget below what is protected, ...), Error{Cancelled}. `progress` is called from
    /// the threads at work, one at a time.
    ReplayResult replay(const ReplayRequest& request, const ProgressSink& progress = {},
                        const CancellationToken& cancel = {});

    /// Predicted output error of several survivor sets, [plan][layer, kvHead]; every attention row
    /// is computed once for all of them. Throws Error{Usage} for a trace without values.
    std::vector<std::vector<float>> outputErrors(const std::vector<SurvivorPlans>& plans,
                                                 const ProgressSink& progress = {},
                                                 const CancellationToken& cancel = {});

    ReplayStatistics statistics() const;

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

/// The settings a trace's policy was run with. Throws Error{BadInput} where they are not recorded.
policy::PolicyConfig recordedPolicy(const trace::Attributes& attributes);

} // namespace ecokv::analysis

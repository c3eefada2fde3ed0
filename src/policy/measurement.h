#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Everything measured on one layer as scorers read it: the parts together with the settings of a
// policy. Kernel outputs stay on the backend's device; what scorers and traces read is copied to
// the host. Parts may be shared between measurements; a Measurement is used by one thread.

#include "kernels/composite_score.h"
#include "policy/measured_parts.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ecokv::policy {

/// One pass of the composite kernel; host arrays [kvHead, candidate].
struct Composite {
    std::vector<float> importance, diversityCosine, diversityEuclid, diversity, score;
    std::vector<std::uint8_t> constant; ///< [kvHead, 3]: c, e, |v| counted as constant
};

struct MeasuredParts {
    std::shared_ptr<const KeyMeasurement> keys;
    std::shared_ptr<const WindowMeasurement> window;
    std::shared_ptr<const ValueMeasurement> values;
};

/// Measures all three parts as `policy` wants them.
MeasuredParts measureParts(const LayerInput& input, const ResolvedPolicy& policy,
                           kernels::Backend backend);

class Measurement {
public:
    /// Throws Error{Internal} where parts and policy do not belong together.
    Measurement(MeasuredParts parts, const ResolvedPolicy& policy);

    LayerId layer() const { return m_parts.keys->place.layer; }
    std::int32_t firstHead() const { return m_parts.keys->firstHead; }
    std::int64_t kvHeads() const { return m_parts.keys->kvHeads; }
    std::int64_t tokens() const { return m_parts.keys->tokens; }
    std::int64_t candidates() const { return m_parts.keys->candidates.count; }
    std::int64_t firstCandidate() const { return m_parts.keys->candidates.first; }

    const KeyMeasurement& keys() const { return *m_parts.keys; }
    const WindowMeasurement& window() const { return *m_parts.window; }
    const ValueMeasurement& values() const { return *m_parts.values; }
    /// The weights r [kvHead]: clamp(beta r_cos + (1 - beta) r_euc, 0, 1), or what the policy's
    /// constant or table says instead.
    std::vector<double> redundancy(double beta) const;

    /// The mixed score with the share `alpha` of the cosine and the head weights `r` [kvHead].
    Composite composite(double alpha, const std::vector<double>& r) const;
    /// composite() with the alpha and beta of the policy.
    const Composite& common() const { return m_common; }
    /// Of `all` [kvHead, token] the candidates [kvHead, candidate].
    std::vector<float> ofCandidates(const std::vector<float>& all) const;
    /// Throws Error{BadInput} for a layer that came without values.
    void needValues() const;
    /// Damaged rows of the three parts.
    std::vector<std::string> notes() const;

private:
    /// The value norms of the candidates, packed as the kernel wants them; empty without the term.
    kernels::DeviceBuffer candidateValueNorms() const;

    MeasuredParts m_parts;
    std::vector<double> m_givenRedundancy; ///< [kvHead]; empty = measured
    kernels::CompositeScoreParams m_params;
    Composite m_common;
};

} // namespace ecokv::policy

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Everything the kernels measure on one layer, taken once and read by every scorer: geometry of the
// keys, window attention, value norms. Kernel outputs stay on the backend's device; what scorers
// and traces read is copied to the host. Used by one thread.

#include "kernels/composite_score.h"
#include "kernels/device_memory.h"
#include "kernels/key_statistics.h"
#include "policy/layer_scores.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::policy {

/// One pass of the composite kernel; host arrays [kvHead, candidate].
struct Composite {
    std::vector<float> importance, diversityCosine, diversityEuclid, diversity, score;
    std::vector<std::uint8_t> constant; ///< [kvHead, 3]: c, e, |v| counted as constant
};

class Measurement {
public:
    /// Throws Error{BadInput} naming the layer when the tensors do not fit together.
    Measurement(const LayerInput& input, const ResolvedPolicy& policy, kernels::Backend backend);

    LayerId layer() const { return m_layer; }
    std::int64_t kvHeads() const { return m_kvHeads; }
    std::int64_t tokens() const { return m_tokens; }
    std::int64_t candidates() const { return m_candidates; }
    std::int64_t firstCandidate() const { return m_first; }

    const std::vector<kernels::HeadStatistics>& heads() const { return m_heads; }
    const std::vector<double>& participationRatio() const { return m_participation; }
    /// clamp(beta r_cos + (1 - beta) r_euc, 0, 1) [kvHead]
    std::vector<double> redundancy(double beta) const;
    const std::vector<float>& keyNorm() const { return m_keyNorm; }     ///< [kvHead, token]
    const std::vector<float>& valueNorm() const { return m_valueNorm; } ///< [kvHead, token]

    /// The mixed score with the share `alpha` of the cosine and the head weights `r` [kvHead].
    Composite composite(double alpha, const std::vector<double>& r) const;
    /// composite() with the alpha and beta of the policy.
    const Composite& common() const { return m_common; }

private:
    void measureKeys(const LayerInput& input, bool unrotate);
    void measureValues(const LayerInput& input);
    void measureAttention(const LayerInput& input);
    void check(kernels::Status status, const char* what) const;
    kernels::DeviceBuffer floats(std::int64_t count) const;
    std::vector<float> toHost(const kernels::DeviceBuffer& buffer) const;
    /// |row| of `rows` [kvHead, token, dim], [kvHead, token] f32 on the backend's device.
    kernels::DeviceBuffer measuredNorms(const TensorView& rows, const char* what) const;
    std::vector<float> normsOf(const TensorView& rows, const kernels::DeviceBuffer& candidates,
                               const char* what) const;

    LayerId m_layer;
    kernels::Backend m_backend;
    Device m_device;
    std::int64_t m_kvHeads = 0, m_tokens = 0, m_candidates = 0, m_first = 0;
    std::int64_t m_window = 0;
    kernels::CompositeScoreParams m_params;
    std::vector<kernels::HeadStatistics> m_heads;
    std::vector<double> m_participation;
    std::vector<float> m_keyNorm, m_valueNorm;
    kernels::DeviceBuffer m_cosine, m_euclid;   ///< [kvHead, candidate] f32
    kernels::DeviceBuffer m_candidateValueNorm; ///< [kvHead, candidate] f32, empty: no values
    kernels::DeviceBuffer m_attention;          ///< [kvHead, token] f32
    Composite m_common;
};

} // namespace ecokv::policy

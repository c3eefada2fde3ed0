// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"

#include "base/error.h"
#include "kernels/participation_ratio.h"
#include "kernels/window_importance.h"
#include "policy/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

/// Entries [begin, end) of the token dimension.
TensorView tokenRange(const TensorView& rows, std::int64_t begin, std::int64_t end) {
    return rows.slice(1, begin, end);
}

/// Writes `part` [kvHead, count] into `whole` [kvHead, tokens] from token `begin` on.
void place(const std::vector<float>& part, std::int64_t count, std::int64_t begin,
           std::int64_t tokens, std::vector<float>& whole) {
    for (std::size_t head = 0; count > 0 && head < part.size() / count; ++head) {
        std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(head * count), count,
                    whole.begin() + static_cast<std::ptrdiff_t>(head * tokens + begin));
    }
}

} // namespace

Measurement::Measurement(const LayerInput& input, const ResolvedPolicy& policy,
                         kernels::Backend backend)
    : m_layer(input.layer), m_backend(backend),
      m_device(backend == kernels::Backend::Cuda ? input.keys.device : Device{}),
      m_kvHeads(input.keys.shape[0]), m_tokens(input.keys.shape[1]),
      m_candidates(policy.candidateEnd() - policy.candidateBegin()),
      m_first(policy.candidateBegin()), m_window(policy.window) {
    m_params.alpha = static_cast<float>(policy.config.alpha);
    m_params.poolKernel = policy.config.pool;
    m_params.poolMode = policy.poolMode;
    m_params.addValueNorm = policy.valueNorm;
    measureKeys(input, policy.config.geometry == Geometry::Pre);
    measureValues(input);
    measureAttention(input);
    m_common = composite(policy.config.alpha, redundancy(policy.config.beta));
}

void Measurement::check(kernels::Status status, const char* what) const {
    if (status == kernels::Status::Ok) {
        return;
    }
    const bool cuda = status == kernels::Status::CudaFailed;
    throwBadInput(fmt::format("The {} of layer {} could not be computed: {}{}.", what,
                              m_layer.value, kernels::statusText(status),
                              cuda ? " (" + kernels::lastCudaError() + ")" : std::string{}));
}

kernels::DeviceBuffer Measurement::floats(std::int64_t count) const {
    return {static_cast<std::size_t>(count) * sizeof(float), m_device};
}

std::vector<float> Measurement::toHost(const kernels::DeviceBuffer& buffer) const {
    std::vector<float> host(buffer.bytes() / sizeof(float));
    if (!host.empty()) {
        kernels::copyBytes(host.data(), Device{}, buffer.data(), m_device, buffer.bytes());
    }
    return host;
}

kernels::DeviceBuffer Measurement::measuredNorms(const TensorView& rows, const char* what) const {
    const std::int64_t count = m_kvHeads * rows.shape[1];
    const kernels::DeviceBuffer cosine = floats(count);
    const kernels::DeviceBuffer euclid = floats(count);
    kernels::DeviceBuffer norm = floats(count);
    std::vector<kernels::HeadStatistics> heads(static_cast<std::size_t>(m_kvHeads));
    check(kernels::keyStatistics({rows, nullptr},
                                 {static_cast<float*>(cosine.data()),
                                  static_cast<float*>(euclid.data()),
                                  static_cast<float*>(norm.data()), heads.data()},
                                 m_backend),
          what);
    return norm;
}

/// Norms of all rows [kvHead, token]: those of the candidates are known, the protected ones are
/// measured here, at the start and at the end.
std::vector<float> Measurement::normsOf(const TensorView& rows,
                                        const kernels::DeviceBuffer& candidates,
                                        const char* what) const {
    std::vector<float> norms(static_cast<std::size_t>(m_kvHeads * m_tokens));
    place(toHost(candidates), m_candidates, m_first, m_tokens, norms);
    for (const auto& [begin, end] :
         {std::pair{std::int64_t{0}, m_first}, std::pair{m_first + m_candidates, m_tokens}}) {
        if (begin == end) {
            continue;
        }
        const kernels::DeviceBuffer part = measuredNorms(tokenRange(rows, begin, end), what);
        place(toHost(part), end - begin, begin, m_tokens, norms);
    }
    return norms;
}

void Measurement::measureKeys(const LayerInput& input, bool unrotate) {
    const std::int64_t count = m_kvHeads * m_candidates;
    m_heads.resize(static_cast<std::size_t>(m_kvHeads));
    m_participation.resize(static_cast<std::size_t>(m_kvHeads));
    m_cosine = floats(count);
    m_euclid = floats(count);
    const kernels::DeviceBuffer norm = floats(count);
    if (count > 0) {
        const TensorView keys = tokenRange(input.keys, m_first, m_first + m_candidates);
        kernels::Rotation rotation;
        if (unrotate) {
            rotation = *input.rotation;
            rotation.positions += m_first;
        }
        check(kernels::keyStatistics({keys, unrotate ? &rotation : nullptr},
                                     {static_cast<float*>(m_cosine.data()),
                                      static_cast<float*>(m_euclid.data()),
                                      static_cast<float*>(norm.data()), m_heads.data()},
                                     m_backend),
              "key statistics");
        const HostTensor host(keys);
        check(kernels::participationRatio(host.view(), m_participation.data(),
                                          hostBackend(m_backend)),
              "participation ratio");
    }
    m_keyNorm = normsOf(input.keys, norm, "key norms");
}

void Measurement::measureValues(const LayerInput& input) {
    if (input.values.data == nullptr) {
        m_valueNorm.assign(static_cast<std::size_t>(m_kvHeads * m_tokens), std::nanf(""));
        return;
    }
    if (m_kvHeads * m_candidates > 0) {
        m_candidateValueNorm =
            measuredNorms(tokenRange(input.values, m_first, m_first + m_candidates), "value norms");
    }
    m_valueNorm = normsOf(input.values, m_candidateValueNorm, "value norms");
}

void Measurement::measureAttention(const LayerInput& input) {
    const std::int64_t rows = input.windowQueries.shape[1];
    const TensorView queries = input.windowQueries.slice(1, rows - m_window, rows);
    m_attention = floats(m_kvHeads * m_tokens);
    const kernels::WindowImportanceInput attention{
        .queries = queries,
        .keys = input.keys,
        .queryPositions = input.windowPositions.data() + (rows - m_window),
        .keyPositions = input.positions.data(),
    };
    check(kernels::windowImportance(attention, static_cast<float*>(m_attention.data()), m_backend),
          "window importance");
}

std::vector<double> Measurement::redundancy(double beta) const {
    std::vector<double> r;
    for (const kernels::HeadStatistics& head : m_heads) {
        const double mixed = beta * head.redundancyCosine + (1.0 - beta) * head.redundancyEuclid;
        r.push_back(std::clamp(mixed, 0.0, 1.0));
    }
    return r;
}

Composite Measurement::composite(double alpha, const std::vector<double>& r) const {
    Composite result;
    result.constant.assign(static_cast<std::size_t>(m_kvHeads) * 3, 0);
    const std::int64_t count = m_kvHeads * m_candidates;
    if (count == 0) {
        return result;
    }
    std::vector<double> meanSquaredNorm;
    for (const kernels::HeadStatistics& head : m_heads) {
        meanSquaredNorm.push_back(head.meanSquaredNorm);
    }
    const kernels::CompositeScoreInput input{
        .kvHeads = m_kvHeads,
        .tokens = m_candidates,
        .rowStride = m_tokens,
        .attention = static_cast<const float*>(m_attention.data()) + m_first,
        .cosine = static_cast<const float*>(m_cosine.data()),
        .euclid = static_cast<const float*>(m_euclid.data()),
        .valueNorm = static_cast<const float*>(m_candidateValueNorm.data()),
        .redundancy = r.data(),
        .meanSquaredNorm = meanSquaredNorm.data(),
    };
    kernels::CompositeScoreParams params = m_params;
    params.alpha = static_cast<float>(alpha);
    const kernels::DeviceBuffer block = floats(5 * count);
    auto* out = static_cast<float*>(block.data());
    check(kernels::compositeScore(input, params,
                                  {out, out + count, out + 2 * count, out + 3 * count,
                                   out + 4 * count, result.constant.data()},
                                  m_backend),
          "composite score");
    const std::vector<float> host = toHost(block);
    auto begin = host.begin();
    for (auto* part : {&result.importance, &result.diversityCosine, &result.diversityEuclid,
                       &result.diversity, &result.score}) {
        part->assign(begin, begin + count);
        begin += count;
    }
    return result;
}

} // namespace ecokv::policy

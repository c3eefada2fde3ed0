// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"

#include "base/error.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

/// Parts that were kept from another setting would give silently wrong scores.
void checkParts(const MeasuredParts& parts, const ResolvedPolicy& policy) {
    const TokenRange wanted = policy.candidates();
    const KeyMeasurement& keys = *parts.keys;
    const bool fits = keys.tokens == policy.tokens && keys.candidates == wanted &&
                      keys.geometry == policy.config.geometry &&
                      parts.window->window == policy.window;
    if (!fits) {
        throwInternal(fmt::format(
            "Layer {} was measured for candidates {} to {} of {} tokens and a window of {}; the "
            "policy has {} to {} of {} and {}.",
            keys.place.layer.value, keys.candidates.first, keys.candidates.end(), keys.tokens,
            parts.window->window, wanted.first, wanted.end(), policy.tokens, policy.window));
    }
}

/// [kvHead] of a constant or a table, empty where r is measured.
std::vector<double> givenRedundancy(const ResolvedPolicy& policy, const KeyMeasurement& keys) {
    const auto count = static_cast<std::size_t>(keys.kvHeads);
    const RedundancyChoice& choice = policy.config.redundancy;
    if (choice.source == RedundancySource::Constant) {
        return std::vector(count, choice.constant);
    }
    if (choice.source == RedundancySource::Measured) {
        return {};
    }
    const std::int64_t heads = policy.shape.kvHeads;
    const std::int64_t layer = keys.place.layer.value;
    if (layer >= policy.shape.layers || keys.firstHead + keys.kvHeads > heads) {
        throwBadInput(fmt::format("The head table {} holds {} layers x {} KV heads; layer {} with "
                                  "{} heads is not in it.",
                                  choice.file, policy.shape.layers, heads, layer, keys.kvHeads));
    }
    const auto begin = policy.headRedundancy.begin() + (layer * heads + keys.firstHead);
    return {begin, begin + keys.kvHeads};
}

} // namespace

MeasuredParts measureParts(const LayerInput& input, const ResolvedPolicy& policy,
                           kernels::Backend backend) {
    return {measureKeys(input, policy.candidates(), policy.config.geometry, backend),
            measureWindow(input, policy.window, backend), measureValues(input, backend)};
}

Measurement::Measurement(MeasuredParts parts, const ResolvedPolicy& policy)
    : m_parts(std::move(parts)) {
    checkParts(m_parts, policy);
    m_params.alpha = static_cast<float>(policy.config.alpha);
    m_params.poolKernel = policy.config.pool;
    m_params.poolMode = policy.poolMode;
    m_params.addValueNorm = policy.valueNorm;
    m_givenRedundancy = givenRedundancy(policy, *m_parts.keys);
    m_common = composite(policy.config.alpha, redundancy(policy.config.beta));
}

std::vector<double> Measurement::redundancy(double beta) const {
    if (!m_givenRedundancy.empty()) {
        return m_givenRedundancy;
    }
    std::vector<double> r;
    for (const kernels::HeadStatistics& head : keys().heads) {
        const double mixed = beta * head.redundancyCosine + (1.0 - beta) * head.redundancyEuclid;
        r.push_back(std::clamp(mixed, 0.0, 1.0));
    }
    return r;
}

kernels::DeviceBuffer Measurement::candidateValueNorms() const {
    if (!m_params.addValueNorm) {
        return {};
    }
    const KernelPlace& place = keys().place;
    kernels::DeviceBuffer packed = place.floats(kvHeads() * candidates());
    const auto bytes = static_cast<std::size_t>(candidates()) * sizeof(float);
    for (std::int64_t head = 0; head < kvHeads(); ++head) {
        const auto* all = static_cast<const float*>(values().onDevice.data()) + head * tokens();
        kernels::copyBytes(static_cast<float*>(packed.data()) + head * candidates(), place.device,
                           all + firstCandidate(), place.device, bytes);
    }
    return packed;
}

Composite Measurement::composite(double alpha, const std::vector<double>& r) const {
    Composite result;
    result.constant.assign(static_cast<std::size_t>(kvHeads()) * 3, 0);
    const std::int64_t count = kvHeads() * candidates();
    if (count == 0) {
        return result;
    }
    std::vector<double> meanSquaredNorm;
    for (const kernels::HeadStatistics& head : keys().heads) {
        meanSquaredNorm.push_back(head.meanSquaredNorm);
    }
    const kernels::DeviceBuffer valueNorm = candidateValueNorms();
    const kernels::CompositeScoreInput input{
        .kvHeads = kvHeads(),
        .tokens = candidates(),
        .rowStride = tokens(),
        .attention = static_cast<const float*>(window().attention.data()) + firstCandidate(),
        .cosine = static_cast<const float*>(keys().cosine.data()),
        .euclid = static_cast<const float*>(keys().euclid.data()),
        .valueNorm = static_cast<const float*>(valueNorm.data()),
        .redundancy = r.data(),
        .meanSquaredNorm = meanSquaredNorm.data(),
    };
    kernels::CompositeScoreParams params = m_params;
    params.alpha = static_cast<float>(alpha);
    const KernelPlace& place = keys().place;
    const kernels::DeviceBuffer block = place.floats(5 * count);
    auto* out = static_cast<float*>(block.data());
    place.check(kernels::compositeScore(input, params,
                                        {out, out + count, out + 2 * count, out + 3 * count,
                                         out + 4 * count, result.constant.data()},
                                        place.backend),
                "composite score");
    const std::vector<float> host = place.toHost(block);
    auto begin = host.begin();
    for (auto* part : {&result.importance, &result.diversityCosine, &result.diversityEuclid,
                       &result.diversity, &result.score}) {
        part->assign(begin, begin + count);
        begin += count;
    }
    return result;
}

std::vector<float> Measurement::ofCandidates(const std::vector<float>& all) const {
    std::vector<float> chosen;
    chosen.reserve(static_cast<std::size_t>(kvHeads() * candidates()));
    for (std::int64_t head = 0; head < kvHeads(); ++head) {
        const auto begin = all.begin() + (head * tokens() + firstCandidate());
        chosen.insert(chosen.end(), begin, begin + candidates());
    }
    return chosen;
}

void Measurement::needValues() const {
    if (!values().present) {
        throwBadInput(
            fmt::format("Layer {} has no values, and this policy scores by them.", layer().value),
            "Record values, or choose a policy that looks at keys or attention.");
    }
}

std::vector<std::string> Measurement::notes() const {
    std::vector<std::string> all = keys().notes;
    for (const auto* part : {&values().notes, &window().notes}) {
        all.insert(all.end(), part->begin(), part->end());
    }
    return all;
}

} // namespace ecokv::policy

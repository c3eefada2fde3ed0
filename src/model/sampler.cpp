// SPDX-License-Identifier: GPL-3.0-or-later
// Sampler of model.h. Greedy needs no random numbers; sampling draws them from splitmix64 (Steele,
// Lea and Flood 2014), because the standard distributions differ between libraries.

#include "base/error.h"
#include "model/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ecokv::model {

namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
    std::uint64_t z = (state += 0x9e3779b97f4a7c15U);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/// Uniform in [0, 1) with 53 bits.
double uniform(std::uint64_t& state) {
    return static_cast<double>(splitmix64(state) >> 11) * 0x1.0p-53;
}

/// True if a ranks before b: higher logit first, NaN last, ties to the lower id.
struct Ranking {
    const std::vector<float>& logits;

    bool operator()(TokenId a, TokenId b) const {
        const float x = logits[static_cast<std::size_t>(a)];
        const float y = logits[static_cast<std::size_t>(b)];
        if (std::isnan(x) || std::isnan(y)) {
            return std::isnan(x) == std::isnan(y) ? a < b : std::isnan(y);
        }
        return x != y ? x > y : a < b;
    }
};

} // namespace

Sampler::Sampler(const SamplingParams& params) : m_params(params), m_state(params.seed) {
    const bool valid = params.temperature >= 0.0 && std::isfinite(params.temperature) &&
                       params.topK >= 0 && params.topP > 0.0 && params.topP <= 1.0;
    if (!valid) {
        throwUsage(fmt::format("Sampling with temperature {}, top-k {} and top-p {} is impossible.",
                               params.temperature, params.topK, params.topP),
                   "Temperature and top-k must be 0 or more, top-p above 0 and at most 1.");
    }
}

TokenId Sampler::next(const std::vector<float>& logits) {
    if (logits.empty()) {
        throwInternal("A token was to be chosen from no logits.");
    }
    std::vector<TokenId> ids(logits.size());
    std::iota(ids.begin(), ids.end(), 0);
    const Ranking ranking{logits};
    const TokenId best = *std::ranges::min_element(ids, ranking);
    const double top = static_cast<double>(logits[static_cast<std::size_t>(best)]);
    if (std::isnan(top)) {
        throwInternal("All logits are NaN: the model's numbers broke down before this token.");
    }
    if (m_params.temperature == 0.0) {
        return best;
    }

    std::size_t count = logits.size();
    if (m_params.topK > 0) {
        count = std::min(count, static_cast<std::size_t>(m_params.topK));
    }
    std::ranges::partial_sort(ids, ids.begin() + static_cast<std::ptrdiff_t>(count), ranking);
    std::vector<double> cumulative(count);
    double sum = 0.0;
    for (std::size_t i = 0; i < count; ++i) {
        const double logit = static_cast<double>(logits[static_cast<std::size_t>(ids[i])]);
        sum += std::isnan(logit) ? 0.0 : std::exp((logit - top) / m_params.temperature);
        cumulative[i] = sum;
    }
    // Nucleus: the shortest head of the ranking that holds at least top-p of the probability.
    const auto nucleus = std::ranges::lower_bound(cumulative, m_params.topP * sum);
    const double kept = nucleus == cumulative.end() ? sum : *nucleus;
    const auto drawn = std::ranges::upper_bound(cumulative, uniform(m_state) * kept);
    const auto index = std::min<std::size_t>(drawn - cumulative.begin(), count - 1);
    return ids[index];
}

} // namespace ecokv::model

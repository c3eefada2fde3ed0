// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

namespace ecokv::policy {

namespace {

/// SplitMix64 (Steele, Lea, Flood 2014): integer arithmetic only, the same on every platform.
std::uint64_t mixed(std::uint64_t state) {
    state += 0x9e3779b97f4a7c15ULL;
    state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9ULL;
    state = (state ^ (state >> 27)) * 0x94d049bb133111ebULL;
    return state ^ (state >> 31);
}

/// One number per (seed, layer, head, token), so that neither order nor threads matter.
std::vector<float> score(const Measurement& measured, const ResolvedPolicy& policy) {
    constexpr float kStep = 0x1.0p-24F; // 24 bits are exact in float32
    const std::uint64_t layer =
        mixed(mixed(policy.config.seed) ^ static_cast<std::uint64_t>(measured.layer().value));
    std::vector<float> scores;
    for (std::int64_t head = 0; head < measured.kvHeads(); ++head) {
        const std::uint64_t stream =
            mixed(layer ^ static_cast<std::uint64_t>(measured.firstHead() + head));
        for (std::int64_t token = 0; token < measured.candidates(); ++token) {
            const auto position = static_cast<std::uint64_t>(measured.firstCandidate() + token);
            scores.push_back(static_cast<float>(mixed(stream ^ position) >> 40) * kStep);
        }
    }
    return scores;
}

} // namespace

Scorer randomScorer() {
    Scorer scorer;
    scorer.info = {
        "random",
        "Keeps tokens drawn at random; what any policy must beat.",
        "s = u(seed, layer, head, position), uniform in [0, 1)",
        "SplitMix64 as a counter-based generator",
        evictionParameters("0", {parameter("seed")}),
    };
    scorer.info.observes = Observation::Nothing;
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/measurement.h"
#include "policy/scorer.h"

#include <algorithm>
#include <cmath>

namespace ecokv::policy {

namespace {

/// mean over j != i of u_i . u_j = (M c_i - |u_i|^2) / (M - 1), no pair is ever formed.
std::vector<double> meanCosine(const std::vector<float>& cosine, const std::vector<float>& norm,
                               std::size_t begin, std::size_t count) {
    std::vector<double> mean(count, 0.0);
    for (std::size_t i = 0; i < count && count > 1; ++i) {
        const double self = norm[begin + i] > 0.0F ? 1.0 : 0.0;
        const double all = static_cast<double>(count) * static_cast<double>(cosine[begin + i]);
        mean[i] = (all - self) / static_cast<double>(count - 1);
    }
    return mean;
}

void softmax(std::vector<double>& numbers) {
    const double top = *std::ranges::max_element(numbers);
    double sum = 0;
    for (double& number : numbers) {
        number = std::exp(number - top);
        sum += number;
    }
    for (double& number : numbers) {
        number /= sum;
    }
}

std::vector<float> score(const Measurement& measured, const ResolvedPolicy& policy) {
    const std::vector<float> cosine = measured.keys().cosineOnHost();
    const std::vector<float> norm = measured.ofCandidates(measured.keys().norm);
    std::vector<float> scores = measured.common().importance;
    const auto count = static_cast<std::size_t>(measured.candidates());
    for (std::size_t begin = 0; begin < scores.size(); begin += count) {
        std::vector<double> similar = meanCosine(cosine, norm, begin, count);
        softmax(similar);
        for (std::size_t i = 0; i < count; ++i) {
            const double importance = static_cast<double>(scores[begin + i]);
            scores[begin + i] = static_cast<float>(policy.config.lambda * importance -
                                                   (1 - policy.config.lambda) * similar[i]);
        }
    }
    return scores;
}

} // namespace

Scorer rkvScorer() {
    Scorer scorer;
    scorer.info = {
        "rkv",
        "Keeps tokens that are attended to and unlike the other keys.",
        "s = lambda A - (1 - lambda) softmax(mean cosine to the other candidates)",
        "R-KV, arXiv 2505.24133, prefill form: every pair counts, whatever its similarity",
        evictionParameters("window",
                           {parameter("window", "8, or half of a budget up to 8"),
                            parameter("pool"), parameter("pool_mode", "max"), parameter("vnorm"),
                            parameter("geometry"), parameter("lambda")}),
    };
    scorer.defaults = {8, RecentRule::TiedToWindow, kernels::PoolMode::Max, false};
    scorer.score = score;
    return scorer;
}

} // namespace ecokv::policy

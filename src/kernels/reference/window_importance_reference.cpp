// SPDX-License-Identifier: GPL-3.0-or-later
// One softmax row at a time, in fp64, from the definition.
#include "kernels/backends.h"
#include "kernels/row_access.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace ecokv::kernels::reference {

namespace {

constexpr double kHidden = -std::numeric_limits<double>::infinity();

double dot(const std::vector<float>& a, const std::vector<float>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    }
    return sum;
}

/// Adds the softmax of `logits` to `sum`; hidden keys get nothing, an all-hidden row adds nothing.
void addSoftmax(const std::vector<double>& logits, std::vector<double>& sum) {
    const double peak = *std::max_element(logits.begin(), logits.end());
    if (peak == kHidden) {
        return;
    }
    double total = 0;
    for (const double logit : logits) {
        total += std::exp(logit - peak);
    }
    for (std::size_t i = 0; i < logits.size(); ++i) {
        sum[i] += std::exp(logits[i] - peak) / total;
    }
}

} // namespace

Status windowImportance(const WindowImportanceInput& input, float* importance) {
    const std::int64_t kvHeads = input.keys.shape[0];
    const std::int64_t tokens = input.keys.shape[1];
    const std::int64_t window = input.queries.shape[1];
    const auto dim = static_cast<std::size_t>(input.keys.shape[2]);
    if (kvHeads == 0 || tokens == 0) {
        return Status::Ok;
    }
    const std::int64_t group = input.queries.shape[0] / kvHeads;
    std::vector<float> query(dim);
    std::vector<float> key(dim);
    std::vector<double> logits(static_cast<std::size_t>(tokens));
    for (std::int64_t kvHead = 0; kvHead < kvHeads; ++kvHead) {
        std::vector<double> sum(logits.size(), 0.0);
        for (std::int64_t row = 0; row < group * window; ++row) {
            const std::int64_t head = kvHead * group + row / window;
            readRowAsIs(input.queries, head, row % window, query.data());
            for (std::int64_t token = 0; token < tokens; ++token) {
                readRowAsIs(input.keys, kvHead, token, key.data());
                const bool visible =
                    input.keyPositions[token] <= input.queryPositions[row % window];
                const double logit = dot(query, key) * static_cast<double>(input.scale);
                logits[static_cast<std::size_t>(token)] =
                    visible && std::isfinite(logit) ? logit : kHidden;
            }
            addSoftmax(logits, sum);
        }
        const auto rows = static_cast<double>(std::max<std::int64_t>(1, group * window));
        for (std::int64_t token = 0; token < tokens; ++token) {
            importance[kvHead * tokens + token] =
                static_cast<float>(sum[static_cast<std::size_t>(token)] / rows);
        }
    }
    return Status::Ok;
}

} // namespace ecokv::kernels::reference

// SPDX-License-Identifier: GPL-3.0-or-later
// What is read off a finished replay.
#include "analysis/replay.h"

#include <numeric>

namespace ecokv::analysis {

namespace {

std::int64_t rowBytes(const ReplayResult& replayed) { // key and value
    return 2 * replayed.headDim * static_cast<std::int64_t>(dtypeSize(replayed.storedDType));
}

} // namespace

std::vector<std::uint8_t> ReplayResult::kept() const {
    const auto tokens = static_cast<std::size_t>(policy.tokens);
    std::vector<std::uint8_t> mask(budgetPerHead.size() * tokens, 0);
    std::size_t begin = 0;
    for (const cache::LayerPlan& plan : plans) {
        for (const auto& rows : plan.keptRows) {
            for (const std::int32_t row : rows) {
                mask[begin + static_cast<std::size_t>(row)] = 1;
            }
            begin += tokens;
        }
    }
    return mask;
}

std::vector<float> ReplayResult::countedRedundancy() const {
    std::vector<float> all;
    for (const auto& layer : layers) {
        all.insert(all.end(), layer->redundancy.begin(), layer->redundancy.end());
    }
    return counted(all);
}

std::int64_t ReplayResult::keptBytes() const {
    const std::vector<std::int32_t> rows = counted(budgetPerHead);
    return std::accumulate(rows.begin(), rows.end(), std::int64_t{0}) * rowBytes(*this);
}

std::int64_t ReplayResult::fullBytes() const {
    return std::ssize(counted(budgetPerHead)) * policy.tokens * rowBytes(*this);
}

} // namespace ecokv::analysis

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What an eviction costs, measured on the window rows of one layer: the attention mass the
// survivors hold and the error of the attention output (ecokv-1, "Quality against the full cache").
// Host memory; thread-safe.

#include "cache/eviction_plan.h"
#include "policy/layer_scores.h"

#include <cstdint>
#include <span>
#include <vector>

namespace ecokv::policy {

/// [kvHead] each; over the last `rows` window rows and the query heads of the group.
struct Retention {
    /// Share of the attention that falls on survivors, 0..1.
    std::vector<float> retainedMass;
    /// |o_full - o_kept| / |o_full|, Frobenius norm over rows and query heads; o = softmax(qK)V.
    std::vector<float> outputError;
};

/// A plan and the number of last rows it is measured on.
struct MeasuredPlan {
    const cache::LayerPlan* plan = nullptr;
    std::int64_t rows = 0;
};

/// `input` needs keys, values and windowQueries in host memory, f32, bf16 or f16.
Retention measureRetention(const LayerInput& input, const cache::LayerPlan& plan,
                           std::int64_t rows);

/// The same for several plans, which share the attention of each row. [plan]
std::vector<Retention> measureRetentions(const LayerInput& input,
                                         std::span<const MeasuredPlan> plans);

} // namespace ecokv::policy

// SPDX-License-Identifier: GPL-3.0-or-later
#include "bench/eager_ops.h"

#include <cmath>
#include <limits>

namespace ecokv::bench {

namespace {

/// transformers' repeat_kv: every KV head copied once per query head of its group.
at::Tensor repeatKv(const at::Tensor& keys, std::int64_t group) {
    const auto shape = keys.sizes();
    return keys.unsqueeze(2)
        .expand({shape[0], shape[1], group, shape[2], shape[3]})
        .reshape({shape[0], shape[1] * group, shape[2], shape[3]});
}

/// (x - min) / (max - min) over tokens.
at::Tensor minmax(const at::Tensor& values) {
    const at::Tensor low = values.amin(-1, true);
    const at::Tensor high = values.amax(-1, true);
    return (values - low) / (high - low + 1e-6);
}

} // namespace

EagerStatistics eagerStatistics(const at::Tensor& keys) {
    const auto tokens = static_cast<double>(keys.size(2));
    const at::Tensor norm = keys.norm(2, {-1}, true);
    const at::Tensor unit = keys / norm;
    const at::Tensor direction = unit.mean(2, true);
    const at::Tensor cosine = (unit * direction).sum(-1);
    const at::Tensor centroid = keys.mean(2, true);
    const at::Tensor euclid = (keys - centroid).norm(2, {-1});
    const at::Tensor meanSquare = keys.to(at::kFloat).pow(2).sum(-1).mean(-1);
    const at::Tensor directionSquare = direction.to(at::kFloat).pow(2).sum({2, 3});
    const at::Tensor centroidSquare = centroid.to(at::kFloat).pow(2).sum({2, 3});
    const at::Tensor byCosine = (tokens * directionSquare - 1) / (tokens - 1);
    const at::Tensor byEuclid = (tokens * centroidSquare / meanSquare - 1) / (tokens - 1);
    return {cosine, euclid, norm.squeeze(-1), at::stack({byCosine, byEuclid}, -1)};
}

at::Tensor eagerImportance(const at::Tensor& queries, const at::Tensor& keys) {
    const std::int64_t heads = queries.size(1);
    const std::int64_t window = queries.size(2);
    const std::int64_t kvHeads = keys.size(1);
    const at::Tensor repeated = repeatKv(keys, heads / kvHeads);
    at::Tensor logits = at::matmul(queries, repeated.transpose(2, 3)) /
                        std::sqrt(static_cast<double>(keys.size(3)));
    const double hidden = std::numeric_limits<c10::BFloat16>::lowest();
    const at::Tensor mask = at::full({window, window}, hidden, logits.options()).triu(1);
    logits.slice(3, keys.size(2) - window) += mask;
    const at::Tensor weights = at::softmax(logits, -1, at::kFloat).to(queries.scalar_type());
    return weights.mean(2).view({queries.size(0), kvHeads, heads / kvHeads, keys.size(2)}).mean(2);
}

at::Tensor eagerGather(const at::Tensor& rows, const at::Tensor& kept) {
    return rows.gather(2, kept.unsqueeze(-1).expand({-1, -1, -1, rows.size(3)}));
}

at::Tensor eagerScore(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
    const std::int64_t past = keys.size(2) - queries.size(2);
    const at::Tensor attention =
        at::avg_pool1d(eagerImportance(queries, keys).slice(2, 0, past), 5, 1, 2);
    const at::Tensor valueNorm = minmax(values.slice(2, 0, past).norm(2, {-1}));
    const at::Tensor importance =
        attention + valueNorm * (attention.mean(-1, true) / (valueNorm.mean(-1, true) + 1e-6));
    const EagerStatistics statistics = eagerStatistics(keys.slice(2, 0, past));
    const at::Tensor diversity = minmax(-statistics.cosine);
    const at::Tensor scaled =
        diversity * (importance.mean(-1, true) / (diversity.mean(-1, true) + 1e-6));
    const at::Tensor share = statistics.redundancy.select(-1, 0).unsqueeze(-1);
    return (1 - share) * importance + share * scaled;
}

std::pair<at::Tensor, at::Tensor> eagerLayer(const at::Tensor& queries, const at::Tensor& keys,
                                             const at::Tensor& values, std::int64_t budget) {
    const std::int64_t window = queries.size(2);
    const std::int64_t past = keys.size(2) - window;
    const at::Tensor score = eagerScore(queries, keys, values);
    const at::Tensor kept = std::get<1>(score.topk(budget - window, -1));
    const auto compact = [&](const at::Tensor& rows) {
        return at::cat({eagerGather(rows.slice(2, 0, past), kept), rows.slice(2, past)}, 2);
    };
    return {compact(keys), compact(values)};
}

} // namespace ecokv::bench

// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/attention.h"

#include "model/tensor_bridge.h"

namespace ecokv::model {

at::Tensor attendCausal(const at::Tensor& queries, const at::Tensor& keys,
                        const at::Tensor& values) {
    const bool grouped = queries.size(0) != keys.size(0);
    const at::Tensor mixed = at::scaled_dot_product_attention(
        queries.unsqueeze(0), keys.unsqueeze(0), values.unsqueeze(0), {}, 0.0, true, {}, grouped);
    return mixed.squeeze(0).transpose(0, 1).reshape(
        {queries.size(1), queries.size(0) * queries.size(2)});
}

at::Tensor attendAll(const at::Tensor& queries, const at::Tensor& keys, const at::Tensor& values) {
    const std::int64_t heads = queries.size(0);
    const std::int64_t dim = queries.size(2);
    const std::int64_t kvHeads = keys.size(0);
    // The query heads of a group become the rows of one small attention: keys are read once.
    const at::Tensor grouped = queries.reshape({1, kvHeads, heads / kvHeads, dim});
    const at::Tensor mixed =
        at::scaled_dot_product_attention(grouped, keys.unsqueeze(0), values.unsqueeze(0));
    return mixed.reshape({1, heads * dim});
}

at::Tensor attendCache(const at::Tensor& queries, const cache::KvCache& cache, LayerId layer) {
    if (cache.isUniform(layer)) {
        return attendAll(queries, tensorOf(cache.layerKeys(layer)),
                         tensorOf(cache.layerValues(layer)));
    }
    const std::int32_t kvHeads = cache.shape().kvHeads;
    const std::int64_t group = queries.size(0) / kvHeads;
    std::vector<at::Tensor> parts;
    for (std::int32_t head = 0; head < kvHeads; ++head) {
        const at::Tensor keys = tensorOf(cache.keys(layer, HeadId{head})).unsqueeze(0);
        const at::Tensor values = tensorOf(cache.values(layer, HeadId{head})).unsqueeze(0);
        parts.push_back(attendAll(queries.narrow(0, head * group, group), keys, values));
    }
    return at::cat(parts, 1);
}

} // namespace ecokv::model

// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/decoder/attention.h"

#include "model/tensor_bridge.h"
#include "model/tensor_rows.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

namespace ecokv::model {

namespace {

using Positions = std::span<const std::int64_t>;

/// A mask of so many elements stays in the processor's cache; fewer rows than this would read the
/// keys too often.
constexpr std::int64_t kMaskElements = std::int64_t{1} << 18;
constexpr std::int64_t kFewestMaskedRows = 16;

/// Rows [begin, end) of the keys.
struct KeyRange {
    std::int64_t begin = 0, end = 0;

    std::int64_t size() const { return end - begin; }
    bool operator==(const KeyRange&) const = default;
};

/// The keys that at least one of the rows sees: a run, since both sides ascend.
KeyRange visibleRange(const QueryRows& rows, Positions keys) {
    const auto begin = std::ranges::lower_bound(keys, rows.oldestSeen(0));
    const auto end = std::ranges::upper_bound(keys, rows.newestSeen(rows.positions.size() - 1));
    return {begin - keys.begin(), end - keys.begin()};
}

/// Every row sees the whole range, so that no mask is needed.
bool seesAll(const QueryRows& rows, Positions keys) {
    return keys.front() >= rows.oldestSeen(rows.positions.size() - 1) &&
           keys.back() <= rows.newestSeen(0);
}

at::Tensor column(Positions positions, c10::Device device) {
    return at::for_blob(const_cast<std::int64_t*>(positions.data()),
                        {static_cast<std::int64_t>(positions.size())})
        .options(at::TensorOptions(c10::kLong))
        .make_tensor()
        .to(device);
}

/// The rows are those of the keys, and each sees all before it: the mask of a prefill.
bool isWholePrefix(const QueryRows& rows, Positions keys) {
    return rows.runs.empty() && rows.positions.size() == keys.size() &&
           rows.positions.front() == keys.front() && rows.positions.back() == keys.back() &&
           keys.front() >= rows.oldestSeen(keys.size() - 1);
}

/// 0 where a row sees a key, else -infinity: [row, key] in the queries' dtype.
at::Tensor maskOf(const QueryRows& rows, Positions keys) {
    const c10::Device device = rows.queries.device();
    std::vector<std::int64_t> oldest, newest;
    for (std::size_t row = 0; row < rows.positions.size(); ++row) {
        oldest.push_back(rows.oldestSeen(row));
        newest.push_back(rows.newestSeen(row));
    }
    const at::Tensor key = column(keys, device).unsqueeze(0);
    at::Tensor hidden = key.gt(column(newest, device).unsqueeze(1));
    if (rows.window > 0) {
        hidden.logical_or_(key.lt(column(oldest, device).unsqueeze(1)));
    }
    const at::Tensor mask = at::zeros(hidden.sizes(), rows.queries.options());
    return mask.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
}

/// The query heads of a group become rows of one attention, so that keys are read once.
/// `mask` [row, key] or undefined.
at::Tensor attendGrouped(const at::Tensor& queries, const at::Tensor& keys,
                         const at::Tensor& values, const at::Tensor& mask) {
    const std::int64_t heads = queries.size(0);
    const std::int64_t rows = queries.size(1);
    const std::int64_t dim = queries.size(2);
    const std::int64_t kvHeads = keys.size(0);
    const std::int64_t group = heads / kvHeads;
    std::optional<at::Tensor> repeated;
    if (mask.defined()) {
        repeated = mask.expand({group, rows, mask.size(1)}).reshape({group * rows, mask.size(1)});
    }
    const at::Tensor mixed =
        at::scaled_dot_product_attention(queries.reshape({1, kvHeads, group * rows, dim}),
                                         keys.unsqueeze(0), values.unsqueeze(0), repeated);
    if (rows == 1) {
        return mixed.reshape({1, heads * dim});
    }
    return mixed.reshape({heads, rows, dim}).transpose(0, 1).reshape({rows, heads * dim});
}

/// attendByPosition for rows that see nothing outside the given keys.
at::Tensor attendMasked(const QueryRows& rows, const at::Tensor& keys, const at::Tensor& values,
                        Positions keyPositions) {
    const at::Tensor mask = seesAll(rows, keyPositions) ? at::Tensor() : maskOf(rows, keyPositions);
    return attendGrouped(rows.queries, keys, values, mask);
}

/// All heads of a layer hold keys at the same positions, as far as the rows can tell.
bool headsAgree(const QueryRows& rows, const cache::KvCache& cache, LayerId layer) {
    if (!cache.isUniform(layer)) {
        return false;
    }
    if (rows.window <= 0) {
        return true; // what was cached before is older than every row and seen by all of them
    }
    const Positions first = cache.positions(layer, HeadId{0});
    for (std::int32_t head = 1; head < cache.shape().kvHeads; ++head) {
        if (!std::ranges::equal(first, cache.positions(layer, HeadId{head}))) {
            return false;
        }
    }
    return true;
}

} // namespace

std::int64_t QueryRows::oldestSeen(std::size_t row) const {
    if (window <= 0) {
        return std::numeric_limits<std::int64_t>::min();
    }
    const std::int64_t oldest = positions[row] - window + 1;
    return runs.empty() ? oldest : std::min(oldest, runs[row].first);
}

std::int64_t QueryRows::newestSeen(std::size_t row) const {
    return runs.empty() ? positions[row] : std::max(positions[row], runs[row].last);
}

QueryRows QueryRows::part(const at::Tensor& partQueries, std::int64_t begin,
                          std::int64_t count) const {
    const auto from = static_cast<std::size_t>(begin);
    const auto size = static_cast<std::size_t>(count);
    return {partQueries, positions.subspan(from, size), window,
            runs.empty() ? runs : runs.subspan(from, size)};
}

at::Tensor attendCausal(const at::Tensor& queries, const at::Tensor& keys,
                        const at::Tensor& values) {
    const bool grouped = queries.size(0) != keys.size(0);
    const at::Tensor mixed = at::scaled_dot_product_attention(
        queries.unsqueeze(0), keys.unsqueeze(0), values.unsqueeze(0), {}, 0.0, true, {}, grouped);
    return mixed.squeeze(0).transpose(0, 1).reshape(
        {queries.size(1), queries.size(0) * queries.size(2)});
}

at::Tensor attendByPosition(const QueryRows& rows, const at::Tensor& keys, const at::Tensor& values,
                            Positions keyPositions) {
    const std::int64_t count = rows.queries.size(1);
    if (count > 1 && isWholePrefix(rows, keyPositions)) {
        return attendCausal(rows.queries, keys, values);
    }
    const KeyRange range = visibleRange(rows, keyPositions);
    const std::int64_t group = rows.queries.size(0) / keys.size(0);
    const auto part = [&](std::int64_t begin, std::int64_t size) {
        const at::Tensor queries = rowsFrom(rows.queries, 1, begin, size);
        const QueryRows block = rows.part(queries, begin, size);
        const KeyRange seen = visibleRange(block, keyPositions);
        return attendMasked(block, rowsFrom(keys, 1, seen.begin, seen.size()),
                            rowsFrom(values, 1, seen.begin, seen.size()),
                            keyPositions.subspan(static_cast<std::size_t>(seen.begin),
                                                 static_cast<std::size_t>(seen.size())));
    };
    const std::int64_t fitting =
        std::max(kFewestMaskedRows, kMaskElements / (group * range.size()));
    // A sliding layer gains from short blocks: each sees its rows and one window before them.
    const std::int64_t block =
        rows.window > 0 ? std::min(fitting, std::max(kFewestMaskedRows, rows.window)) : fitting;
    if (count <= block) {
        return part(0, count);
    }
    std::vector<at::Tensor> parts;
    for (std::int64_t begin = 0; begin < count; begin += block) {
        parts.push_back(part(begin, std::min(block, count - begin)));
    }
    return at::cat(parts, 0);
}

at::Tensor attendCache(const QueryRows& rows, const cache::KvCache& cache, LayerId layer) {
    if (headsAgree(rows, cache, layer)) {
        return attendByPosition(rows, tensorOf(cache.layerKeys(layer)),
                                tensorOf(cache.layerValues(layer)),
                                cache.positions(layer, HeadId{0}));
    }
    const std::int32_t kvHeads = cache.shape().kvHeads;
    const std::int64_t group = rows.queries.size(0) / kvHeads;
    std::vector<at::Tensor> parts;
    for (std::int32_t head = 0; head < kvHeads; ++head) {
        const at::Tensor queries = rows.queries.narrow(0, head * group, group);
        const at::Tensor keys = tensorOf(cache.keys(layer, HeadId{head})).unsqueeze(0);
        const at::Tensor values = tensorOf(cache.values(layer, HeadId{head})).unsqueeze(0);
        parts.push_back(attendByPosition({queries, rows.positions, rows.window, rows.runs}, keys,
                                         values, cache.positions(layer, HeadId{head})));
    }
    return at::cat(parts, 1);
}

} // namespace ecokv::model

// SPDX-License-Identifier: GPL-3.0-or-later
#include "cache/row_checks.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::cache {

void checkAppended(const CacheShape& shape, LayerId layer, const char* what, const TensorView& view,
                   std::int64_t tokens) {
    if (view.dtype != shape.dtype || view.device != shape.device) {
        throwInternal(
            fmt::format("The {} of layer {} are {}, but the cache holds {}.", what, layer.value,
                        view.describe(),
                        TensorView::contiguous(nullptr, shape.dtype,
                                               {shape.kvHeads, tokens, shape.headDim}, shape.device)
                            .describe()));
    }
    if (view.rank != 3 || view.shape[0] != shape.kvHeads || view.shape[1] != tokens ||
        view.shape[2] != shape.headDim) {
        throwInternal(fmt::format("The {} of layer {} are {}, but {} positions of {} KV heads of "
                                  "{} dimensions were announced.",
                                  what, layer.value, view.describe(), tokens, shape.kvHeads,
                                  shape.headDim));
    }
}

void checkRestored(const CacheShape& shape, LayerId layer, const TensorView& rows,
                   std::int64_t count) {
    if (rows.dtype != shape.dtype || rows.rank != 2 || rows.shape[0] != count ||
        rows.shape[1] != shape.headDim) {
        throwInternal(fmt::format("Layer {} cannot hold {}: {} rows of {} {} were announced.",
                                  layer.value, rows.describe(), count, shape.headDim,
                                  dtypeName(shape.dtype)));
    }
}

void checkPositions(LayerId layer, std::int64_t last, std::span<const std::int64_t> positions) {
    for (const std::int64_t position : positions) {
        if (position <= last) {
            throwInternal(fmt::format("Position {} of layer {} does not come after position {}: "
                                      "true positions must ascend.",
                                      position, layer.value, last));
        }
        last = position;
    }
}

void checkKeptRows(const LayerPlan& plan, std::size_t head, std::int64_t length) {
    std::int64_t last = -1;
    for (const std::int32_t row : plan.keptRows[head]) {
        if (row <= last) {
            throwInternal(fmt::format("The plan of layer {} keeps row {} of KV head {} after row "
                                      "{}: rows must be strictly ascending.",
                                      plan.layer.value, row, head, last));
        }
        if (row >= length) {
            throwInternal(fmt::format("The plan of layer {} keeps row {} of KV head {}, which "
                                      "holds {} rows.",
                                      plan.layer.value, row, head, length));
        }
        last = row;
    }
}

} // namespace ecokv::cache

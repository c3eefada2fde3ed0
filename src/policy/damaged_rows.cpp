// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/damaged_rows.h"

#include "policy/host_tensor.h"

#include <cmath>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

constexpr std::uint16_t kBf16Exponent = 0x7f80;
constexpr std::uint16_t kF16Exponent = 0x7c00;

/// `row` [dim] f32/bf16/f16 with unit stride on the host.
bool isFinite(const TensorView& row) {
    for (std::int64_t i = 0; i < row.shape[0]; ++i) {
        bool finite = true;
        if (row.dtype == DType::F32) {
            finite = std::isfinite(row.as<float>()[i]);
        } else {
            const std::uint16_t exponent = row.dtype == DType::BF16 ? kBf16Exponent : kF16Exponent;
            finite = (row.as<std::uint16_t>()[i] & exponent) != exponent;
        }
        if (!finite) {
            return false;
        }
    }
    return true;
}

/// `rows` [head, row, dim]; `norm` [head, row] limits the search to rows of norm 0, null searches
/// all.
std::vector<std::string> damageNotes(const LayerInput& input, const TensorView& rows,
                                     const float* norm, const char* what) {
    std::vector<std::string> notes;
    for (std::int64_t head = 0; head < rows.shape[0]; ++head) {
        std::int64_t damaged = 0;
        for (std::int64_t row = 0; row < rows.shape[1]; ++row) {
            if (norm != nullptr && norm[head * rows.shape[1] + row] != 0.0F) {
                continue;
            }
            const HostTensor one(rows.slice(0, head, head + 1).slice(1, row, row + 1));
            damaged += isFinite(one.view()[0][0]) ? 0 : 1;
        }
        if (damaged > 0) {
            const std::int64_t group = rows.shape[0] / input.keys.shape[0]; // 1 but for queries
            notes.push_back(fmt::format("layer {} head {}: {} {}", input.layer.value,
                                        input.firstHead * group + head, damaged, what));
        }
    }
    return notes;
}

} // namespace

std::vector<std::string> damagedKeys(const LayerInput& input, const std::vector<float>& norm) {
    return damageNotes(input, input.keys, norm.data(), "keys hold NaN or Inf, counted as zero");
}

std::vector<std::string> damagedValues(const LayerInput& input, const std::vector<float>& norm) {
    return damageNotes(input, input.values, norm.data(), "values hold NaN or Inf, counted as zero");
}

std::vector<std::string> damagedQueries(const LayerInput& input, std::int64_t window) {
    const std::int64_t rows = input.windowQueries.shape[1];
    const HostTensor queries(input.windowQueries.slice(1, rows - window, rows));
    return damageNotes(input, queries.view(), nullptr,
                       "query rows hold NaN or Inf, seen as attending to nothing");
}

} // namespace ecokv::policy

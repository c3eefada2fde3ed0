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
void noteDamage(const LayerInput& input, const TensorView& rows, const float* norm,
                const char* what, std::vector<std::string>& notes) {
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
            notes.push_back(
                fmt::format("layer {} head {}: {} {}", input.layer.value, head, damaged, what));
        }
    }
}

} // namespace

std::vector<std::string> damageNotes(const LayerInput& input, std::int64_t window,
                                     const std::vector<float>& keyNorm,
                                     const std::vector<float>& valueNorm) {
    std::vector<std::string> notes;
    noteDamage(input, input.keys, keyNorm.data(), "keys hold NaN or Inf, counted as zero", notes);
    if (input.values.data != nullptr) {
        noteDamage(input, input.values, valueNorm.data(), "values hold NaN or Inf, counted as zero",
                   notes);
    }
    const std::int64_t rows = input.windowQueries.shape[1];
    const HostTensor queries(input.windowQueries.slice(1, rows - window, rows));
    noteDamage(input, queries.view(), nullptr,
               "query rows hold NaN or Inf, seen as attending to "
               "nothing",
               notes);
    return notes;
}

} // namespace ecokv::policy

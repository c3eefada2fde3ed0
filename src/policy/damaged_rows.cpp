// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/damaged_rows.h"

#include "policy/host_tensor.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

constexpr const char* kDamage = "hold NaN or Inf";
constexpr std::uint16_t kBf16Exponent = 0x7f80;
constexpr std::uint16_t kF16Exponent = 0x7c00;

/// `count` numbers from the start of `view` on, f32/bf16/f16 with unit stride on the host.
bool isFinite(const TensorView& view, std::int64_t count) {
    if (view.dtype == DType::F32) {
        return std::all_of(view.as<float>(), view.as<float>() + count,
                           [](float value) { return std::isfinite(value); });
    }
    const std::uint16_t exponent = view.dtype == DType::BF16 ? kBf16Exponent : kF16Exponent;
    return std::all_of(view.as<std::uint16_t>(), view.as<std::uint16_t>() + count,
                       [exponent](std::uint16_t bits) { return (bits & exponent) != exponent; });
}

/// `rows` [head, row, dim]; `norm` [head, row] limits the search to rows of norm 0, null searches
/// all.
std::vector<std::string> damageNotes(const LayerInput& input, const TensorView& rows,
                                     const float* norm, const std::string& what) {
    std::vector<std::string> notes;
    for (std::int64_t head = 0; head < rows.shape[0]; ++head) {
        std::int64_t damaged = 0;
        for (std::int64_t row = 0; row < rows.shape[1]; ++row) {
            if (norm != nullptr && norm[head * rows.shape[1] + row] != 0.0F) {
                continue;
            }
            const HostTensor one(rows.slice(0, head, head + 1).slice(1, row, row + 1));
            damaged += isFinite(one.view(), rows.shape[2]) ? 0 : 1;
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
    return damageNotes(input, input.keys, norm.data(),
                       fmt::format("keys {}, counted as zero", kDamage));
}

std::vector<std::string> damagedValues(const LayerInput& input, const std::vector<float>& norm) {
    return damageNotes(input, input.values, norm.data(),
                       fmt::format("values {}, counted as zero", kDamage));
}

std::vector<std::string> damagedQueries(const LayerInput& input, std::int64_t window) {
    const std::int64_t rows = input.windowQueries.shape[1];
    const HostTensor queries(input.windowQueries.slice(1, rows - window, rows));
    return damageNotes(input, queries.view(), nullptr,
                       fmt::format("query rows {}, seen as attending to nothing", kDamage));
}

std::optional<std::int64_t> damagedLayerOf(const std::string& note, const std::string& what) {
    long long layer = 0, head = 0, rows = 0;
    const bool isCount =
        std::sscanf(note.c_str(), "layer %lld head %lld: %lld ", &layer, &head, &rows) == 3;
    const bool isDamage =
        note.find(what + (what.empty() ? "" : " ") + kDamage) != std::string::npos;
    return isCount && isDamage ? std::optional<std::int64_t>(layer) : std::nullopt;
}

bool holdsOnlyFinite(const TensorView& rows) {
    return isFinite(rows, rows.shape[0] * rows.shape[1] * rows.shape[2]);
}

} // namespace ecokv::policy

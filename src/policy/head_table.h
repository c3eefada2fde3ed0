#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A number per KV head in a JSON file that names its model and shape: weights of the `static`
// allocator, or redundancies that replace the measured ones. A table of another model is refused
// (field case F028). Pure functions.

#include "policy/policy_config.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::policy {

enum class HeadTableKind : std::uint8_t { Weights, Redundancy };

struct HeadTable {
    HeadTableKind kind = HeadTableKind::Weights;
    std::string model; ///< as traces and `ecokv info` name it
    std::int32_t layers = 0, kvHeads = 0;
    /// [layer, kvHead]; weights >= 0, redundancies 0..1, NaN in layers without a KV cache
    std::vector<double> values;

    bool isUncached(std::int32_t layer) const; ///< a layer without a KV cache, null in the file
};

/// Throws Error{BadInput} naming the file and what is wrong with it.
HeadTable readHeadTable(const std::string& file, HeadTableKind kind);
/// Throws Error{BadInput} with both names or shapes where the table is of another model, or lacks
/// the numbers of a layer that has a KV cache.
void checkHeadTable(const HeadTable& table, const std::string& file, const ModelShape& shape);
/// The text of a table file.
std::string headTableJson(const HeadTable& table);

} // namespace ecokv::policy

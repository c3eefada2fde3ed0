#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A head table from what traces recorded: the mean of one head metric over several prompts, for the
// `static` allocator or as stored redundancies. Pure functions.

#include "policy/head_table.h"
#include "trace/trace_reader.h"

#include <memory>
#include <string>
#include <vector>

namespace ecokv::analysis {

/// The mean of /heads/<metric> over `traces`, which must be of one model. Redundancies are limited
/// to 0..1; layers without a KV cache are NaN (null in the file). Throws Error{BadInput} naming the
/// file that lacks the metric, is of another model or holds a number that the table cannot.
policy::HeadTable headTableOf(const std::vector<std::shared_ptr<const trace::TraceReader>>& traces,
                              const std::string& metric, policy::HeadTableKind kind);

} // namespace ecokv::analysis

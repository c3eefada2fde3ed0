#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Layers of a trace with numbers that are not finite. Kernels take NaN and Inf as zero, so that
// what was computed of them looks perfect; whoever shows it asks here first. Pure functions.

#include "trace/trace_reader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::analysis {

/// Those that the run itself noted, ascending. `what` as policy::damagedLayerOf.
std::vector<std::int64_t> notedNotFinite(const trace::TraceReader& reader,
                                         const std::string& what = {});

/// "Layers 2, 3 hold numbers that are not finite (NaN or Inf): ..."
std::string notFiniteNote(const std::vector<std::int64_t>& layers);

/// NaN for the entries of `layers` in `values` [layer, ...] of `count` layers.
void blankLayers(const std::vector<std::int64_t>& layers, std::int64_t count,
                 std::vector<float>& values);

} // namespace ecokv::analysis

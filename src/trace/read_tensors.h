#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Reads /tensors layer by layer in the stored number type, and what says where its rows stand.
// Throws Error{BadInput}. Hold a LibraryLock.

#include "trace/hdf5/library.h"
#include "trace/raw_tensor.h"
#include "trace/trace_records.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ecokv::trace {

/// The number type that layers of a dataset are read in. Throws where it holds no numbers.
DType layerDType(hid_t dataset);

/// Layer `layer` of a dataset [layer, head, row, dim]. float32, bfloat16 and float16 keep their
/// bits; other numbers become float32.
RawTensor readLayerTensor(hid_t dataset, std::int64_t layer);

/// `path` [count] i64, or counting from `first` where the file has none. Refused: another shape.
std::vector<std::int64_t> readPositions(hid_t file, const std::string& path, std::int64_t count,
                                        std::int64_t first);

} // namespace ecokv::trace

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Writes one record as its group of the schema into an open file. Hold a LibraryLock.

#include "trace/hdf5/datasets.h"
#include "trace/trace_records.h"

#include <cstdint>
#include <string>

namespace ecokv::trace {

/// How a file is written; shared by the functions below.
struct FileContext {
    hid_t file = -1;
    Dimensions dimensions;
    bool compact = false;
};

/// Creates a dataset and gives it its description, unit, axis names and dimension scales.
/// `doc` is its path in trace_layout.h; `spec.name` is relative to `group`.
Handle createDocumented(hid_t group, const DatasetSpec& spec, const std::string& doc);

void writeModelGroup(const FileContext& context, const ModelRecord& model);
void writeRunGroup(const FileContext& context, const RunRecord& run);
void writePromptGroup(const FileContext& context, const PromptRecord& prompt);
void writeImageDataset(const FileContext& context, std::int64_t index, const ImageRecord& image);
void writePolicyGroup(const FileContext& context, const PolicyRecord& policy);
/// `group` is "decode", "policies/<id>/decode" or a question's.
void writeDecodeGroup(const FileContext& context, const std::string& group,
                      const DecodeRecord& decode);
/// Beside the answer in the same group, "policies/<id>/decode".
void writeForcedGroup(const FileContext& context, const std::string& group,
                      const ForcedRecord& forced);

} // namespace ecokv::trace

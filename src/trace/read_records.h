#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Reads one group of the schema as its record. Arrays always have the lengths the records promise;
// missing optional ones get neutral values. Throws Error{BadInput}. Hold a LibraryLock.

#include "trace/hdf5/library.h"
#include "trace/trace_records.h"

#include <optional>
#include <string>
#include <vector>

namespace ecokv::trace {

std::optional<ModelRecord> readModelGroup(hid_t file);
std::optional<RunRecord> readRunGroup(hid_t file);
std::optional<PromptRecord> readPromptGroup(hid_t file, const Dimensions& dimensions);
std::vector<ImageRecord> readImages(hid_t file);
/// Numbers in numeric order, then other names.
std::vector<std::string> sortedIds(hid_t file, const std::string& group);
PolicyRecord readPolicyGroup(hid_t file, const Dimensions& dimensions, const std::string& id);
/// `group` is "decode", "policies/<id>/decode" or a question's.
std::optional<DecodeRecord> readDecodeGroup(hid_t file, const Dimensions& dimensions,
                                            const std::string& group);
/// `group` is "questions" or "policies/<id>/questions"; in the order of asking.
std::vector<DecodeRecord> readQuestions(hid_t file, const Dimensions& dimensions,
                                        const std::string& group);
/// `group` is "policies/<id>/decode"; none unless the policy was compared.
std::optional<ForcedRecord> readForcedGroup(hid_t file, const std::string& group);

} // namespace ecokv::trace

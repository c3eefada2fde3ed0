#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The part of the doctor that looks at the files of a folder by name, and at tokenizer.json.

#include "base/finding.h"

#include <filesystem>
#include <string>
#include <vector>

namespace ecokv::model {

/// Which files a model needs or may have are there. Weights are another matter: see Checkpoint.
std::vector<Finding> examineFiles(const std::filesystem::path& folder);
/// "BPE, byte-level", "BPE with byte fallback", "Unigram". Throws Error{BadInput}.
std::string tokenizerKind(const std::filesystem::path& tokenizerJson);
/// "14.1 GB"
std::string byteSize(double bytes);

} // namespace ecokv::model

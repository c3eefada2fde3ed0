#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// All weights of a model folder: one model.safetensors, or the shards that
// model.safetensors.index.json names. Looked up by name; nothing is copied. Pickles are refused.

#include "model/weights/safetensors.h"

#include <filesystem>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace ecokv::model {

class Checkpoint {
public:
    /// Throws Error{BadInput}: no weights, pickles only, missing shards, a stale index, a tensor
    /// stored twice (field cases F082 to F085).
    static Checkpoint open(const std::filesystem::path& folder);

    const StoredTensor* find(const std::string& name) const; ///< null if absent
    /// Throws Error{BadInput} naming the tensor and its nearest namesakes.
    const StoredTensor& require(const std::string& name) const;
    /// Every tensor, by name ascending.
    std::vector<const StoredTensor*> tensors() const;

    std::string headerSha256() const; ///< of all headers, shards in order of their names
    std::int64_t parameters() const;  ///< elements of floating-point tensors
    std::int64_t fileBytes() const;   ///< on disk, headers included
    std::vector<std::filesystem::path> files() const;
    /// "BF16" -> bytes, of all tensors
    std::map<std::string, std::int64_t> bytesByDType() const;
    DType storedDType() const; ///< the one most parameters are stored in

private:
    std::vector<SafetensorsFile> m_files;
    std::unordered_map<std::string, const StoredTensor*> m_byName;
};

} // namespace ecokv::model

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A compressed KV cache on disk (HDF5, schema "ecokv-cache" 1): per layer and head the keys, values
// and true positions that survived, bit for bit, and what is needed to ask questions of them.
// Values only; one thread. Throws Error{BadInput}.

#include "trace/trace_records.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace ecokv::trace {

inline constexpr int kCacheSchemaVersion = 1;

/// What a cache belongs to and how it goes on.
struct CacheRecord {
    std::int64_t layers = 0, heads = 0, kvHeads = 0, headDim = 0;
    DType dtype = DType::F32;    ///< of keys, values and queries
    std::int64_t tokensSeen = 0; ///< evicted ones included: the next position (field case F017)
    std::int64_t imageTokens = 0;
    std::int64_t positionShift = 0; ///< from tokensSeen to the next rotary position (F067)
    std::vector<std::array<std::int32_t, 3>> ropePositions; ///< [token] of the prompt, or empty
    Attributes model;         ///< name, config_sha256, weights_sha256, ...
    std::vector<float> probe; ///< what the model answers to a fixed input: its weights show there
    Attributes policy;        ///< what compressed it
    std::string producer;
    std::string promptText;             ///< after the chat template, up to the question
    std::vector<std::int64_t> tokenIds; ///< [token] of the prompt, image tokens expanded
    std::string questionTail;           ///< what the template puts between question and answer
};

/// One layer; rows of KV head 0 come first, then those of head 1, ...
struct CacheLayer {
    std::vector<std::byte> keys, values;              ///< [row, dim] of the record's dtype
    std::vector<std::vector<std::int64_t>> positions; ///< [kvHead][row] true positions, ascending
    std::vector<std::byte> windowQueries;             ///< [row, head, dim], last prompt rows
    std::vector<std::int64_t> windowPositions;        ///< [row]

    std::int64_t rows() const; ///< of all heads together
};

/// Writes NAME.part and renames it; `layer` is asked for each layer in turn. A failure leaves
/// neither NAME nor NAME.part behind.
void writeCacheFile(const std::filesystem::path& path, const CacheRecord& record,
                    const std::function<CacheLayer(std::int64_t)>& layer);

/// True if the file is HDF5 and says that it is a saved cache.
bool isCacheFile(const std::filesystem::path& path);

class CacheFileReader {
public:
    /// Refuses files that are cut off, unfinished, of a newer schema or no saved cache.
    explicit CacheFileReader(const std::filesystem::path& path);
    ~CacheFileReader();
    CacheFileReader(const CacheFileReader&) = delete;
    CacheFileReader& operator=(const CacheFileReader&) = delete;

    const CacheRecord& record() const;
    CacheLayer layer(std::int64_t index) const;

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace ecokv::trace

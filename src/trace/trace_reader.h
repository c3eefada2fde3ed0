#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Reads a trace, the `.part` of an unfinished run as far as it was flushed, or a foreign file that
// holds only /tensors. A copy that was cut off is refused with both sizes. Every call takes the one
// HDF5 lock; results are values. Throws Error{BadInput}; Error{Usage} for an unknown policy or
// head.

#include "trace/raw_tensor.h"
#include "trace/trace_records.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::trace {

struct DatasetEntry {
    std::string path; ///< "/scores/importance"
    std::vector<std::int64_t> shape;
    std::string dtype; ///< "float32", "bfloat16", "text", ...
    std::string description, units, axes;
    std::uint64_t storedBytes = 0;
    std::string problem; ///< why it cannot be read, "" = fine
};

class TraceReader {
public:
    explicit TraceReader(const std::filesystem::path& path);
    ~TraceReader();
    TraceReader(const TraceReader&) = delete;
    TraceReader& operator=(const TraceReader&) = delete;

    const std::filesystem::path& path() const;
    const Dimensions& dimensions() const;
    bool complete() const;
    bool layersComplete() const; ///< tensors of every layer are there
    /// Layers an unfinished run came to; all of them in a finished or a foreign file.
    std::int64_t layersWritten() const;
    /// Sentences: what is missing or unreadable ("/scores stops at layer 3 of 6").
    const std::vector<std::string>& problems() const;
    Attributes rootAttributes() const;

    std::optional<ModelRecord> model() const;
    std::optional<RunRecord> run() const;
    std::optional<PromptRecord> prompt() const;
    std::vector<ImageRecord> images() const;

    std::vector<std::string> headMetrics() const;                 ///< names under /heads
    std::vector<std::string> scoreNames() const;                  ///< names under /scores
    std::vector<float> headMetric(const std::string& name) const; ///< [layer, kvHead]
    std::vector<std::string> headSpectra() const; ///< names of [layer, kvHead, dim] under /heads
    std::vector<float> headSpectrum(const std::string& name, std::int64_t layer,
                                    std::int64_t kvHead) const; ///< [dim], largest first
    std::vector<float> scores(const std::string& name, std::int64_t layer,
                              std::int64_t kvHead) const;                     ///< [token]
    std::vector<float> keys(std::int64_t layer, std::int64_t kvHead) const;   ///< [token, dim]
    std::vector<float> values(std::int64_t layer, std::int64_t kvHead) const; ///< [token, dim]
    std::vector<float> windowQueries(std::int64_t layer,
                                     std::int64_t head) const; ///< [window, dim]
    /// [window row] true positions; those of the last tokens where the file does not say.
    std::vector<std::int64_t> windowPositions() const;

    bool has(const std::string& dataset) const;         ///< of the right shape: "tensors/values"
    DType storedDType(const std::string& tensor) const; ///< that layerKeys() etc. come in
    /// A whole layer [head, token or window row, dim] in the stored number type.
    RawTensor layerKeys(std::int64_t layer) const;
    RawTensor layerValues(std::int64_t layer) const;
    RawTensor layerWindowQueries(std::int64_t layer) const;
    std::vector<std::int64_t> positions() const; ///< [token] true positions
    /// Nothing where the file does not say how its keys were rotated.
    std::optional<RotationRecord> rotation() const;

    std::vector<std::string> policyIds() const;
    PolicyRecord policy(const std::string& id) const;
    std::optional<DecodeRecord> decode() const;
    std::optional<DecodeRecord> policyDecode(const std::string& id) const;
    std::vector<DecodeRecord> questions() const; ///< answered from the full cache
    std::vector<DecodeRecord> policyQuestions(const std::string& id) const;
    std::optional<ForcedRecord> policyForced(const std::string& id) const;

    /// Every dataset of the file, for the Trace page and `ecokv info`.
    std::vector<DatasetEntry> entries() const;

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace ecokv::trace

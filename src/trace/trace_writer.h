#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Writes one trace under NAME.part and renames it when closed cleanly. Calls copy what they need
// and queue it (bounded) to the one HDF5 thread; an error there is thrown by the next call or by
// close().

#include "trace/trace_records.h"

#include <cstdint>
#include <filesystem>
#include <memory>

namespace ecokv::trace {

struct WriterOptions {
    std::filesystem::path path; ///< final name, links followed; ".part" is added while writing
    Dimensions dimensions;
    DType tensorDType = DType::F32; ///< storage of keys, values and queries
    bool recordTensors = true; ///< false: no /tensors; only layers, kvHeads and tokens count then
    bool recordValues = true;
    std::int64_t policies = 1; ///< at least 1; only the prediction of the size needs to know
    bool compact = false;      ///< shuffle + deflate
    std::string producer;      ///< "ecokv 0.1.0"
    std::vector<std::int64_t> windowPositions; ///< [window]
    /// [layer] 1 = no KV cache: writeLayer is not called for it, everything of it reads as NaN and
    /// counts as recorded. Empty = every layer has one.
    std::vector<std::uint8_t> linearLayers = {};
};

/// Bytes the file will take, before anything is written.
std::uint64_t predictedBytes(const WriterOptions& options);

class TraceWriter {
public:
    /// Throws Error{BadInput}: not a file, folder not writable, little space, on screen, ...
    explicit TraceWriter(const WriterOptions& options);
    ~TraceWriter(); ///< not closed: leaves a readable .part behind
    TraceWriter(const TraceWriter&) = delete;
    TraceWriter& operator=(const TraceWriter&) = delete;

    void writeModel(const ModelRecord& model);
    void writePrompt(const PromptRecord& prompt);
    void writeImage(std::int64_t index, const ImageRecord& image);
    void writeLayer(const LayerRecord& layer); ///< flushed to disk afterwards
    void writePolicy(const PolicyRecord& policy);
    void writeDecode(const DecodeRecord& decode);
    void writePolicyDecode(const std::string& policyId, const DecodeRecord& decode);
    /// The answer to question `index`; an empty `policyId` means the full cache.
    void writeQuestion(const std::string& policyId, std::int64_t index, const DecodeRecord& decode);
    void writePolicyForced(const std::string& policyId, const ForcedRecord& forced);
    void writeRun(const RunRecord& run);
    /// Marks the file complete, closes and renames it.
    void close();

private:
    class Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace ecokv::trace

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The tensors of a trace as policies take them: whole layers in the recorded number type, with
// positions and rotation. Says what a trace lacks. Thread-safe.

#include "analysis/replay_cache.h"
#include "policy/layer_scores.h"
#include "trace/trace_reader.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::analysis {

/// Tensors of one layer and the memory they lie in.
struct SourceLayer {
    std::shared_ptr<const trace::RawTensor> keys, values, queries;
    policy::LayerInput input; ///< views of them; values empty where there are none or not asked for
};

class ReplaySource {
public:
    /// `cacheBytes`: tensors kept in memory. Throws Error{BadInput} where a trace cannot be
    /// replayed at all: no keys, no queries, impossible positions.
    ReplaySource(std::shared_ptr<const trace::TraceReader> reader, std::size_t cacheBytes);
    ReplaySource(const ReplaySource&) = delete;
    ReplaySource& operator=(const ReplaySource&) = delete;

    const trace::TraceReader& reader() const { return *m_reader; }
    const trace::Dimensions& dimensions() const { return m_reader->dimensions(); }
    policy::ModelShape shape() const;
    bool hasValues() const { return m_hasValues; }
    DType dtype() const { return m_dtype; } ///< of the recorded keys

    /// Throws Error{Usage} with what is missing and what to do: a window of more rows than were
    /// recorded, values, rotation.
    void checkCanReplay(const policy::ResolvedPolicy& policy) const;

    /// Throws Error{Usage} for more window rows than were recorded.
    void checkRows(std::int64_t rows) const;

    SourceLayer layer(std::int64_t layer, bool withValues);

    ReplayCache& cache() { return m_cache; }

private:
    void readPositions();
    void readRotation();

    std::shared_ptr<const trace::TraceReader> m_reader;
    std::string m_modelName;
    std::vector<std::int64_t> m_slidingWindows; ///< [layer], 0 = full; empty = all are
    std::vector<std::uint8_t> m_linearLayers;   ///< [layer], 1 = no KV cache; empty = all have one
    std::vector<std::int64_t> m_positions, m_windowPositions;
    std::optional<trace::RotationRecord> m_rotationRecord;
    std::vector<kernels::Rotation> m_rotations; ///< [rope], empty where they are not known
    bool m_hasValues = false;
    DType m_dtype = DType::F32;
    ReplayCache m_cache;
};

} // namespace ecokv::analysis

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What all layers of one pass through the decoder share: where its tokens stand, what they are
// rotated by, who sees whom, and where a prefill may be cut. Lives as long as the pass.

#include "model/decoder/attention.h"
#include "model/decoder/decoder.h"

#include <span>
#include <vector>

namespace ecokv::model {

class PassState {
public:
    /// `tokens` new ones, at positions cache.tokensSeen() and on: the number seen, not of rows kept
    /// (field case F017). Make it before the first layer appends.
    PassState(const DecoderConfig& config, const std::vector<Rotary>& rotaries,
              const DecoderPass& pass, std::int64_t tokens);

    const DecoderPass& pass() const { return m_pass; }
    std::span<const std::int64_t> positions() const { return m_positions; } ///< [token]
    std::span<const std::int64_t> positionsOf(std::int64_t begin, std::int64_t count) const;
    /// [token], or empty where they are the true positions.
    std::span<const cache::RopePosition> ropePositions() const { return m_ropePositions; }
    RotaryTables tablesOf(LayerId layer, std::int64_t begin, std::int64_t count) const;
    /// Queries [head, row, dim] of the tokens from `begin` on.
    QueryRows queryRows(LayerId layer, const at::Tensor& queries, std::int64_t begin) const;
    /// One past the last token of the chunk that starts at `begin`; never inside a picture whose
    /// tokens see each other.
    std::int64_t chunkEnd(std::int64_t begin) const;

private:
    std::int64_t tokens() const { return static_cast<std::int64_t>(m_positions.size()); }

    const DecoderConfig& m_config;
    const DecoderPass& m_pass;
    std::vector<std::int64_t> m_positions;
    std::vector<cache::RopePosition> m_ropePositions;
    std::vector<RotaryTables> m_tables; ///< [rope of the config]
    std::vector<PositionRun> m_runs;    ///< [token], empty = no token sees later ones
};

} // namespace ecokv::model

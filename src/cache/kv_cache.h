#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Per-layer, per-KV-head storage of keys and values with their true positions. Heads may hold
// different numbers of tokens; what `bytes()` reports is what is allocated. One thread at a time.
// Misuse throws Error{Internal}; after an out-of-memory error only clear() and destruction are
// safe.

#include "base/ids.h"
#include "base/tensor_view.h"
#include "cache/eviction_plan.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace ecokv::cache {

struct CacheShape {
    std::int32_t layers = 0;
    std::int32_t kvHeads = 0;
    std::int32_t headDim = 0;
    DType dtype = DType::F32; ///< of stored keys and values
    Device device{};
};

enum class Part : std::uint8_t; // layer_storage.h

/// What one head of a layer holds, as it is read from a file or another cache.
struct HeadRows {
    TensorView keys, values;                 ///< [token, dim] in the cache's dtype, any device
    std::span<const std::int64_t> positions; ///< [token] true positions, ascending
};

/// What a key was rotated by: time, row, column (M-RoPE). Text has three times the same.
using RopePosition = std::array<std::int32_t, 3>;

class KvCache {
public:
    explicit KvCache(const CacheShape& shape);
    ~KvCache();
    KvCache(KvCache&&) noexcept;
    KvCache& operator=(KvCache&&) noexcept;

    const CacheShape& shape() const;

    /// Appends `n` tokens to every head of a layer. keys, values [kvHead, n, headDim], in the
    /// cache's dtype and device; `positions` [n] are true positions, ascending.
    void append(LayerId layer, const TensorView& keys, const TensorView& values,
                std::span<const std::int64_t> positions);
    /// The only eviction: keeps the planned rows in place and gives the rest of the memory back.
    void apply(const cache::LayerPlan& plan);
    /// Room for `tokens` more rows per head, allocated with the next append or apply of each layer.
    void reserveForDecode(std::int64_t tokens);
    /// Room for exactly `rows` more rows per head of one layer, besides what reserveForDecode asks
    /// for: rows that come in pieces are not moved.
    void reserve(LayerId layer, std::int64_t rows);
    void clear();
    /// A deep copy of one layer of `source` into this cache (same shape).
    void copyLayer(const KvCache& source, LayerId layer);
    /// A deep copy of what no eviction touches: rotary positions and the states of linear layers.
    void copyUnevicted(const KvCache& source);
    /// A deep copy of everything with room for `reserve` more rows per head.
    KvCache clone(std::int64_t reserve) const;
    /// Replaces a layer by `heads` [kvHead], the survivors of `seen` tokens.
    void restoreLayer(LayerId layer, std::span<const HeadRows> heads, std::int64_t seen);

    TensorView keys(LayerId layer, HeadId head) const;   ///< [token, dim]
    TensorView values(LayerId layer, HeadId head) const; ///< [token, dim]
    std::span<const std::int64_t> positions(LayerId layer, HeadId head) const;
    std::int64_t length(LayerId layer, HeadId head) const;
    /// All heads hold the same number of tokens: [kvHead, token, dim] views exist.
    bool isUniform(LayerId layer) const;
    TensorView layerKeys(LayerId layer) const;   ///< [kvHead, token, dim], needs isUniform
    TensorView layerValues(LayerId layer) const; ///< [kvHead, token, dim], needs isUniform

    /// Tokens seen so far, evicted ones included: the next rotary position (field case F017).
    /// The furthest layer counts, so read it before the first layer of a step appends.
    std::int64_t tokensSeen() const;
    std::size_t bytes() const;     ///< allocated now, keys and values
    std::size_t usedBytes() const; ///< of rows that hold a token

    /// What is added to the number of tokens seen to get the rotary position of the next one:
    /// behind pictures with rows and columns it is negative (field case F067). 0 after clear().
    std::int64_t positionShift() const { return m_positionShift; }
    void setPositionShift(std::int64_t shift) { m_positionShift = shift; }
    /// Of the tokens from 0 on, where they are not their true positions; the shift then continues
    /// behind the largest of them.
    void setRopePositions(std::span<const RopePosition> ofTokens);
    std::span<const RopePosition> ropePositions() const { return m_ropePositions; }
    /// Of the token at true position `position`, evicted or not.
    RopePosition ropePosition(std::int64_t position) const;

    /// The tensors a linear layer keeps in place of rows (a recurrent state); their meaning is the
    /// model's. Contiguous, on the cache's device; a view lives until the state is set again with
    /// other shapes, and may be written through.
    std::span<const TensorView> state(LayerId layer) const;
    void setState(LayerId layer, std::span<const TensorView> tensors);
    std::size_t stateBytes() const; ///< allocated for states

private:
    struct Layer;
    Layer& at(LayerId layer) const;
    std::size_t headIndex(HeadId head) const;
    TensorView uniformView(LayerId layer, Part part) const;

    CacheShape m_shape;
    std::vector<std::unique_ptr<Layer>> m_layers;
    std::int64_t m_reserve = 0;
    std::int64_t m_positionShift = 0;
    std::vector<RopePosition> m_ropePositions; ///< [token] or empty
};

} // namespace ecokv::cache

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Which layers of a model are evicted, and so which of them speak for a policy: the one rule that
// plans, ledgers, means, replay, survival and figures share (field case F034). A view of lists that
// somebody else owns; pure functions.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ecokv {

struct LayerKinds {
    /// [layer] tokens that a sliding layer sees, 0 = all of them; empty = every layer is full.
    std::span<const std::int64_t> slidingWindows = {};
    /// [layer] 1 = linear attention, no KV cache; empty = every layer has one.
    std::span<const std::uint8_t> linearLayers = {};

    bool isSliding(std::int64_t layer) const;
    bool isLinear(std::int64_t layer) const;
    /// Its window bounds a sliding layer, and a linear one holds nothing: neither is evicted.
    bool isEvicted(std::int64_t layer) const { return !isSliding(layer) && !isLinear(layer); }

    /// [layer] whether its heads count in means, totals and shares: those of layers that are
    /// evicted. A sliding layer keeps everything and would flatter every policy. Where no layer is
    /// evicted, those that have a KV cache count.
    std::vector<bool> counted(std::int64_t layers) const;
    std::int64_t countedLayers(std::int64_t layers) const;
    /// Sliding layers that do not count.
    std::int64_t slidingLeftOut(std::int64_t layers) const;

    /// What `values` [layer, ...] say of the layers that count.
    template <class T>
    std::vector<T> countedOf(const std::vector<T>& values, std::int64_t layers) const {
        std::vector<T> own;
        const std::vector<bool> marks = counted(layers);
        const auto perLayer =
            static_cast<std::ptrdiff_t>(layers > 0 ? std::ssize(values) / layers : 0);
        for (std::size_t layer = 0; layer < marks.size(); ++layer) {
            if (marks[layer]) {
                const auto first = values.begin() + static_cast<std::ptrdiff_t>(layer) * perLayer;
                own.insert(own.end(), first, first + perLayer);
            }
        }
        return own;
    }
};

} // namespace ecokv

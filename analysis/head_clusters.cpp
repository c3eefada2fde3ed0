// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/head_clusters.h"

#include "base/error.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

namespace ecokv::analysis {

namespace {

/// Masks as bits, one row of words per item.
class BitRows {
public:
    BitRows(std::span<const std::uint8_t> masks, std::size_t items)
        : m_words(items == 0 ? 0 : (masks.size() / items + 63) / 64), m_bits(items * m_words) {
        const std::size_t tokens = items == 0 ? 0 : masks.size() / items;
        for (std::size_t item = 0; item < items; ++item) {
            for (std::size_t token = 0; token < tokens; ++token) {
                const std::uint64_t bit = masks[item * tokens + token] != 0 ? 1 : 0;
                m_bits[item * m_words + token / 64] |= bit << (token % 64);
            }
        }
    }

    double distance(std::size_t a, std::size_t b) const {
        int both = 0, either = 0;
        for (std::size_t i = 0; i < m_words; ++i) {
            const std::uint64_t x = m_bits[a * m_words + i], y = m_bits[b * m_words + i];
            both += std::popcount(x & y);
            either += std::popcount(x | y);
        }
        return either == 0 ? 0.0 : 1.0 - static_cast<double>(both) / either;
    }

private:
    std::size_t m_words;
    std::vector<std::uint64_t> m_bits;
};

/// A merge before clusters are numbered: slots of the distance matrix.
struct SlotMerge {
    std::size_t a = 0, b = 0;
    double distance = 0;
};

/// Follows nearest neighbours until two are each other's nearest, merges them into the slot of the
/// second, and goes on; O(n^2).
class NeighbourChain {
public:
    NeighbourChain(const std::vector<double>& distances, std::size_t items)
        : m_items(items), m_distances(distances), m_size(items, 1) {}

    std::vector<SlotMerge> run() {
        std::vector<SlotMerge> merges;
        while (merges.size() + 1 < m_items) {
            if (m_chain.empty()) {
                m_chain.push_back(firstActive());
            }
            merges.push_back(nextPair());
            join(merges.back());
        }
        return merges;
    }

private:
    double at(std::size_t a, std::size_t b) const { return m_distances[a * m_items + b]; }

    std::size_t firstActive() const {
        return static_cast<std::size_t>(
            std::find_if(m_size.begin(), m_size.end(), [](int size) { return size > 0; }) -
            m_size.begin());
    }

    /// Walks the chain to two reciprocal neighbours and takes them off it.
    SlotMerge nextPair() {
        while (true) {
            const std::size_t x = m_chain.back();
            const bool hasPrevious = m_chain.size() > 1;
            std::size_t y = hasPrevious ? m_chain[m_chain.size() - 2] : x;
            double nearest = hasPrevious ? at(x, y) : std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < m_items; ++i) {
                if (m_size[i] > 0 && i != x && at(x, i) < nearest) {
                    nearest = at(x, i);
                    y = i;
                }
            }
            if (hasPrevious && y == m_chain[m_chain.size() - 2]) {
                m_chain.resize(m_chain.size() - 2);
                return {std::min(x, y), std::max(x, y), nearest};
            }
            m_chain.push_back(y);
        }
    }

    void join(const SlotMerge& merge) {
        const double sizeA = m_size[merge.a], sizeB = m_size[merge.b];
        m_size[merge.a] = 0;
        m_size[merge.b] = static_cast<int>(sizeA + sizeB);
        for (std::size_t i = 0; i < m_items; ++i) {
            if (m_size[i] > 0 && i != merge.b) {
                const double mean =
                    (sizeA * at(i, merge.a) + sizeB * at(i, merge.b)) / (sizeA + sizeB);
                m_distances[i * m_items + merge.b] = m_distances[merge.b * m_items + i] = mean;
            }
        }
    }

    std::size_t m_items;
    std::vector<double> m_distances;
    std::vector<int> m_size; ///< 0 = merged into another slot
    std::vector<std::size_t> m_chain;
};

/// Numbers clusters in the order of their merges.
std::vector<ClusterMerge> numbered(const std::vector<SlotMerge>& slots, std::size_t items) {
    std::vector<int> parent(2 * items), size(2 * items, 1);
    std::iota(parent.begin(), parent.end(), 0);
    const auto rootOf = [&](std::size_t slot) {
        auto id = slot;
        while (static_cast<std::size_t>(parent[id]) != id) {
            id = static_cast<std::size_t>(parent[id]);
        }
        return static_cast<int>(id);
    };
    std::vector<ClusterMerge> merges;
    for (const SlotMerge& slot : slots) {
        const int x = rootOf(slot.a), y = rootOf(slot.b);
        const std::size_t id = items + merges.size();
        size[id] = size[static_cast<std::size_t>(x)] + size[static_cast<std::size_t>(y)];
        parent[static_cast<std::size_t>(x)] = parent[static_cast<std::size_t>(y)] =
            static_cast<int>(id);
        merges.push_back({std::min(x, y), std::max(x, y), slot.distance, size[id]});
    }
    return merges;
}

std::vector<int> leavesOf(const std::vector<ClusterMerge>& merges, std::size_t items) {
    std::vector<int> order;
    std::vector<int> open;
    if (items > 0) {
        open.push_back(static_cast<int>(items + merges.size()) - 1);
    }
    while (!open.empty()) {
        const int id = open.back();
        open.pop_back();
        if (id < static_cast<int>(items)) {
            order.push_back(id);
            continue;
        }
        const ClusterMerge& merge = merges[static_cast<std::size_t>(id) - items];
        open.push_back(merge.b); // the left one comes off first
        open.push_back(merge.a);
    }
    return order;
}

} // namespace

std::vector<double> jaccardDistances(std::span<const std::uint8_t> masks, std::size_t items) {
    if (items > 0 && masks.size() % items != 0) {
        throwInternal("Masks of heads must all have the same length.");
    }
    const BitRows rows(masks, items);
    std::vector<double> distances(items * items, 0.0);
    for (std::size_t a = 0; a < items; ++a) {
        for (std::size_t b = a + 1; b < items; ++b) {
            distances[a * items + b] = distances[b * items + a] = rows.distance(a, b);
        }
    }
    return distances;
}

HeadClusters averageLinkage(const std::vector<double>& distances, std::size_t items) {
    if (distances.size() != items * items) {
        throwInternal("Clustering needs a square matrix of distances.");
    }
    std::vector<SlotMerge> slots = NeighbourChain(distances, items).run();
    std::stable_sort(slots.begin(), slots.end(), [](const SlotMerge& x, const SlotMerge& y) {
        return x.distance < y.distance;
    });
    HeadClusters clusters;
    clusters.merges = numbered(slots, items);
    clusters.order = leavesOf(clusters.merges, items);
    return clusters;
}

std::vector<int> cutClusters(const HeadClusters& clusters, double distance) {
    const std::size_t items = clusters.order.size();
    std::vector<std::vector<int>> members(items + clusters.merges.size());
    for (std::size_t item = 0; item < items; ++item) {
        members[item] = {static_cast<int>(item)};
    }
    std::vector<int> top(items);
    std::iota(top.begin(), top.end(), 0);
    for (std::size_t i = 0; i < clusters.merges.size(); ++i) {
        const ClusterMerge& merge = clusters.merges[i];
        auto& joined = members[items + i];
        for (const int part : {merge.a, merge.b}) {
            const auto& from = members[static_cast<std::size_t>(part)];
            joined.insert(joined.end(), from.begin(), from.end());
        }
        for (const int item : joined) {
            if (merge.distance <= distance) {
                top[static_cast<std::size_t>(item)] = static_cast<int>(items + i);
            }
        }
    }
    std::vector<int> label(items), known;
    for (std::size_t item = 0; item < items; ++item) {
        const auto found = std::find(known.begin(), known.end(), top[item]);
        label[item] = static_cast<int>(found - known.begin());
        if (found == known.end()) {
            known.push_back(top[item]);
        }
    }
    return label;
}

} // namespace ecokv::analysis

// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/geometry_summary.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace ecokv::analysis {

namespace {

constexpr double kNearlyTheSame = 0.3; ///< Jaccard distance up to which heads keep "nearly" alike
constexpr std::size_t kNamed = 3;      ///< heads named in a sentence

std::string nameOf(const RankedHead& head) {
    return fmt::format("layer {} head {} ({:.2f})", head.layer, head.kvHead, head.value);
}

/// "layer 2 head 1 (0.91), layer 0 head 3 (0.88)"
std::string namesOf(std::vector<RankedHead>::const_iterator begin, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += i > 0 ? ", " : "";
        text += nameOf(begin[static_cast<std::ptrdiff_t>(i)]);
    }
    return text;
}

void describeRedundancy(const GeometryTable& table, std::vector<std::string>& lines) {
    auto ranked = rankedHeads(table, "redundancy_cosine");
    if (ranked.empty()) {
        return;
    }
    const std::size_t count = std::min(kNamed, ranked.size());
    lines.push_back(fmt::format("Most redundant (mean cosine of two keys): {}.",
                                namesOf(ranked.begin(), count)));
    std::reverse(ranked.begin(), ranked.end());
    lines.push_back(fmt::format("Least redundant: {}.", namesOf(ranked.begin(), count)));
}

void describeKinds(const GeometryTable& table, std::vector<std::string>& lines) {
    if (const auto alike = contrast(table, "redundancy_cosine_image", "redundancy_cosine_text")) {
        lines.push_back(fmt::format("Image tokens are more alike than text tokens in {} of {} "
                                    "heads (mean redundancy {:.2f} against {:.2f}).",
                                    alike->more, alike->heads, alike->first, alike->second));
    }
    if (const auto spread =
            contrast(table, "participation_ratio_image", "participation_ratio_text")) {
        lines.push_back(fmt::format("Image keys use {:.1f} effective dimensions of {}, text keys "
                                    "{:.1f} (means over heads).",
                                    spread->first, table.dim, spread->second));
    }
}

void describeRotation(const GeometryTable& table, std::vector<std::string>& lines) {
    if (const auto undone = contrast(table, "redundancy_cosine_pre", "redundancy_cosine")) {
        lines.push_back(fmt::format(
            "Undoing RoPE moves the mean redundancy from {:.2f} to {:.2f}; it grows in {} of {} "
            "heads.",
            undone->second, undone->first, undone->more, undone->heads));
    }
    if (const auto ratio = contrast(table, "participation_ratio_pre", "participation_ratio")) {
        lines.push_back(fmt::format("Effective dimensions with RoPE {:.1f}, without {:.1f}.",
                                    ratio->second, ratio->first));
    }
}

/// Mean over heads of what `pick` takes from a relation, NaN left out.
template <class Pick>
double meanOf(const std::vector<ImportanceRelation>& relations, const Pick& pick) {
    double sum = 0, count = 0;
    for (const ImportanceRelation& relation : relations) {
        const double value = pick(relation);
        if (std::isfinite(value)) {
            sum += value;
            ++count;
        }
    }
    return count > 0 ? sum / count : std::nan("");
}

void describeRelations(const std::vector<ImportanceRelation>& relations,
                       std::vector<std::string>& lines) {
    if (relations.empty()) {
        return;
    }
    lines.push_back(fmt::format(
        "Importance against diversity, mean over heads: Spearman {:+.2f} (cosine), {:+.2f} "
        "(Euclid), {:+.2f} (composite); mutual information {:.2f} nats (composite).",
        meanOf(relations, [](const auto& r) { return r.cosine.spearman; }),
        meanOf(relations, [](const auto& r) { return r.euclid.spearman; }),
        meanOf(relations, [](const auto& r) { return r.composite.spearman; }),
        meanOf(relations, [](const auto& r) { return r.composite.mutualInformation; })));
    lines.push_back(fmt::format(
        "Cosine and Euclid order the tokens differently by {:.2f} (0 = same order, 1 = unrelated, "
        "2 = reversed).",
        meanOf(relations, [](const auto& r) { return r.rankDisagreement; })));
}

void describeClusters(const SurvivorClusters& survivors, std::vector<std::string>& lines) {
    const std::vector<int> labels = cutClusters(survivors.clusters, kNearlyTheSame);
    std::map<int, std::int64_t> sizes;
    for (const int label : labels) {
        ++sizes[label];
    }
    std::int64_t largest = 0;
    for (const auto& [label, size] : sizes) {
        largest = std::max(largest, size);
    }
    lines.push_back(fmt::format("By what policy {} keeps, the {} heads fall into {} groups of "
                                "nearly equal survivors (Jaccard distance up to {}); the largest "
                                "has {} heads.",
                                survivors.policy, labels.size(), sizes.size(), kNearlyTheSame,
                                largest));
}

} // namespace

std::optional<GeometryContrast> contrast(const GeometryTable& table, const std::string& first,
                                         const std::string& second) {
    if (!table.has(first) || !table.has(second)) {
        return std::nullopt;
    }
    const auto& a = table.metrics.at(first);
    const auto& b = table.metrics.at(second);
    GeometryContrast result;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const bool counts = table.counts(static_cast<std::int64_t>(i) / table.kvHeads);
        if (counts && std::isfinite(a[i]) && std::isfinite(b[i])) {
            result.first += static_cast<double>(a[i]);
            result.second += static_cast<double>(b[i]);
            result.more += a[i] > b[i] ? 1 : 0;
            ++result.heads;
        }
    }
    if (result.heads == 0) {
        return std::nullopt;
    }
    result.first /= static_cast<double>(result.heads);
    result.second /= static_cast<double>(result.heads);
    return result;
}

std::vector<RankedHead> rankedHeads(const GeometryTable& table, const std::string& metric) {
    std::vector<RankedHead> heads;
    for (std::int64_t head = 0; head < table.layers * table.kvHeads; ++head) {
        const std::int64_t layer = head / table.kvHeads, kvHead = head % table.kvHeads;
        const auto value = static_cast<double>(table.value(metric, layer, kvHead));
        if (table.counts(layer) && std::isfinite(value)) {
            heads.push_back({layer, kvHead, value});
        }
    }
    std::stable_sort(heads.begin(), heads.end(),
                     [](const RankedHead& a, const RankedHead& b) { return a.value > b.value; });
    return heads;
}

SurvivorClusters clusterSurvivors(const trace::Dimensions& d, const NamedSurvivors& survivors,
                                  std::int64_t layer) {
    if (layer < -1 || layer >= d.layers) {
        throwUsage(fmt::format("There is no layer {} among {}.", layer, d.layers),
                   fmt::format("Give 0 to {}, or -1 for all layers.", d.layers - 1));
    }
    SurvivorClusters result;
    result.policy = survivors.policy;
    result.layer = layer;
    result.firstHead = layer < 0 ? 0 : layer * d.kvHeads;
    const std::int64_t end = result.firstHead + (layer < 0 ? d.layers * d.kvHeads : d.kvHeads);
    const std::vector<bool> counted = survivors.kinds.counted(d.layers);
    std::vector<std::uint8_t> masks;
    for (std::int64_t head = result.firstHead; head < end; ++head) {
        const std::int64_t of = head / d.kvHeads;
        const bool asked =
            layer < 0 ? counted[static_cast<std::size_t>(of)] : !survivors.kinds.isLinear(of);
        if (asked) {
            const auto first = survivors.kept.begin() + head * d.tokens;
            result.heads.push_back(head);
            masks.insert(masks.end(), first, first + d.tokens);
        }
    }
    result.distances = jaccardDistances(masks, result.heads.size());
    result.clusters = averageLinkage(result.distances, result.heads.size());
    return result;
}

std::vector<std::string> describeGeometry(const GeometryTable& table,
                                          const std::vector<ImportanceRelation>& relations,
                                          const std::optional<SurvivorClusters>& survivors) {
    std::vector<std::string> lines;
    describeRedundancy(table, lines);
    describeKinds(table, lines);
    describeRotation(table, lines);
    std::vector<ImportanceRelation> own = relations;
    std::erase_if(own, [&](const auto& relation) { return !table.counts(relation.layer); });
    describeRelations(own, lines);
    if (table.leftOut() > 0) {
        lines.push_back(fmt::format("Left out of these lines: {} of {} layers (not evicted).",
                                    table.leftOut(), table.layers));
    }
    if (survivors) {
        describeClusters(*survivors, lines);
    }
    return lines;
}

} // namespace ecokv::analysis

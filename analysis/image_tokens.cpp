// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/image_tokens.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace ecokv::analysis {

namespace {

/// Edges that differ by less come from rounding of the same line.
constexpr float kSnap = 1.0F / 16;

bool isPlaced(const std::array<float, 4>& box) {
    const bool finite = std::ranges::all_of(box, [](float edge) { return std::isfinite(edge); });
    return finite && box[2] > box[0] && box[3] > box[1];
}

void count(TokenCount& tokens, float share) {
    ++tokens.all;
    tokens.kept += share > 0 ? 1 : 0;
}

/// Edges along one axis, ascending, each once.
std::vector<float> edgesOf(std::span<const PatchToken> patches, std::size_t axis) {
    std::vector<float> edges;
    for (const PatchToken& patch : patches) {
        edges.push_back(patch.box[axis]);
        edges.push_back(patch.box[axis + 2]);
    }
    std::ranges::sort(edges);
    const auto rest =
        std::unique(edges.begin(), edges.end(), [](float a, float b) { return b - a < kSnap; });
    edges.erase(rest, edges.end());
    return edges;
}

/// The number of the edge that `value` was merged into.
std::size_t edgeAt(const std::vector<float>& edges, float value) {
    const auto next = std::upper_bound(edges.begin(), edges.end(), value);
    return static_cast<std::size_t>(std::max<std::ptrdiff_t>(next - edges.begin() - 1, 0));
}

/// The picture cut along every edge of every patch.
class CoverGrid {
public:
    explicit CoverGrid(std::span<const PatchToken> patches)
        : m_x(edgesOf(patches, 0)), m_y(edgesOf(patches, 1)),
          m_share((m_x.size() - 1) * (m_y.size() - 1), -1.0F) {
        for (const PatchToken& patch : patches) {
            add(patch);
        }
    }

    bool overlaps() const { return m_overlaps; }

    /// Cells of a row that share a fate are one area.
    std::vector<PatchArea> areas() const {
        std::vector<PatchArea> areas;
        const std::size_t columns = m_x.size() - 1;
        for (std::size_t row = 0; row + 1 < m_y.size(); ++row) {
            for (std::size_t begin = 0, end = 0; begin < columns; begin = end) {
                const float share = m_share[row * columns + begin];
                for (end = begin + 1; end < columns && m_share[row * columns + end] == share;) {
                    ++end;
                }
                if (share >= 0) {
                    areas.push_back({{m_x[begin], m_y[row], m_x[end], m_y[row + 1]}, share});
                }
            }
        }
        return areas;
    }

private:
    void add(const PatchToken& patch) {
        const std::size_t columns = m_x.size() - 1;
        const std::size_t right = edgeAt(m_x, patch.box[2]), bottom = edgeAt(m_y, patch.box[3]);
        for (std::size_t row = edgeAt(m_y, patch.box[1]); row < bottom; ++row) {
            for (std::size_t column = edgeAt(m_x, patch.box[0]); column < right; ++column) {
                float& share = m_share[row * columns + column];
                m_overlaps = m_overlaps || share >= 0;
                share = std::max(share, patch.share);
            }
        }
    }

    std::vector<float> m_x, m_y;
    std::vector<float> m_share; ///< [row, column] -1 = no patch sees it
    bool m_overlaps = false;
};

} // namespace

PatchRole patchRoleOf(std::uint8_t role) {
    return role <= static_cast<std::uint8_t>(PatchRole::Thumbnail) ? static_cast<PatchRole>(role)
                                                                   : PatchRole::Patch;
}

ImageTokens imageTokens(const TraceDocument& document, std::int64_t image,
                        std::span<const float> share, PatchView view) {
    const auto images = std::ssize(document.images);
    if (image < 0 || image >= images || !document.prompt) {
        throwUsage(fmt::format("The trace {} has no image {}; it holds {}.", document.path.string(),
                               image, images),
                   "Images count from 0.");
    }
    const trace::PromptRecord& prompt = *document.prompt;
    ImageTokens tokens;
    for (std::size_t i = 0; i < std::min(share.size(), prompt.imageIndex.size()); ++i) {
        if (prompt.imageIndex[i] != image) {
            continue;
        }
        const PatchRole role = patchRoleOf(prompt.patchRole[i]);
        if (role == PatchRole::Newline || role == PatchRole::Separator) {
            count(role == PatchRole::Newline ? tokens.newlines : tokens.separators, share[i]);
        } else if (!isPlaced(prompt.patchBox[i])) {
            count(tokens.unplaced, share[i]);
        } else {
            (role == PatchRole::Patch ? tokens.hasTiles : tokens.hasThumbnail) = true;
            tokens.patches.push_back(
                {static_cast<std::int64_t>(i), prompt.patchBox[i], share[i], role});
        }
    }
    if (view != PatchView::Both && tokens.hasTiles && tokens.hasThumbnail) {
        const PatchRole other = view == PatchView::Tiles ? PatchRole::Thumbnail : PatchRole::Patch;
        std::erase_if(tokens.patches,
                      [other](const PatchToken& patch) { return patch.role == other; });
    }
    return tokens;
}

bool seesPicturesTwice(const TraceDocument& document) {
    std::vector<std::uint8_t> roles(document.images.size(), 0); // 1 tiles, 2 thumbnail
    const trace::PromptRecord prompt = document.prompt.value_or(trace::PromptRecord());
    for (std::size_t i = 0; i < prompt.imageIndex.size(); ++i) {
        const PatchRole role = patchRoleOf(prompt.patchRole[i]);
        const bool known = prompt.imageIndex[i] >= 0 && isPlaced(prompt.patchBox[i]);
        if (known && (role == PatchRole::Patch || role == PatchRole::Thumbnail)) {
            roles.at(static_cast<std::size_t>(prompt.imageIndex[i])) |=
                role == PatchRole::Patch ? 1 : 2;
        }
    }
    return std::ranges::find(roles, 3) != roles.end();
}

std::vector<PatchArea> coverOf(std::span<const PatchToken> patches) {
    std::vector<PatchArea> areas;
    if (patches.empty()) {
        return areas;
    }
    const CoverGrid grid(patches);
    if (grid.overlaps()) {
        return grid.areas();
    }
    for (const PatchToken& patch : patches) {
        areas.push_back({patch.box, patch.share});
    }
    return areas;
}

} // namespace ecokv::analysis

// SPDX-License-Identifier: GPL-3.0-or-later
// What a head map says of its numbers: means beside it, the line under its title, cells in words.
#include "ui/plots/head_map_figure.h"
#include "ui/plots/paint_tools.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ecokv::ui {
namespace {

/// Mean of the finite values of every `stride`-th entry from `first`.
float finiteMean(const std::vector<float>& values, int first, int stride, int count) {
    double sum = 0;
    int finite = 0;
    for (int i = 0; i < count; ++i) {
        const float value = values[static_cast<std::size_t>(first + i * stride)];
        if (std::isfinite(value)) {
            sum += value;
            ++finite;
        }
    }
    return finite > 0 ? static_cast<float>(sum / finite) : std::numeric_limits<float>::quiet_NaN();
}

} // namespace

/// Of the layers that count.
std::vector<float> HeadMapFigure::countedValues() const {
    if (m_data.counted.empty()) {
        return m_data.values;
    }
    std::vector<float> own;
    for (std::size_t i = 0; i < m_data.values.size(); ++i) {
        if (m_data.counted[i / static_cast<std::size_t>(m_data.kvHeads)]) {
            own.push_back(m_data.values[i]);
        }
    }
    return own;
}

std::vector<float> HeadMapFigure::layerMeans() const {
    std::vector<float> means;
    for (int layer = 0; layer < m_data.layers; ++layer) {
        means.push_back(finiteMean(m_data.values, layer * m_data.kvHeads, 1, m_data.kvHeads));
    }
    return means;
}

std::vector<float> HeadMapFigure::headMeans() const {
    const std::vector<float> own = countedValues();
    const int layers = m_data.kvHeads > 0 ? static_cast<int>(own.size()) / m_data.kvHeads : 0;
    std::vector<float> means;
    for (int kvHead = 0; kvHead < m_data.kvHeads; ++kvHead) {
        means.push_back(finiteMean(own, kvHead, m_data.kvHeads, layers));
    }
    return means;
}

QString HeadMapFigure::summary() const {
    const std::vector<float> own = countedValues();
    const auto finite = [](float value) { return std::isfinite(value); };
    const auto measured = std::count_if(own.begin(), own.end(), finite);
    if (measured == 0) {
        return tr("no value measured");
    }
    const auto extent = ValueRange::ofFinite(own);
    const QString text = tr("%1 heads · lowest %2 · highest %3 · mean %4")
                             .arg(measured)
                             .arg(shortNumber(extent.low), shortNumber(extent.high),
                                  shortNumber(finiteMean(own, 0, 1, static_cast<int>(own.size()))));
    return m_data.slidingLeftOut > 0
               ? text + tr(" · sliding layers left out: %1").arg(m_data.slidingLeftOut)
               : text;
}

QString HeadMapFigure::valueLabel() const {
    return m_data.unit.isEmpty() ? m_data.metricLabel
                                 : m_data.metricLabel + QStringLiteral(" (%1)").arg(m_data.unit);
}

bool HeadMapFigure::isLinear(int layer) const {
    const auto at = static_cast<std::size_t>(layer);
    return at < m_data.linearLayers.size() && m_data.linearLayers[at] != 0;
}

QString HeadMapFigure::missingText() const {
    bool linear = false, unmeasured = false;
    for (int layer = 0; layer < m_data.layers; ++layer) {
        for (int kvHead = 0; kvHead < m_data.kvHeads; ++kvHead) {
            const bool missing = !std::isfinite(value({layer, kvHead}));
            linear = linear || (missing && isLinear(layer));
            unmeasured = unmeasured || (missing && !isLinear(layer));
        }
    }
    if (linear && unmeasured) {
        return tr("no KV cache, or not measured");
    }
    return linear ? tr("no KV cache (linear attention)") : tr("not measured");
}

QString HeadMapFigure::describe(const HeadCell& cell) const {
    const float number = value(cell);
    if (isLinear(cell.layer)) {
        return tr("layer %1, head %2: no KV cache (linear attention)")
            .arg(cell.layer)
            .arg(cell.kvHead);
    }
    const QString shown = std::isfinite(number) ? shortNumber(number) : tr("not measured");
    return tr("layer %1, head %2: %3 %4")
        .arg(cell.layer)
        .arg(cell.kvHead)
        .arg(m_data.metricLabel, shown);
}

} // namespace ecokv::ui

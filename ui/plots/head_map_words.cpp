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

std::vector<float> HeadMapFigure::countedValues() const {
    std::vector<float> values = m_data.values;
    for (std::size_t i = 0; i < values.size() && !m_data.counted.empty(); ++i) {
        if (!m_data.counted[i / static_cast<std::size_t>(m_data.kvHeads)]) {
            values[i] = std::numeric_limits<float>::quiet_NaN();
        }
    }
    return values;
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
    std::vector<float> means;
    for (int kvHead = 0; kvHead < m_data.kvHeads; ++kvHead) {
        means.push_back(finiteMean(own, kvHead, m_data.kvHeads, m_data.layers));
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

QString HeadMapFigure::missingText() const {
    bool linear = false, damaged = false, unmeasured = false;
    for (int layer = 0; layer < m_data.layers; ++layer) {
        for (int kvHead = 0; kvHead < m_data.kvHeads; ++kvHead) {
            if (!std::isfinite(value({layer, kvHead}))) {
                const bool isLinear = m_data.linearLayers.contains(layer);
                const bool isDamaged = m_data.notFinite.contains(layer);
                linear = linear || isLinear;
                damaged = damaged || isDamaged;
                unmeasured = unmeasured || !(isLinear || isDamaged);
            }
        }
    }
    QStringList reasons;
    if (linear) {
        reasons << (damaged || unmeasured ? tr("no KV cache")
                                          : tr("no KV cache (linear attention)"));
    }
    if (damaged) {
        reasons << tr("not finite (NaN or Inf)");
    }
    if (unmeasured) {
        reasons << tr("not measured");
    }
    return reasons.join(tr(", or "));
}

QString HeadMapFigure::describe(const HeadCell& cell) const {
    const float number = value(cell);
    if (m_data.linearLayers.contains(cell.layer)) {
        return tr("layer %1, head %2: no KV cache (linear attention)")
            .arg(cell.layer)
            .arg(cell.kvHead);
    }
    const QString missing =
        m_data.notFinite.contains(cell.layer) ? tr("not finite (NaN or Inf)") : tr("not measured");
    const QString shown = std::isfinite(number) ? shortNumber(number) : missing;
    return tr("layer %1, head %2: %3 %4")
        .arg(cell.layer)
        .arg(cell.kvHead)
        .arg(m_data.metricLabel, shown);
}

} // namespace ecokv::ui

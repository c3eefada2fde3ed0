#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A figure is an immutable value that draws itself: widgets, exports and `--render` all go through
// the same paint(). May be drawn on any thread. Lengths are logical pixels.

#include "ui/plots/theme.h"

#include <QPainter>
#include <QRectF>
#include <QString>

#include <functional>
#include <memory>

namespace ecokv::ui {

/// Where a figure comes from; set once, before the figure is shared.
struct FigureSource {
    QString provenance;           ///< "demo-model, 269 tokens, ecokv budget 48": below exports
    std::function<QString()> csv; ///< the data, made when asked for
};

class Figure {
public:
    explicit Figure(FigureSource source) : m_source(std::move(source)) {}
    virtual ~Figure() = default;
    Figure(const Figure&) = delete;
    Figure& operator=(const Figure&) = delete;

    /// Draws everything but the background inside `area`; resolution-independent.
    virtual void paint(QPainter& painter, const QRectF& area, const Theme& theme) const = 0;
    virtual QString title() const = 0;
    /// Height at which nothing is empty or squeezed at this width; 0 = any will do.
    virtual double preferredHeight(double width, const Theme& theme) const;
    /// Height below which something would be cut at this width; 0 = never.
    virtual double minimumHeight(double width, const Theme& theme) const;

    const QString& provenance() const { return m_source.provenance; }
    /// The data behind the figure as CSV, "" if there is none.
    QString csv() const { return m_source.csv ? m_source.csv() : QString(); }

private:
    FigureSource m_source;
};

using FigurePtr = std::shared_ptr<const Figure>;

} // namespace ecokv::ui

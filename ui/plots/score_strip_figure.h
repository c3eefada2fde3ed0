#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A score strip as a figure. QCustomPlot is a widget and stays on the GUI thread, so the strip is
// recorded there as vectors, light and dark, when the figure is made; workers replay the recording
// at any size. Made on the GUI thread; drawn on any. Private to ui/plots.

#include "ui/plots/figure.h"

#include <QPicture>

#include <functional>
#include <mutex>

namespace ecokv::ui {

struct ScoreStripRecording {
    QString title, subtitle;
    /// Draws the strip at a size; called on the GUI thread only.
    std::function<QPicture(const Theme& theme, const QSize& size)> record;
};

class ScoreStripFigure final : public Figure {
public:
    ScoreStripFigure(ScoreStripRecording recording, FigureSource source);

    void paint(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    QString title() const override { return m_recording.title; }
    double preferredHeight(double width, const Theme& theme) const override;
    double minimumHeight(double width, const Theme& theme) const override;

private:
    void replay(QPainter& painter, const QRectF& area, const QPicture& picture) const;

    ScoreStripRecording m_recording;
    QPicture m_light, m_dark;    ///< for other threads
    mutable std::mutex m_replay; ///< replaying moves a cursor within the recording
};

} // namespace ecokv::ui

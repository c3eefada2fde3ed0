#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Tokens per KV head over the steps of an answer as a widget; a tooltip names the step under the
// cursor. GUI thread only.

#include "ui/plots/cache_length_figure.h"
#include "ui/plots/figure_widget.h"

namespace ecokv::ui {

class CacheLengthPlot : public FigureWidget {
    Q_OBJECT

public:
    explicit CacheLengthPlot(QWidget* parent = nullptr);

    void setFigure(std::shared_ptr<const CacheLengthFigure> figure); ///< null = empty
    FigurePtr figure() const override { return m_figure; }
    /// What the tooltip says at a place of the widget, "" for nothing.
    QString toolTipAt(const QPointF& at) const;

    QSize sizeHint() const override { return {560, 220}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    std::shared_ptr<const CacheLengthFigure> m_figure;
};

} // namespace ecokv::ui

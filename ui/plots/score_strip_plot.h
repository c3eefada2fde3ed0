#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Importance, diversity and score of one head along the prompt, with the survivors as a rug below
// and the pictures shaded. Hover names a token, click selects it; wheel or +/- zooms, drag or arrow
// keys pan, Home and End go to the ends, Shift+arrow selects the neighbour, 0 or a double click
// shows all. GUI thread only.

#include "analysis/token_series.h"
#include "ui/plots/figure_widget.h"

#include <memory>
#include <utility>

namespace ecokv::ui {

class ScoreStripCanvas;

struct ScoreStripData {
    std::shared_ptr<const analysis::TraceDocument> document;
    analysis::TokenSeries series;
};

class ScoreStripPlot : public FigureWidget {
    Q_OBJECT

public:
    explicit ScoreStripPlot(QWidget* parent = nullptr);

    /// null = empty. The visible tokens stay while the prompt has the same length.
    void setData(std::shared_ptr<const ScoreStripData> data);
    FigurePtr figure() const override;
    void setSelectedToken(qint64 token); ///< -1 = none; tells nobody
    void setHoveredToken(qint64 token);  ///< hovered elsewhere; -1 = none
    void setLogImportance(bool on);      ///< on at first; zeros get a lane of their own
    void showAll();

    /// The first and last position visible, between tokens: -0.5 is left of token 0.
    std::pair<double, double> visibleTokens() const;
    /// What a token's line says: "token 7 “Total” · importance 0.012 · ... · kept".
    QString describe(qint64 token) const;

    QSize sizeHint() const override { return {560, 240}; }

Q_SIGNALS:
    void tokenHovered(qint64 token); ///< -1: none
    void tokenSelected(qint64 token);

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    bool event(QEvent* event) override;
    void themeChanged() override;
    void extendMenu(QMenu& menu) override;

private:
    void setUpMouse();
    void hover(qint64 token);
    void select(qint64 token);
    void release(const QPointF& at);
    void zoom(double factor);
    void pan(double share); ///< of the visible width, to the right
    void showReadout();

    std::shared_ptr<const ScoreStripData> m_data;
    QString m_readout; ///< line above the panels
    ScoreStripCanvas* m_canvas;
    qint64 m_selected = -1, m_hovered = -1;
    QPointF m_pressed;
};

} // namespace ecokv::ui

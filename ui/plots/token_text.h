#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The token text as a scrolling widget; only the visible lines are drawn, so that very long
// prompts stay fluid (field case F153). GUI thread only.

#include "ui/plots/figure_widget.h"
#include "ui/plots/token_text_figure.h"

class QScrollBar;

namespace ecokv::ui {

class TokenText : public FigureWidget {
    Q_OBJECT

public:
    explicit TokenText(QWidget* parent = nullptr);

    void setFigure(std::shared_ptr<const TokenTextFigure> figure); ///< null = empty
    FigurePtr figure() const override { return m_figure; }
    void setSelectedToken(qint64 token); ///< -1 = none; scrolls there, tells nobody
    void setHoveredToken(qint64 token);  ///< hovered elsewhere; -1 = none

    QSize sizeHint() const override { return {480, 200}; }

Q_SIGNALS:
    void tokenHovered(qint64 token); ///< -1: none; the first of a run
    void tokenSelected(qint64 token);

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void themeChanged() override;

private:
    void relayout();
    QPointF textOrigin() const;
    std::optional<std::size_t> indexAt(const QPointF& position) const;
    std::optional<std::size_t> indexOf(qint64 token) const;
    void scrollTo(std::size_t index);
    void select(std::size_t index);

    std::shared_ptr<const TokenTextFigure> m_figure;
    TokenLayout m_layout;
    QScrollBar* m_scrollBar;
    qint64 m_selected = -1, m_hovered = -1;
};

} // namespace ecokv::ui

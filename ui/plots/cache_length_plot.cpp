// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/cache_length_plot.h"

#include <QHelpEvent>
#include <QPainter>
#include <QToolTip>

namespace ecokv::ui {

CacheLengthPlot::CacheLengthPlot(QWidget* parent) : FigureWidget(parent) {
    setAccessibleName(tr("Tokens per KV head at every step of the answer"));
}

void CacheLengthPlot::setFigure(std::shared_ptr<const CacheLengthFigure> figure) {
    m_figure = std::move(figure);
    update();
}

QString CacheLengthPlot::toolTipAt(const QPointF& at) const {
    if (!m_figure) {
        return {};
    }
    const auto step = m_figure->stepAt(at, m_figure->plotRect(figureArea(), theme()));
    const auto& labels = m_figure->data().labels;
    return step && *step < labels.size() ? labels[*step] : QString();
}

void CacheLengthPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (paintBase(painter)) {
        m_figure->paint(painter, figureArea(), theme());
    }
}

bool CacheLengthPlot::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) {
        return FigureWidget::event(event);
    }
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), toolTipAt(help->pos()), this);
    return true;
}

} // namespace ecokv::ui

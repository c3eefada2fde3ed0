// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/figure_widget.h"

#include "ui/plots/figure_export.h"
#include "ui/plots/paint_tools.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QMenu>
#include <QMimeData>

namespace ecokv::ui {

FigureWidget::FigureWidget(QWidget* parent)
    : QWidget(parent), m_theme(Theme::forPalette(palette())),
      m_emptyText(tr("Nothing to show yet.")) {
    setMinimumSize(200, 140);
}

void FigureWidget::setEmptyText(const QString& text) {
    m_emptyText = text;
    update();
}

void FigureWidget::copyFigure() const {
    const auto shown = figure();
    if (!shown) {
        return;
    }
    ExportOptions options;
    options.width = width();
    options.height = height();
    options.theme = m_theme;
    auto data = std::make_unique<QMimeData>();
    data->setImageData(renderImage(*shown, options));
    data->setData(QStringLiteral("image/svg+xml"), renderSvg(*shown, options));
    QGuiApplication::clipboard()->setMimeData(data.release());
}

void FigureWidget::copyData() const {
    if (const auto shown = figure()) {
        QGuiApplication::clipboard()->setText(shown->csv());
    }
}

void FigureWidget::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange) {
        m_theme = Theme::forPalette(palette());
        themeChanged();
        update();
    }
    QWidget::changeEvent(event);
}

void FigureWidget::contextMenuEvent(QContextMenuEvent* event) {
    QMenu menu(this);
    extendMenu(menu);
    const bool hasFigure = figure() != nullptr;
    menu.addAction(tr("&Copy figure"), this, &FigureWidget::copyFigure)->setEnabled(hasFigure);
    menu.addAction(tr("Copy &data (CSV)"), this, &FigureWidget::copyData)->setEnabled(hasFigure);
    menu.addAction(tr("&Export figure…"), this, &FigureWidget::exportRequested)
        ->setEnabled(hasFigure);
    menu.exec(event->globalPos());
}

bool FigureWidget::paintBase(QPainter& painter) const {
    painter.fillRect(rect(), m_theme.background);
    if (figure()) {
        return true;
    }
    painter.setPen(m_theme.mutedText);
    painter.setFont(m_theme.font(TextRole::Label));
    painter.drawText(rect().adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap,
                     m_emptyText);
    return false;
}

QRectF FigureWidget::figureArea() const {
    return QRectF(rect()).adjusted(12, 10, -12, -10);
}

void FigureWidget::extendMenu(QMenu&) {}

} // namespace ecokv::ui

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Base of the plot widgets: theme (follows the palette), empty state, context menu with copy and
// export. GUI thread only.

#include "ui/plots/figure.h"

#include <QWidget>

class QMenu;

namespace ecokv::ui {

class FigureWidget : public QWidget {
    Q_OBJECT

public:
    explicit FigureWidget(QWidget* parent = nullptr);

    /// What is shown, to export it; null while empty.
    virtual FigurePtr figure() const = 0;

    const Theme& theme() const { return m_theme; }
    /// Says what to do next while there is no data.
    void setEmptyText(const QString& text);

    void copyFigure() const; ///< picture and vector form on the clipboard
    void copyData() const;   ///< the CSV on the clipboard

Q_SIGNALS:
    /// "Export..." was chosen; the page asks for a file and writes it on a worker
    /// (figure_export.h).
    void exportRequested();

protected:
    void changeEvent(QEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    /// Background, and the empty text if figure() is null. Returns whether there is something to
    /// draw.
    bool paintBase(QPainter& painter) const;
    /// Space for the figure.
    QRectF figureArea() const;
    virtual void themeChanged() {}
    /// More entries for the context menu.
    virtual void extendMenu(QMenu& menu);

private:
    Theme m_theme;
    QString m_emptyText;
};

} // namespace ecokv::ui

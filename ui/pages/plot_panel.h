#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A plot with its table twin: the same data as picture or table, and the buttons to copy and export
// it.

#include "ui/plots/figure_widget.h"

#include <QWidget>

class QHBoxLayout;
class QStackedWidget;
class QTableView;
class QToolButton;

namespace ecokv::ui {

class PlotPanel : public QWidget {
    Q_OBJECT

public:
    /// Takes both; `table` null: no twin here.
    PlotPanel(FigureWidget* plot, QTableView* table, QWidget* parent = nullptr);

    FigureWidget* plot() const { return m_plot; }
    /// Puts a control left of the buttons.
    void addControl(QWidget* control);
    void showTable(bool on);
    bool showsTable() const;

Q_SIGNALS:
    void exportRequested(const ecokv::ui::FigurePtr& figure);

private:
    QToolButton* addButton(const QString& text, const QString& toolTip);
    void setUpSwitch(QTableView* table);
    void requestExport();
    void copy();

    FigureWidget* m_plot;
    QHBoxLayout* m_bar;
    QStackedWidget* m_stack;
    QToolButton* m_tableButton = nullptr;
    int m_controls = 0;
};

/// A read-only table with rows selected whole, sorted by header clicks, copied by Ctrl+C.
QTableView* makeTable(QWidget* parent = nullptr);
/// The selected rows (all if none is) as tab-separated text with a header line.
QString tableText(const QTableView& table);

} // namespace ecokv::ui

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What is in the file? Its path and state, and its datasets as a tree with shapes, types and sizes.

#include "ui/models/app_state.h"

#include <QWidget>

class QLabel;
class QStackedWidget;
class QTreeView;

namespace ecokv::ui {

class DatasetModel;

class TracePage : public QWidget {
    Q_OBJECT

public:
    explicit TracePage(AppState* state, QWidget* parent = nullptr);

Q_SIGNALS:
    void openRequested();

private:
    QWidget* makeContent();
    void showDocument();

    AppState* m_state;
    QStackedWidget* m_stack;
    QLabel* m_path;
    QLabel* m_problems;
    DatasetModel* m_model;
    QTreeView* m_tree;
};

} // namespace ecokv::ui

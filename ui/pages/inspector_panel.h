#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The right dock: numbers of the token under the cursor (or selected) and of the selected head,
// ready to copy.

#include "ui/models/inspector_model.h"
#include "ui/workers/head_loader.h"
#include "ui/workers/survival_loader.h"

#include <QWidget>

class QTableView;

namespace ecokv::ui {

class InspectorPanel : public QWidget {
    Q_OBJECT

public:
    struct Sources {
        AppState* state = nullptr;
        HeadLoader* head = nullptr;
        SurvivalLoader* survival = nullptr;
    };

    explicit InspectorPanel(const Sources& sources, QWidget* parent = nullptr);

private:
    void setUpTable();
    void follow();
    void refresh();
    void copy();

    Sources m_sources;
    InspectorModel* m_model;
    QTableView* m_table;
};

} // namespace ecokv::ui

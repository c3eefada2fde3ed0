#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Sliders with numbers for the selected layer and KV head, and a choice of policy where a trace
// holds several. Follows and changes the AppState.

#include "ui/models/app_state.h"

#include <QWidget>

class QComboBox;
class QLabel;
class QSlider;
class QSpinBox;

namespace ecokv::ui {

class HeadSelector : public QWidget {
    Q_OBJECT

public:
    explicit HeadSelector(AppState* state, QWidget* parent = nullptr);

    /// Greys out what a figure over many layers or heads does not depend on.
    void setScope(bool usesLayer, bool usesHead);

private:
    struct Axis {
        QLabel* label = nullptr;
        QSlider* slider = nullptr;
        QSpinBox* number = nullptr;
    };

    Axis makeAxis(const QString& name, const QString& toolTip);
    void setUpPolicies();
    void connectAxis(const Axis& axis);
    void refresh();
    void refreshPolicies();
    static void show(const Axis& axis, int value, std::int64_t count);

    AppState* m_state;
    Axis m_layer, m_head;
    QLabel* m_policyLabel = nullptr;
    QComboBox* m_policies = nullptr;
    bool m_refreshing = false;
};

} // namespace ecokv::ui

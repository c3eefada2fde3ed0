#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The controls of the eviction policy: scorer, budget, and behind "More" what most people leave
// alone. "default" in a field means the scorer's own default.

#include "session/run_config.h"

#include <QWidget>

class QComboBox;
class QDoubleSpinBox;
class QFormLayout;
class QLabel;
class QSpinBox;
class QToolButton;

namespace ecokv::ui {

class PolicyForm : public QWidget {
    Q_OBJECT

public:
    explicit PolicyForm(QWidget* parent = nullptr);

    policy::PolicyConfig config() const;
    void setConfig(const policy::PolicyConfig& config);
    /// How long the prompt is, 0 = not known: no larger budget can be asked for. One that was is
    /// lowered, which a line says, and comes back with a longer prompt (field case F036).
    void setPromptTokens(std::int64_t tokens);

Q_SIGNALS:
    void changed();

private:
    QSpinBox* addCount(QFormLayout* form, const QString& label, const QString& toolTip,
                       bool hasDefault);
    QDoubleSpinBox* addShare(QFormLayout* form, const QString& label, const QString& toolTip);
    QWidget* makeMore();
    void fillPolicies();
    void fillAllocators();
    void updatePolicy();
    void limitBudget();
    void connectChanges();

    QComboBox* m_scorer;
    QLabel* m_summary;
    QSpinBox* m_budget;
    QLabel* m_budgetNote;
    QToolButton* m_moreButton;
    QComboBox* m_allocator = nullptr;
    QSpinBox* m_window = nullptr;
    QSpinBox* m_recent = nullptr;
    QSpinBox* m_sink = nullptr;
    QSpinBox* m_pool = nullptr;
    QDoubleSpinBox* m_alpha = nullptr;
    QDoubleSpinBox* m_beta = nullptr;
    std::int64_t m_promptTokens = 0; ///< 0 = not known
    int m_wantedBudget = 0;          ///< as asked for, whatever the prompt allows
    policy::PolicyConfig m_hidden;   ///< settings without a field, as long as the policy stays
};

} // namespace ecokv::ui

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How the answer is generated and where: length, temperature, seed, device, number type, and
// whether the full cache answers too.

#include "session/run_config.h"

#include <QWidget>

class QCheckBox;
class QComboBox;
class QDoubleSpinBox;
class QSpinBox;

namespace ecokv::ui {

class GenerationForm : public QWidget {
    Q_OBJECT

public:
    explicit GenerationForm(QWidget* parent = nullptr);

    void read(session::RunConfig& config) const;
    void setConfig(const session::RunConfig& config);

Q_SIGNALS:
    void changed();

private:
    void setUpNumbers();
    void setUpChoices();

    QCheckBox* m_compare;
    QSpinBox* m_tokens;
    QDoubleSpinBox* m_temperature;
    QSpinBox* m_seed;
    QComboBox* m_device;
    QComboBox* m_dtype;
};

} // namespace ecokv::ui

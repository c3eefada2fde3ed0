// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/generation_form.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QSpinBox>

#include <limits>

namespace ecokv::ui {

GenerationForm::GenerationForm(QWidget* parent)
    : QWidget(parent), m_compare(new QCheckBox(tr("Answer from the &full cache too"))),
      m_tokens(new QSpinBox), m_temperature(new QDoubleSpinBox), m_seed(new QSpinBox),
      m_device(new QComboBox), m_dtype(new QComboBox) {
    setUpNumbers();
    setUpChoices();
    m_compare->setToolTip(tr("Decodes twice from the same prefill, to compare both answers"));
    auto* form = new QFormLayout(this);
    form->setContentsMargins(0, 0, 0, 0);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->addRow(m_compare);
    form->addRow(tr("A&t most"), m_tokens);
    form->addRow(tr("Te&mperature"), m_temperature);
    form->addRow(tr("See&d"), m_seed);
    form->addRow(tr("De&vice"), m_device);
    form->addRow(tr("&Numbers"), m_dtype);
    connect(m_compare, &QCheckBox::toggled, this, &GenerationForm::changed);
    for (QSpinBox* box : {m_tokens, m_seed}) {
        connect(box, &QSpinBox::valueChanged, this, &GenerationForm::changed);
    }
    connect(m_temperature, &QDoubleSpinBox::valueChanged, this, &GenerationForm::changed);
    for (QComboBox* box : {m_device, m_dtype}) {
        connect(box, &QComboBox::currentIndexChanged, this, &GenerationForm::changed);
    }
}

void GenerationForm::setUpNumbers() {
    m_tokens->setRange(1, 4096);
    m_tokens->setSuffix(tr(" new tokens"));
    m_tokens->setToolTip(tr("The answer ends here if the model does not end it before"));
    m_temperature->setRange(0.0, 5.0);
    m_temperature->setSingleStep(0.1);
    m_temperature->setLocale(QLocale::c()); // one decimal point everywhere (field case F156)
    m_temperature->setSpecialValueText(tr("0, greedy"));
    m_temperature->setToolTip(tr("0 takes the most likely token; more makes answers vary"));
    m_seed->setRange(0, std::numeric_limits<int>::max());
    m_seed->setToolTip(tr("Of sampling and of the random policy; the same seed, the same run"));
}

void GenerationForm::setUpChoices() {
    m_device->addItem(tr("Automatic"), int(session::DeviceChoice::Auto));
    m_device->addItem(tr("CPU"), int(session::DeviceChoice::Cpu));
    m_device->addItem(tr("GPU (CUDA)"), int(session::DeviceChoice::Cuda));
    m_device->setToolTip(tr("Where the model runs"));
    m_dtype->addItem(tr("Automatic"), int(session::DTypeChoice::Auto));
    m_dtype->addItem(tr("float32"), int(session::DTypeChoice::F32));
    m_dtype->addItem(tr("bfloat16"), int(session::DTypeChoice::BF16));
    m_dtype->setToolTip(tr("Number type of the model; scores are always float32"));
}

void GenerationForm::read(session::RunConfig& config) const {
    config.compareFull = m_compare->isChecked();
    config.maxNewTokens = m_tokens->value();
    config.temperature = m_temperature->value();
    config.policy.seed = static_cast<std::uint64_t>(m_seed->value());
    config.device = static_cast<session::DeviceChoice>(m_device->currentData().toInt());
    config.dtype = static_cast<session::DTypeChoice>(m_dtype->currentData().toInt());
}

void GenerationForm::setConfig(const session::RunConfig& config) {
    m_compare->setChecked(config.compareFull);
    m_tokens->setValue(static_cast<int>(config.maxNewTokens));
    m_temperature->setValue(config.temperature);
    m_seed->setValue(static_cast<int>(config.policy.seed));
    m_device->setCurrentIndex(m_device->findData(int(config.device)));
    m_dtype->setCurrentIndex(m_dtype->findData(int(config.dtype)));
}

} // namespace ecokv::ui

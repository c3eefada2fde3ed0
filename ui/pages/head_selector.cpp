// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/head_selector.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QScopedValueRollback>
#include <QSlider>
#include <QSpinBox>

namespace ecokv::ui {

namespace {

constexpr int kSliderWidth = 72;
constexpr int kPolicyWidth = 240;
constexpr int kPolicyLetters = 12; // shown at least; the rest is elided

} // namespace

HeadSelector::HeadSelector(AppState* state, QWidget* parent) : QWidget(parent), m_state(state) {
    auto* layout = new QHBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    m_layer = makeAxis(tr("&Layer"), tr("Decoder layer, from 0 (Alt+Up, Alt+Down)"));
    layout->addSpacing(10);
    m_head = makeAxis(tr("KV &head"), tr("KV head of the layer, from 0 (Alt+Left, Alt+Right)"));
    layout->addSpacing(10);
    setUpPolicies();
    layout->addStretch(0);
    connectAxis(m_layer);
    connectAxis(m_head);
    connect(state, &AppState::documentChanged, this, &HeadSelector::refreshPolicies);
    connect(state, &AppState::policyChanged, this, &HeadSelector::refreshPolicies);
    connect(state, &AppState::documentChanged, this, &HeadSelector::refresh);
    connect(state, &AppState::headChanged, this, &HeadSelector::refresh);
    refreshPolicies();
    refresh();
}

HeadSelector::Axis HeadSelector::makeAxis(const QString& name, const QString& toolTip) {
    Axis axis{new QLabel(name), new QSlider(Qt::Horizontal), new QSpinBox};
    axis.slider->setFixedWidth(kSliderWidth);
    axis.slider->setPageStep(1);
    axis.slider->setToolTip(toolTip);
    axis.slider->setAccessibleName(axis.label->text().remove(u'&'));
    axis.number->setToolTip(toolTip);
    axis.number->setAccessibleName(axis.slider->accessibleName());
    axis.label->setBuddy(axis.number);
    layout()->addWidget(axis.label);
    layout()->addWidget(axis.slider);
    layout()->addWidget(axis.number);
    return axis;
}

void HeadSelector::setUpPolicies() {
    m_policyLabel = new QLabel(tr("Polic&y"));
    m_policies = new QComboBox;
    m_policies->setToolTip(tr("The trace holds several policies; this one is shown."));
    m_policies->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_policies->setMinimumContentsLength(kPolicyLetters);
    m_policies->setMaximumWidth(kPolicyWidth);
    m_policies->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    m_policyLabel->setBuddy(m_policies);
    layout()->addWidget(m_policyLabel);
    layout()->addWidget(m_policies);
    connect(m_policies, &QComboBox::currentIndexChanged, this, [this](int index) {
        if (!m_refreshing && index >= 0) {
            m_state->selectPolicy(m_policies->itemData(index).toString());
        }
    });
}

void HeadSelector::connectAxis(const Axis& axis) {
    const auto apply = [this] {
        if (!m_refreshing) {
            m_state->selectHead(m_layer.number->value(), m_head.number->value());
        }
    };
    connect(axis.slider, &QSlider::valueChanged, axis.number, &QSpinBox::setValue);
    connect(axis.number, &QSpinBox::valueChanged, axis.slider, &QSlider::setValue);
    connect(axis.number, &QSpinBox::valueChanged, this, apply);
}

void HeadSelector::setScope(bool usesLayer, bool usesHead) {
    for (QWidget* widget :
         {static_cast<QWidget*>(m_layer.label), static_cast<QWidget*>(m_layer.slider),
          static_cast<QWidget*>(m_layer.number)}) {
        widget->setEnabled(usesLayer);
    }
    for (QWidget* widget :
         {static_cast<QWidget*>(m_head.label), static_cast<QWidget*>(m_head.slider),
          static_cast<QWidget*>(m_head.number)}) {
        widget->setEnabled(usesHead);
    }
}

void HeadSelector::show(const Axis& axis, int value, std::int64_t count) {
    const int last = count > 0 ? static_cast<int>(count) - 1 : 0;
    axis.slider->setRange(0, last);
    axis.number->setRange(0, last);
    axis.number->setSuffix(count > 0 ? QStringLiteral(" / %1").arg(last) : QString());
    axis.number->setValue(value);
}

void HeadSelector::refresh() {
    const QScopedValueRollback guard(m_refreshing, true);
    const DocumentPtr& document = m_state->document();
    show(m_layer, m_state->selection().layer, document ? document->dimensions.layers : 0);
    show(m_head, m_state->selection().kvHead, document ? document->dimensions.kvHeads : 0);
}

void HeadSelector::refreshPolicies() {
    const QScopedValueRollback guard(m_refreshing, true);
    m_policies->clear();
    if (const DocumentPtr& document = m_state->document()) {
        for (const analysis::PolicyView& policy : document->policies) {
            m_policies->addItem(QString::fromStdString(policy.title),
                                QString::fromStdString(policy.id));
        }
    }
    m_policies->setCurrentIndex(m_policies->findData(m_state->selection().policyId));
    m_policyLabel->setVisible(m_policies->count() > 1);
    m_policies->setVisible(m_policies->count() > 1);
}

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/policy_form.h"

#include "session/policy_catalogue.h"

#include <QComboBox>
#include <QDoubleSpinBox>
#include <QFormLayout>
#include <QLabel>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace ecokv::ui {

namespace {

constexpr int kMostTokens = 1'000'000;
constexpr int kDefaultBudget = 48;
constexpr const char* kNeedsAFile = "static";

} // namespace

PolicyForm::PolicyForm(QWidget* parent)
    : QWidget(parent), m_scorer(new QComboBox), m_summary(new QLabel), m_budget(new QSpinBox),
      m_budgetNote(new QLabel), m_moreButton(new QToolButton) {
    m_scorer->setToolTip(tr("Which keys the policy keeps"));
    m_summary->setWordWrap(true);
    m_summary->setProperty("role", QStringLiteral("muted"));
    m_budget->setRange(1, kMostTokens);
    m_budget->setObjectName(QStringLiteral("budget"));
    m_budget->setSuffix(tr(" tokens per head"));
    m_budgetNote->setObjectName(QStringLiteral("budgetNote"));
    m_budgetNote->setWordWrap(true);
    m_budgetNote->setProperty("role", QStringLiteral("muted"));
    m_budgetNote->hide();
    m_budget->setToolTip(
        tr("Tokens each KV head keeps on average, protected ones included (unit: tokens)"));
    auto* form = new QFormLayout;
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    form->addRow(tr("&Policy"), m_scorer);
    form->addRow(m_summary);
    form->addRow(tr("&Budget"), m_budget);
    form->addRow(m_budgetNote);
    QWidget* more = makeMore();
    m_moreButton->setText(tr("More policy settings"));
    m_moreButton->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    m_moreButton->setArrowType(Qt::RightArrow);
    m_moreButton->setCheckable(true);
    m_moreButton->setAutoRaise(true);
    more->hide();
    connect(m_moreButton, &QToolButton::toggled, more, [this, more](bool on) {
        m_moreButton->setArrowType(on ? Qt::DownArrow : Qt::RightArrow);
        more->setVisible(on);
    });
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    layout->addLayout(form);
    layout->addWidget(m_moreButton);
    layout->addWidget(more);
    fillPolicies();
    fillAllocators();
    connectChanges();
    setConfig({});
}

QSpinBox* PolicyForm::addCount(QFormLayout* form, const QString& label, const QString& toolTip,
                               bool hasDefault) {
    auto* box = new QSpinBox;
    box->setRange(hasDefault ? -1 : 0, kMostTokens);
    if (hasDefault) {
        box->setSpecialValueText(tr("default"));
    }
    box->setToolTip(toolTip);
    form->addRow(label, box);
    return box;
}

QDoubleSpinBox* PolicyForm::addShare(QFormLayout* form, const QString& label,
                                     const QString& toolTip) {
    auto* box = new QDoubleSpinBox;
    box->setRange(0.0, 1.0);
    box->setSingleStep(0.05);
    box->setDecimals(2);
    box->setLocale(QLocale::c()); // one decimal point everywhere (field case F156)
    box->setToolTip(toolTip);
    form->addRow(label, box);
    return box;
}

QWidget* PolicyForm::makeMore() {
    auto* more = new QWidget;
    auto* form = new QFormLayout(more);
    form->setContentsMargins(12, 0, 0, 0);
    form->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    m_allocator = new QComboBox;
    m_allocator->setToolTip(tr("How the budget is shared over layers and heads"));
    form->addRow(tr("Allo&cator"), m_allocator);
    m_window =
        addCount(form, tr("&Window"),
                 tr("Observation window: the last tokens whose attention is measured"), true);
    m_recent = addCount(form, tr("Rec&ent"), tr("Tokens at the end that are always kept"), true);
    m_sink = addCount(form, tr("&Sinks"), tr("Tokens at the start that are always kept"), false);
    m_alpha = addShare(form, tr("&Alpha"), tr("Share of the cosine in the diversity, 0 to 1"));
    m_beta = addShare(form, tr("Be&ta"), tr("Share of the cosine in the redundancy, 0 to 1"));
    m_pool = addCount(form, tr("P&ooling"),
                      tr("Odd width of the pooling over neighbouring tokens; 1 = none"), false);
    m_pool->setRange(1, 63);
    m_pool->setSingleStep(2);
    return more;
}

void PolicyForm::fillPolicies() {
    for (const session::PolicyEntry& info : session::policyCatalogue()) {
        m_scorer->addItem(QString::fromStdString(info.name));
        m_scorer->setItemData(
            m_scorer->count() - 1,
            QString::fromStdString(info.summary + "\n" + info.formula + "\n" + info.source),
            Qt::ToolTipRole);
    }
}

void PolicyForm::fillAllocators() {
    for (const session::PolicyEntry& info : session::allocatorCatalogue()) {
        if (info.name == kNeedsAFile) {
            continue; // offered when settings that name the file are opened
        }
        m_allocator->addItem(QString::fromStdString(info.name));
        m_allocator->setItemData(
            m_allocator->count() - 1,
            QString::fromStdString(info.summary + "\n" + info.formula + "\n" + info.source),
            Qt::ToolTipRole);
    }
}

void PolicyForm::updatePolicy() {
    const int index = m_scorer->currentIndex();
    const auto& policies = session::policyCatalogue();
    if (index < 0 || index >= static_cast<int>(policies.size())) {
        m_summary->clear();
        return;
    }
    const session::PolicyEntry& info = policies[static_cast<std::size_t>(index)];
    m_summary->setText(QString::fromStdString(info.summary));
    m_budget->setEnabled(info.name != "full");
    limitBudget();
}

void PolicyForm::setPromptTokens(std::int64_t tokens) {
    m_promptTokens = tokens;
    limitBudget();
}

void PolicyForm::limitBudget() {
    const bool known = m_promptTokens > 0;
    const int most = static_cast<int>(std::clamp<std::int64_t>(m_promptTokens, 1, kMostTokens));
    const int before = m_budget->value();
    {
        const QSignalBlocker ours(m_budget); // what was asked for stays what was asked for
        m_budget->setMaximum(known ? most : kMostTokens);
        m_budget->setValue(m_wantedBudget);
    }
    const bool lowered = known && m_wantedBudget > most && m_budget->isEnabled();
    m_budgetNote->setText(
        tr("Lowered from %1: the prompt has only %2 tokens, and all of them are kept.")
            .arg(m_wantedBudget)
            .arg(m_promptTokens));
    m_budgetNote->setVisible(lowered);
    if (m_budget->value() != before) {
        Q_EMIT changed();
    }
}

void PolicyForm::connectChanges() {
    connect(m_scorer, &QComboBox::currentIndexChanged, this, [this] { m_hidden = {}; });
    connect(m_scorer, &QComboBox::currentIndexChanged, this, &PolicyForm::updatePolicy);
    connect(m_budget, &QSpinBox::valueChanged, this, [this](int value) {
        m_wantedBudget = value;
        limitBudget();
    });
    connect(m_allocator, &QComboBox::currentIndexChanged, this, &PolicyForm::changed);
    connect(m_scorer, &QComboBox::currentIndexChanged, this, &PolicyForm::changed);
    for (QSpinBox* box : {m_budget, m_window, m_recent, m_sink, m_pool}) {
        connect(box, &QSpinBox::valueChanged, this, &PolicyForm::changed);
    }
    for (QDoubleSpinBox* box : {m_alpha, m_beta}) {
        connect(box, &QDoubleSpinBox::valueChanged, this, &PolicyForm::changed);
    }
}

policy::PolicyConfig PolicyForm::config() const {
    policy::PolicyConfig config = m_hidden;
    config.allocator = m_allocator->currentText().toStdString();
    config.scorer = m_scorer->currentText().toStdString();
    config.budget = m_budget->isEnabled() ? m_budget->value() : 0;
    config.window.reset();
    if (m_window->value() >= 0) {
        config.window = m_window->value();
    }
    config.recent.reset();
    if (m_recent->value() >= 0) {
        config.recent = m_recent->value();
    }
    config.sink = m_sink->value();
    config.alpha = m_alpha->value();
    config.beta = m_beta->value();
    config.pool = m_pool->value();
    return config;
}

void PolicyForm::setConfig(const policy::PolicyConfig& config) {
    m_scorer->setCurrentText(QString::fromStdString(config.scorer));
    const QString allocator = QString::fromStdString(config.allocator);
    if (m_allocator->findText(allocator) < 0) {
        m_allocator->addItem(allocator);
    }
    m_allocator->setCurrentText(allocator);
    m_hidden = config;
    m_hidden.ratio.reset(); // the form asks for a budget
    m_wantedBudget = config.budget > 0
                         ? static_cast<int>(std::min<std::int64_t>(config.budget, kMostTokens))
                         : kDefaultBudget;
    m_window->setValue(config.window.value_or(-1));
    m_recent->setValue(static_cast<int>(config.recent.value_or(-1)));
    m_sink->setValue(static_cast<int>(config.sink));
    m_alpha->setValue(config.alpha);
    m_beta->setValue(config.beta);
    m_pool->setValue(config.pool);
    updatePolicy();
}

} // namespace ecokv::ui

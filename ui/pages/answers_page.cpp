// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/answers_page.h"

#include "ui/models/answer_diff.h"
#include "ui/pages/answer_pane.h"
#include "ui/pages/empty_state.h"
#include "ui/pages/ledger_view.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QStackedWidget>
#include <QVBoxLayout>

namespace ecokv::ui {

namespace {

QLabel* mutedLabel() {
    auto* label = new QLabel;
    label->setProperty("role", QStringLiteral("muted"));
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

} // namespace

AnswersPage::AnswersPage(QWidget* parent)
    : QWidget(parent), m_stack(new QStackedWidget), m_question(mutedLabel()),
      m_full(new AnswerPane(tr("Full cache"))), m_policy(new AnswerPane(tr("Policy"))),
      m_comparison(new QLabel), m_ledger(new LedgerView), m_facts(mutedLabel()),
      m_notes(mutedLabel()) {
    auto* empty =
        new EmptyState({tr("Run a prompt to see what eviction does to its answer"),
                        tr("Everything is set in the Run panel on the left. The answer from the "
                           "full cache and the policy's answer appear here side by side."),
                        tr("Run")});
    connect(empty, &EmptyState::actionRequested, this, &AnswersPage::startRequested);
    connect(m_ledger, &LedgerView::exportRequested, this, &AnswersPage::exportRequested);
    m_stack->addWidget(empty);
    m_stack->addWidget(makeContent());
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 12, 12, 12);
    layout->addWidget(m_stack);
}

QWidget* AnswersPage::makeContent() {
    auto* content = new QWidget;
    auto* panes = new QHBoxLayout;
    panes->setSpacing(10);
    panes->addWidget(m_full, 1);
    panes->addWidget(m_policy, 1);
    m_comparison->setWordWrap(true);
    auto* layout = new QVBoxLayout(content);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(8);
    layout->addWidget(m_question);
    layout->addLayout(panes, 2);
    layout->addWidget(m_comparison);
    layout->addWidget(m_ledger, 5);
    layout->addWidget(m_facts);
    layout->addWidget(m_notes);
    return content;
}

bool AnswersPage::isEmpty() const {
    return m_stack->currentIndex() == 0;
}

QString AnswersPage::policyAnswer() const {
    return m_policy->answer();
}

QString AnswersPage::fullAnswer() const {
    return m_full->answer();
}

void AnswersPage::beginRun(const session::RunConfig& config, const QString& expected) {
    m_expected = expected;
    m_compares = config.compareFull;
    m_stack->setCurrentIndex(1);
    m_full->clear();
    m_policy->clear();
    m_full->setPlaceholder(m_compares ? tr("Waiting for the first token…")
                                      : tr("Not asked for in this run."));
    m_policy->setPlaceholder(tr("Waiting for the first token…"));
    const QString policy = QString::fromStdString(config.policy.scorer);
    m_policy->setHeading(config.policy.budget > 0
                             ? tr("%1, budget %2").arg(policy).arg(config.policy.budget)
                             : policy);
    QString question = tr("Question: %1").arg(QString::fromStdString(config.prompt));
    if (!expected.isEmpty()) {
        question += tr("   ·   right answer: %1").arg(expected);
    }
    m_question->setText(question);
    m_question->show();
    m_comparison->clear();
    m_ledger->clear();
    m_facts->clear();
    m_notes->clear();
}

void AnswersPage::appendText(session::Stream stream, const QString& piece) {
    (stream == session::Stream::Full ? m_full : m_policy)->append(piece);
    compare(false);
}

void AnswersPage::showLedger(const session::Ledger& ledger) {
    m_ledger->showLedger(ledger, 0);
}

void AnswersPage::showSummary(const RunSummary& summary) {
    m_stack->setCurrentIndex(1);
    m_compares = summary.fullAnswer.has_value();
    m_full->setAnswer(summary.fullAnswer.value_or(QString()));
    m_full->setPlaceholder(m_compares ? tr("An empty answer.") : tr("Not recorded in this run."));
    m_policy->setAnswer(summary.policyAnswer.value_or(QString()));
    m_policy->setPlaceholder(summary.policyAnswer ? tr("An empty answer.") : tr("Not recorded."));
    if (!summary.policyTitle.isEmpty()) {
        m_policy->setHeading(summary.policyTitle);
    }
    compare(true);
    judge(m_full);
    judge(m_policy);
    m_ledger->showSummary(summary);
    showFacts(summary);
}

void AnswersPage::showTrace(const analysis::TraceDocument& document,
                            const analysis::PolicyView* policy) {
    m_expected.clear();
    m_question->setText(QString::fromStdString(
        document.provenance(policy != nullptr ? policy->id : std::string())));
    showSummary(summariseTrace(document, policy));
}

void AnswersPage::showDecoding(const DocumentPtr& document, const analysis::PolicyView* policy) {
    m_ledger->showDecoding(document, policy);
}

void AnswersPage::endRun(const QString& sentence) {
    m_full->setPlaceholder(QString());
    m_policy->setPlaceholder(QString());
    m_comparison->setText(sentence);
}

void AnswersPage::compare(bool complete) {
    if (!m_compares) {
        m_comparison->clear();
        return;
    }
    const qsizetype at = firstDifference(m_full->answer(), m_policy->answer(), complete);
    m_full->setDifference(at);
    m_policy->setDifference(at);
    if (at >= 0) {
        m_comparison->setText(
            tr("The answers part at character %1; from there on both are marked.").arg(at + 1));
    } else {
        m_comparison->setText(complete ? tr("Both answers are the same.") : QString());
    }
}

void AnswersPage::judge(AnswerPane* pane) {
    if (m_expected.isEmpty() || pane->answer().isEmpty()) {
        pane->setVerdict({}, true);
        return;
    }
    const bool right = answersMatch(m_expected, pane->answer());
    pane->setVerdict(right ? tr("✓ right") : tr("✗ wrong, should be %1").arg(m_expected), right);
}

void AnswersPage::showFacts(const RunSummary& summary) {
    QStringList facts;
    for (const auto& [label, value] : summary.facts) {
        QString fact = label + u' ' + value;
        facts << fact.replace(u' ', QChar::Nbsp); // lines break between facts only
    }
    m_facts->setText(facts.join(QChar(QChar::Nbsp) + QStringLiteral("· ")));
    m_notes->setText(summary.notes.join(u'\n'));
    m_notes->setVisible(!summary.notes.isEmpty());
}

} // namespace ecokv::ui

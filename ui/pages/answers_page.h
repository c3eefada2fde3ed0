#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The Run page: the full cache's answer beside the policy's, where they part, the ledger and what
// else is known of the run; live while it runs, from the trace when one is opened.

#include "session/engine.h"
#include "ui/models/app_state.h"
#include "ui/models/run_summary.h"
#include "ui/plots/figure.h"

#include <QWidget>

class QLabel;
class QStackedWidget;

namespace ecokv::ui {

class AnswerPane;
class EmptyState;
class LedgerView;

class AnswersPage : public QWidget {
    Q_OBJECT

public:
    explicit AnswersPage(QWidget* parent = nullptr);

    /// The right answer of a demo question, "" if unknown.
    void beginRun(const session::RunConfig& config, const QString& expected);
    void appendText(session::Stream stream, const QString& piece);
    void showLedger(const session::Ledger& ledger);
    void showSummary(const RunSummary& summary);
    /// What an opened trace says; `policy` may be null.
    void showTrace(const analysis::TraceDocument& document, const analysis::PolicyView* policy);
    /// How the cache grew while the policy answered; null where nothing is known.
    void showDecoding(const DocumentPtr& document, const analysis::PolicyView* policy);
    void endRun(const QString& sentence); ///< stopped or failed: what is there stays
    bool isEmpty() const;

    QString policyAnswer() const;
    QString fullAnswer() const;

Q_SIGNALS:
    void startRequested();
    void exportRequested(const ecokv::ui::FigurePtr& figure);

private:
    QWidget* makeContent();
    void compare(bool complete);
    void judge(AnswerPane* pane);
    void showFacts(const RunSummary& summary);

    QStackedWidget* m_stack;
    QLabel* m_question;
    AnswerPane* m_full;
    AnswerPane* m_policy;
    QLabel* m_comparison;
    LedgerView* m_ledger;
    QLabel* m_facts;
    QLabel* m_notes;
    QString m_expected;
    bool m_compares = false;
};

} // namespace ecokv::ui

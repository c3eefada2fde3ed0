// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/answer_pane.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QTextCursor>
#include <QTextEdit>
#include <QVBoxLayout>

namespace ecokv::ui {

AnswerPane::AnswerPane(const QString& heading, QWidget* parent)
    : QFrame(parent), m_heading(new QLabel(heading)), m_verdict(new QLabel), m_text(new QTextEdit) {
    setProperty("role", QStringLiteral("card"));
    m_heading->setProperty("role", QStringLiteral("strong"));
    m_text->setReadOnly(true);
    m_text->setAcceptRichText(false);
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setProperty("role", QStringLiteral("answer"));
    m_text->setTabChangesFocus(true);
    m_text->setAccessibleName(heading);
    auto* top = new QHBoxLayout;
    top->addWidget(m_heading, 1);
    top->addWidget(m_verdict);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(12, 10, 12, 8);
    layout->setSpacing(4);
    layout->addLayout(top);
    layout->addWidget(m_text, 1);
    m_verdict->hide();
}

void AnswerPane::setHeading(const QString& heading) {
    m_heading->setText(heading);
    m_text->setAccessibleName(heading);
}

void AnswerPane::clear() {
    m_answer.clear();
    m_difference = -1;
    m_verdict->hide();
    render();
}

void AnswerPane::append(const QString& piece) {
    m_answer += piece;
    render();
}

void AnswerPane::setAnswer(const QString& answer) {
    m_answer = answer;
    render();
}

void AnswerPane::setDifference(qsizetype from) {
    if (from != m_difference) {
        m_difference = from;
        render();
    }
}

void AnswerPane::setVerdict(const QString& verdict, bool good) {
    m_verdict->setText(verdict);
    m_verdict->setProperty("role", good ? QStringLiteral("badge") : QStringLiteral("badgeWarn"));
    m_verdict->setStyleSheet(QString()); // re-reads the rules for the new role
    m_verdict->setVisible(!verdict.isEmpty());
}

void AnswerPane::setPlaceholder(const QString& text) {
    m_text->setPlaceholderText(text);
}

void AnswerPane::render() {
    m_text->setPlainText(m_answer);
    QList<QTextEdit::ExtraSelection> marks;
    if (m_difference >= 0 && m_difference < m_answer.size()) {
        QTextEdit::ExtraSelection mark;
        mark.cursor = QTextCursor(m_text->document());
        mark.cursor.setPosition(static_cast<int>(m_difference));
        mark.cursor.movePosition(QTextCursor::End, QTextCursor::KeepAnchor);
        QColor tint = palette().color(QPalette::Highlight);
        tint.setAlphaF(0.22F);
        mark.format.setBackground(tint);
        mark.format.setUnderlineStyle(QTextCharFormat::DashUnderline);
        marks.append(mark);
    }
    m_text->setExtraSelections(marks);
    m_text->moveCursor(QTextCursor::End);
}

} // namespace ecokv::ui

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One answer as it streams in: its heading, its text, from the first difference on marked, and a
// verdict against the right answer where one is known.

#include <QFrame>

class QLabel;
class QTextEdit;

namespace ecokv::ui {

class AnswerPane : public QFrame {
    Q_OBJECT

public:
    explicit AnswerPane(const QString& heading, QWidget* parent = nullptr);

    void setHeading(const QString& heading);
    void clear();
    void append(const QString& piece);
    void setAnswer(const QString& answer);
    const QString& answer() const { return m_answer; }
    /// Marks the text from this index on; -1 = none.
    void setDifference(qsizetype from);
    void setVerdict(const QString& verdict, bool good);
    void setPlaceholder(const QString& text);

private:
    void render();

    QLabel* m_heading;
    QLabel* m_verdict;
    QTextEdit* m_text;
    QString m_answer;
    qsizetype m_difference = -1;
};

} // namespace ecokv::ui

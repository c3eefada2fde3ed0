#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a page shows while it has nothing to show: what it is for and what to do next.

#include <QWidget>

class QLabel;
class QPushButton;

namespace ecokv::ui {

struct EmptyText {
    QString title, sentence;
    QString action; ///< label of the button, "" = none
};

class EmptyState : public QWidget {
    Q_OBJECT

public:
    explicit EmptyState(const EmptyText& text, QWidget* parent = nullptr);
    void setText(const EmptyText& text);

Q_SIGNALS:
    void actionRequested();

private:
    QLabel* m_title;
    QLabel* m_sentence;
    QPushButton* m_action;
};

} // namespace ecokv::ui

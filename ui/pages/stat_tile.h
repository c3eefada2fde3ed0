#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One number with its name below it; a row of them sums a page up.

#include <QFrame>

class QLabel;

namespace ecokv::ui {

class StatTile : public QFrame {
    Q_OBJECT

public:
    explicit StatTile(const QString& name, QWidget* parent = nullptr);
    void setValue(const QString& value, const QString& detail = {});

private:
    QLabel* m_value;
    QLabel* m_name;
    QString m_title;
};

} // namespace ecokv::ui

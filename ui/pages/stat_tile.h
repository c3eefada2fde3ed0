#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One number with its name below it; a row of them sums a page up. Its width never depends on its
// text, so that nothing moves when numbers change.

#include <QFrame>

namespace ecokv::ui {

class ElidedLabel;

class StatTile : public QFrame {
    Q_OBJECT

public:
    explicit StatTile(const QString& name, QWidget* parent = nullptr);
    void setValue(const QString& value, const QString& detail = {});

private:
    ElidedLabel* m_value;
    ElidedLabel* m_name;
    QString m_title;
};

} // namespace ecokv::ui

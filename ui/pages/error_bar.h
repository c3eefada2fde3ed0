#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One failure as sentences above the pages, with its details for the clipboard. Never blocks; a
// newer failure replaces an older one.

#include "ui/workers/job_failure.h"

#include <QFrame>

class QLabel;

namespace ecokv::ui {

class ErrorBar : public QFrame {
    Q_OBJECT

public:
    explicit ErrorBar(QWidget* parent = nullptr);

    void showFailure(const JobFailure& failure);
    void dismiss();
    const JobFailure& failure() const { return m_failure; }

private:
    void copyDetails() const;

    JobFailure m_failure;
    QLabel* m_message;
    QLabel* m_advice;
};

} // namespace ecokv::ui

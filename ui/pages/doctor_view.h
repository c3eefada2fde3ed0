#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The doctor's report on a model and a prompt: one line that says how it stands, what is wrong
// with what to do about it, and every finding on demand. Shows values; asks nobody.

#include "session/doctor_report.h"

#include <QWidget>

class QLabel;
class QToolButton;

namespace ecokv::ui {

class DoctorView : public QWidget {
    Q_OBJECT

public:
    explicit DoctorView(QWidget* parent = nullptr);

    void showReport(const session::DoctorReport& report);
    void clear(); ///< nothing is known; hides itself

    QToolButton* detailsButton() const { return m_details; }

private:
    void showDetails(bool shown);

    QLabel* m_headline;
    QToolButton* m_details;
    QLabel* m_problems;
    QLabel* m_findings;
};

/// "Ready: 259 tokens (256 image), 262.1 KB + 3.7 MB of weights" or "2 problems".
QString doctorHeadline(const session::DoctorReport& report);
/// Problems and notes, one below the other, each with its advice.
QString doctorProblems(const session::DoctorReport& report);
/// Every finding under its topic.
QString doctorDetails(const session::DoctorReport& report);

} // namespace ecokv::ui

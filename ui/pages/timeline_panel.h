#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The bottom strip: stage, percent, throughput and remaining time of the run, and a log of what
// happened with times.

#include "ui/workers/progress_meter.h"

#include <QWidget>

class QLabel;
class QPlainTextEdit;
class QProgressBar;

namespace ecokv::ui {

class TimelinePanel : public QWidget {
    Q_OBJECT

public:
    explicit TimelinePanel(QWidget* parent = nullptr);

    void begin(const QString& what);
    void showProgress(const ProgressView& progress);
    void end(const QString& sentence);
    void log(const QString& sentence);
    QString logText() const;

private:
    QLabel* m_sentence;
    QProgressBar* m_bar;
    QPlainTextEdit* m_log;
    QString m_stage;
};

} // namespace ecokv::ui

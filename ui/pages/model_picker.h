#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The model folder and what is known of it before any weight is read.

#include "session/engine.h"
#include "ui/workers/job_failure.h"

#include <QWidget>

class QLabel;
class QPushButton;

namespace ecokv::ui {

class ModelPicker : public QWidget {
    Q_OBJECT

public:
    explicit ModelPicker(QWidget* parent = nullptr);

    QString folder() const { return m_folder; }
    void setFolder(const QString& folder); ///< tells nobody
    void showLooking();                    ///< a description is on its way
    void showSummary(const session::ModelSummary& summary, const session::DeviceReport& devices);
    void showFailure(const JobFailure& failure);
    void chooseFolder();

Q_SIGNALS:
    void folderChosen(const QString& folder);

private:
    QString m_folder;
    QLabel* m_name;
    QPushButton* m_open;
    QLabel* m_summary;
};

/// "llava · 6 layers × 4 KV heads of 32 · 1.9 M parameters, bfloat16, 3.7 MB".
QString modelSentence(const session::ModelSummary& summary);

} // namespace ecokv::ui

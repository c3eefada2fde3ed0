// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/model_picker.h"

#include "ui/models/formatting.h"

#include <QFileDialog>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

namespace ecokv::ui {

ModelPicker::ModelPicker(QWidget* parent)
    : QWidget(parent), m_name(new QLabel), m_open(new QPushButton(tr("Open…"))),
      m_summary(new QLabel) {
    m_name->setTextFormat(Qt::PlainText);
    m_name->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    m_open->setToolTip(tr("Choose a model folder in Hugging Face layout (Ctrl+M), or drop one"));
    m_open->setAccessibleName(tr("Open a model folder"));
    m_summary->setWordWrap(true);
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setProperty("role", QStringLiteral("muted"));
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    row->addWidget(m_name, 1);
    row->addWidget(m_open);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addLayout(row);
    layout->addWidget(m_summary);
    connect(m_open, &QPushButton::clicked, this, &ModelPicker::chooseFolder);
    setFolder({});
}

void ModelPicker::setFolder(const QString& folder) {
    m_folder = folder;
    m_name->setText(folder.isEmpty() ? tr("No model") : QFileInfo(folder).fileName());
    m_name->setToolTip(folder);
    m_summary->setText(folder.isEmpty() ? tr("Open a model folder to run prompts.")
                                        : tr("Opened by the next run."));
    m_summary->setToolTip({});
}

void ModelPicker::showLooking() {
    m_summary->setText(tr("Looking at the model…"));
}

void ModelPicker::showSummary(const session::ModelSummary& summary,
                              const session::DeviceReport& devices) {
    m_summary->setText(modelSentence(summary));
    QStringList lines;
    for (const auto& [label, value] : summary.details) {
        lines << QString::fromStdString(label) + QStringLiteral(": ") +
                     QString::fromStdString(value);
    }
    for (const std::string& line : devices.lines) {
        lines << QString::fromStdString(line);
    }
    m_summary->setToolTip(lines.join(u'\n'));
}

void ModelPicker::showFailure(const JobFailure& failure) {
    m_summary->setText(failure.message);
    m_summary->setToolTip(failure.advice);
}

void ModelPicker::chooseFolder() {
    const QString folder =
        QFileDialog::getExistingDirectory(this, tr("Open a model folder"), m_folder);
    if (!folder.isEmpty()) {
        setFolder(folder);
        Q_EMIT folderChosen(folder);
    }
}

QString modelSentence(const session::ModelSummary& summary) {
    QStringList parts;
    if (!summary.family.empty()) {
        parts << QString::fromStdString(summary.family);
    }
    parts << ModelPicker::tr("%1 layers × %2 KV heads of %3")
                 .arg(summary.layers)
                 .arg(summary.kvHeads)
                 .arg(summary.headDim);
    if (summary.parameters > 0) {
        parts << ModelPicker::tr("%1 parameters, %2, %3")
                     .arg(formatCount(summary.parameters), QString::fromStdString(summary.dtype),
                          formatBytes(static_cast<std::uint64_t>(summary.weightBytes)));
    }
    return parts.join(QStringLiteral(" · "));
}

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/doctor_view.h"

#include "ui/models/formatting.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QToolButton>
#include <QVBoxLayout>

namespace ecokv::ui {

namespace {

QLabel* textLabel() {
    auto* label = new QLabel;
    label->setWordWrap(true);
    label->setTextFormat(Qt::PlainText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

QString markOf(Severity severity) {
    switch (severity) {
    case Severity::Good:
        return QStringLiteral("✓");
    case Severity::Note:
        return QStringLiteral("!");
    case Severity::Problem:
        break;
    }
    return QStringLiteral("✗");
}

QString findingText(const Finding& finding) {
    QString text = QStringLiteral("%1 %2: %3")
                       .arg(markOf(finding.severity), QString::fromStdString(finding.label),
                            QString::fromStdString(finding.text));
    if (!finding.advice.empty()) {
        text += QStringLiteral("\n   → ") + QString::fromStdString(finding.advice);
    }
    return text;
}

} // namespace

DoctorView::DoctorView(QWidget* parent)
    : QWidget(parent), m_headline(textLabel()), m_details(new QToolButton), m_problems(textLabel()),
      m_findings(textLabel()) {
    m_problems->setProperty("role", QStringLiteral("warning"));
    m_findings->setProperty("role", QStringLiteral("muted"));
    m_details->setText(tr("Checks"));
    m_details->setToolTip(tr("Everything that was checked before the model is loaded"));
    m_details->setAccessibleName(tr("Show every check"));
    m_details->setCheckable(true);
    m_details->setArrowType(Qt::RightArrow);
    m_details->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    row->addWidget(m_headline, 1);
    row->addWidget(m_details, 0, Qt::AlignTop);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addLayout(row);
    layout->addWidget(m_problems);
    layout->addWidget(m_findings);
    connect(m_details, &QToolButton::toggled, this, &DoctorView::showDetails);
    showDetails(false);
    hide();
}

void DoctorView::showDetails(bool shown) {
    m_findings->setVisible(shown);
    m_details->setArrowType(shown ? Qt::DownArrow : Qt::RightArrow);
}

void DoctorView::showReport(const session::DoctorReport& report) {
    m_headline->setText(doctorHeadline(report));
    const QString problems = doctorProblems(report);
    m_problems->setText(problems);
    m_problems->setVisible(!problems.isEmpty());
    m_findings->setText(doctorDetails(report));
    setAccessibleDescription(m_headline->text());
    show();
}

void DoctorView::clear() {
    hide();
}

QString doctorHeadline(const session::DoctorReport& report) {
    if (!report.ok()) {
        return report.problems() == 1
                   ? DoctorView::tr("1 problem stands in the way of a run")
                   : DoctorView::tr("%1 problems stand in the way of a run").arg(report.problems());
    }
    if (!report.memory) {
        return DoctorView::tr("Ready to run on %1").arg(QString::fromStdString(report.device));
    }
    return DoctorView::tr("Ready: %1 tokens (%2 image), %3 + %4 of weights")
        .arg(report.promptTokens)
        .arg(report.imageTokens)
        .arg(formatBytes(report.memory->besidesWeights()), formatBytes(report.memory->weights));
}

QString doctorProblems(const session::DoctorReport& report) {
    QStringList lines;
    for (const Severity wanted : {Severity::Problem, Severity::Note}) {
        for (const Finding& finding : report.findings) {
            if (finding.severity == wanted) {
                lines << findingText(finding);
            }
        }
    }
    return lines.join(u'\n');
}

QString doctorDetails(const session::DoctorReport& report) {
    QStringList lines;
    std::string topic;
    for (const Finding& finding : report.findings) {
        if (finding.topic != topic) {
            if (!topic.empty()) {
                lines << QString();
            }
            topic = finding.topic;
            lines << QString::fromStdString(topic).toUpper();
        }
        lines << findingText(finding);
    }
    return lines.join(u'\n');
}

} // namespace ecokv::ui

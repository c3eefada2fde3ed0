// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/timeline_panel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QTime>
#include <QVBoxLayout>

namespace ecokv::ui {

namespace {

constexpr int kMaximumLines = 2000;
constexpr int kBarWidth = 220;

} // namespace

TimelinePanel::TimelinePanel(QWidget* parent)
    : QWidget(parent), m_sentence(new QLabel(tr("Ready."))), m_bar(new QProgressBar),
      m_log(new QPlainTextEdit) {
    m_bar->setFixedWidth(kBarWidth);
    m_bar->setRange(0, 100);
    m_bar->hide();                                            // an empty bar says nothing
    m_sentence->setMinimumHeight(m_bar->sizeHint().height()); // the log stays where it is
    m_bar->setAccessibleName(tr("Progress of the run"));
    m_log->setReadOnly(true);
    m_log->setMaximumBlockCount(kMaximumLines);
    m_log->setFrameShape(QFrame::NoFrame);
    m_log->setTabChangesFocus(true);
    m_log->setAccessibleName(tr("Log"));
    m_log->setProperty("role", QStringLiteral("log"));
    auto* strip = new QHBoxLayout;
    strip->addWidget(m_bar);
    strip->addWidget(m_sentence, 1);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(8, 6, 8, 6);
    layout->setSpacing(4);
    layout->addLayout(strip);
    layout->addWidget(m_log, 1);
}

void TimelinePanel::begin(const QString& what) {
    m_stage.clear();
    m_bar->setRange(0, 0);
    m_bar->show();
    m_sentence->setText(what);
    log(what);
}

void TimelinePanel::showProgress(const ProgressView& progress) {
    m_bar->setRange(0, progress.percent < 0 ? 0 : 100);
    m_bar->setValue(progress.percent);
    m_bar->show();
    m_sentence->setText(progress.sentence());
    if (progress.stage != m_stage) {
        m_stage = progress.stage;
        log(m_stage);
    }
}

void TimelinePanel::end(const QString& sentence) {
    m_bar->hide();
    m_sentence->setText(sentence);
    log(sentence);
}

void TimelinePanel::log(const QString& sentence) {
    m_log->appendPlainText(QTime::currentTime().toString(u"HH:mm:ss  ") + sentence);
}

QString TimelinePanel::logText() const {
    return m_log->toPlainText();
}

} // namespace ecokv::ui

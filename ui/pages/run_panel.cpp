// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/run_panel.h"

#include "ui/models/paths.h"
#include "ui/pages/doctor_view.h"
#include "ui/pages/generation_form.h"
#include "ui/pages/model_picker.h"
#include "ui/pages/picture_strip.h"
#include "ui/pages/policy_form.h"
#include "ui/pages/real_demo_offer.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

namespace ecokv::ui {

namespace {

constexpr int kPromptHeight = 58; // pixels, about three lines

QLabel* sectionLabel(const QString& text) {
    auto* label = new QLabel(text);
    label->setProperty("role", QStringLiteral("section"));
    return label;
}

} // namespace

RunPanel::RunPanel(QWidget* parent)
    : QWidget(parent), m_model(new ModelPicker), m_doctor(new DoctorView),
      m_offer(new RealDemoOffer), m_pictures(new PictureStrip), m_prompt(new QPlainTextEdit),
      m_demos(new DemoMenu), m_demoNote(new QLabel), m_policy(new PolicyForm),
      m_generation(new GenerationForm), m_run(new QPushButton(tr("Run"))),
      m_stop(new QPushButton(tr("Stop"))), m_obstacle(new QLabel) {
    auto* scroll = new QScrollArea;
    scroll->setWidget(makeForm());
    scroll->setWidgetResizable(true);
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(scroll, 1);
    layout->addWidget(makeButtons());
    connectChanges();
    session::RunConfig defaults;
    defaults.maxNewTokens = 16;
    defaults.compareFull = true;
    setConfig(defaults);
}

QWidget* RunPanel::makeForm() {
    auto* form = new QWidget;
    auto* layout = new QVBoxLayout(form);
    layout->setContentsMargins(10, 8, 10, 8);
    layout->setSpacing(6);
    layout->addWidget(sectionLabel(tr("Model")));
    layout->addWidget(m_model);
    layout->addWidget(m_doctor);
    layout->addWidget(m_offer);
    layout->addSpacing(6);
    layout->addWidget(makePrompt());
    layout->addSpacing(6);
    layout->addWidget(sectionLabel(tr("Eviction")));
    layout->addWidget(m_policy);
    layout->addSpacing(6);
    layout->addWidget(sectionLabel(tr("Answer")));
    layout->addWidget(m_generation);
    layout->addStretch(1);
    return form;
}

QWidget* RunPanel::makePrompt() {
    m_prompt->setPlaceholderText(tr("Question about the picture"));
    m_prompt->setToolTip(tr("The prompt; the model's chat template is put around it"));
    m_prompt->setAccessibleName(tr("Prompt"));
    m_prompt->setFixedHeight(kPromptHeight);
    m_prompt->setTabChangesFocus(true);
    m_prompt->setAcceptDrops(false); // a dropped file is no text; the panel's parents take it
    m_demoNote->setWordWrap(true);
    m_demoNote->setProperty("role", QStringLiteral("muted"));
    auto* heading = new QHBoxLayout;
    heading->addWidget(sectionLabel(tr("Prompt")), 1);
    heading->addWidget(m_demos);
    auto* prompt = new QWidget;
    auto* layout = new QVBoxLayout(prompt);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(6);
    layout->addLayout(heading);
    layout->addWidget(m_pictures);
    layout->addWidget(m_prompt);
    layout->addWidget(m_demoNote);
    return prompt;
}

QWidget* RunPanel::makeButtons() {
    m_run->setObjectName(QStringLiteral("runButton"));
    m_run->setToolTip(tr("Run the prompt (Ctrl+R)"));
    m_run->setDefault(true);
    m_stop->setToolTip(tr("Stop the run at once (Esc)"));
    m_stop->setEnabled(false);
    m_obstacle->setWordWrap(true);
    m_obstacle->setProperty("role", QStringLiteral("muted"));
    auto* row = new QHBoxLayout;
    row->setSpacing(6);
    row->addWidget(m_run, 2);
    row->addWidget(m_stop, 1);
    auto* buttons = new QFrame;
    buttons->setProperty("role", QStringLiteral("footer"));
    auto* layout = new QVBoxLayout(buttons);
    layout->setContentsMargins(10, 8, 10, 8);
    layout->addLayout(row);
    layout->addWidget(m_obstacle);
    return buttons;
}

void RunPanel::connectChanges() {
    connect(m_run, &QPushButton::clicked, this, &RunPanel::runRequested);
    connect(m_stop, &QPushButton::clicked, this, &RunPanel::stopRequested);
    connect(m_model, &ModelPicker::folderChosen, this, &RunPanel::modelChosen);
    connect(m_model, &ModelPicker::folderChosen, this, &RunPanel::changed);
    connect(m_model, &ModelPicker::folderChosen, this, &RunPanel::forgetReport);
    connect(m_demos, &DemoMenu::chosen, this, &RunPanel::ask);
    connect(m_pictures, &PictureStrip::failed, this, &RunPanel::failed);
    connect(m_pictures, &PictureStrip::changed, this, &RunPanel::changed);
    connect(m_prompt, &QPlainTextEdit::textChanged, this, &RunPanel::changed);
    connect(m_policy, &PolicyForm::changed, this, &RunPanel::changed);
    connect(m_generation, &GenerationForm::changed, this, &RunPanel::changed);
    connect(this, &RunPanel::changed, this, &RunPanel::updateState);
}

session::RunConfig RunPanel::config() const {
    session::RunConfig config;
    config.model = toPath(m_model->folder());
    m_pictures->read(config);
    config.prompt = m_prompt->toPlainText().toStdString();
    config.policy = m_policy->config();
    m_generation->read(config);
    return config;
}

void RunPanel::setConfig(const session::RunConfig& config) {
    m_model->setFolder(fromPath(config.model));
    forgetReport();
    m_pictures->setConfig(config);
    m_prompt->setPlainText(QString::fromStdString(config.prompt));
    m_policy->setConfig(config.policy);
    m_generation->setConfig(config);
    updateState();
}

void RunPanel::setCatalogue(const DemoCatalogue& catalogue) {
    m_demos->setCatalogue(catalogue);
    m_offer->setDemo(catalogue.real);
    updateState();
}

void RunPanel::showDemo(std::size_t document, std::size_t question) {
    ask(m_demos->small(document, question));
}

void RunPanel::showRealDemo(std::size_t document, std::size_t question) {
    ask(m_demos->real(document, question));
}

void RunPanel::ask(const DemoChoice& choice) {
    m_pictures->setPaths({choice.picture});
    m_prompt->setPlainText(choice.question);
    if (m_model->folder() != choice.model) {
        openModel(choice.model);
    }
    Q_EMIT changed();
}

void RunPanel::openModel(const QString& folder) {
    m_model->setFolder(folder);
    forgetReport();
    Q_EMIT modelChosen(folder);
    Q_EMIT changed();
}

void RunPanel::showReport(const session::DoctorReport& report) {
    m_doctor->showReport(report);
    m_policy->setPromptTokens(report.promptTokens);
}

void RunPanel::forgetReport() {
    m_doctor->clear();
    m_policy->setPromptTokens(0);
}

void RunPanel::addPicture(const QString& path) {
    m_pictures->setPaths(m_pictures->paths() << path);
}

void RunPanel::chooseModel() {
    m_model->chooseFolder();
}

void RunPanel::choosePictures() {
    m_pictures->openPictures();
}

void RunPanel::focusPrompt() {
    m_prompt->setFocus();
}

QString RunPanel::expectedAnswer() const {
    return m_demos->answerTo(m_pictures->paths(), m_prompt->toPlainText().trimmed());
}

QString RunPanel::obstacle() const {
    if (m_model->folder().isEmpty()) {
        return tr("Open a model folder to run.");
    }
    if (m_prompt->toPlainText().trimmed().isEmpty() && m_pictures->paths().isEmpty()) {
        return tr("Write a prompt or add a picture to run.");
    }
    return {};
}

void RunPanel::setRunning(bool running) {
    // The focus goes where the next key makes sense, not to a stranger when a button is disabled.
    const bool hadFocus = m_run->hasFocus() || m_stop->hasFocus();
    m_running = running;
    m_stop->setEnabled(true);
    if (hadFocus && running) {
        m_stop->setFocus();
    }
    updateState();
    if (hadFocus && !running) {
        m_run->setFocus();
    }
}

void RunPanel::updateState() {
    const QString why = obstacle();
    m_obstacle->setText(why);
    m_obstacle->setVisible(!why.isEmpty());
    m_run->setEnabled(!m_running && why.isEmpty());
    if (m_run->isEnabled() && m_stop->hasFocus()) {
        m_run->setFocus();
    }
    m_stop->setEnabled(m_running);
    m_model->setEnabled(!m_running);
    m_demos->setModel(m_model->folder());
    m_offer->setOffered(m_model->folder().isEmpty() ||
                        m_model->folder() == m_demos->catalogue().model);
    const QString answer = expectedAnswer();
    m_demoNote->setText(answer.isEmpty() ? QString() : tr("Right answer: %1").arg(answer));
    m_demoNote->setVisible(!answer.isEmpty());
}

} // namespace ecokv::ui

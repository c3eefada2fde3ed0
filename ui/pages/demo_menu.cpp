// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/demo_menu.h"

#include <QMenu>

namespace ecokv::ui {

namespace {

DemoChoice choiceOf(const QString& model, const DemoDocument& document, std::size_t question) {
    return {model, document.picture, document.questions.at(question).question};
}

} // namespace

DemoMenu::DemoMenu(QWidget* parent)
    : QPushButton(tr("Demo documents"), parent), m_menu(new QMenu(this)) {
    setToolTip(tr("Pictures with questions whose right answers are known"));
    setMenu(m_menu);
    setEnabled(false);
    connect(m_menu, &QMenu::aboutToShow, this, &DemoMenu::fill);
}

void DemoMenu::setCatalogue(const DemoCatalogue& catalogue) {
    m_catalogue = catalogue;
    setEnabled(!documents().empty());
}

void DemoMenu::setModel(const QString& folder) {
    m_model = folder;
    setEnabled(!documents().empty());
}

bool DemoMenu::isReal() const {
    return !m_catalogue.real.folder.isEmpty() && m_model == m_catalogue.real.folder;
}

const std::vector<DemoDocument>& DemoMenu::documents() const {
    return isReal() ? m_catalogue.real.documents : m_catalogue.documents;
}

DemoChoice DemoMenu::small(std::size_t document, std::size_t question) const {
    return choiceOf(m_catalogue.model, m_catalogue.documents.at(document), question);
}

DemoChoice DemoMenu::real(std::size_t document, std::size_t question) const {
    return choiceOf(m_catalogue.real.folder, m_catalogue.real.documents.at(document), question);
}

QString DemoMenu::answerTo(const QStringList& pictures, const QString& prompt) const {
    if (pictures.size() != 1) {
        return {};
    }
    for (const DemoDocument& document : documents()) {
        for (const DemoQuestion& question : document.questions) {
            if (document.picture == pictures.front() && question.question == prompt) {
                return question.answer;
            }
        }
    }
    return {};
}

void DemoMenu::fill() {
    m_menu->clear();
    const QString model = isReal() ? m_catalogue.real.folder : m_catalogue.model;
    for (const DemoDocument& document : documents()) {
        QMenu* menu = m_menu->addMenu(document.note);
        for (std::size_t q = 0; q < document.questions.size(); ++q) {
            const DemoQuestion& question = document.questions[q];
            QAction* action =
                menu->addAction(tr("%1   (answer: %2)").arg(question.question, question.answer));
            connect(action, &QAction::triggered, this,
                    [this, choice = choiceOf(model, document, q)] { Q_EMIT chosen(choice); });
        }
    }
}

} // namespace ecokv::ui

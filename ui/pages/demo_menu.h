#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The button that offers demo documents: pictures with questions whose right answers are known, for
// the model that is chosen. It says what was picked and fills no field. GUI thread.

#include "ui/models/demo_catalogue.h"

#include <QPushButton>

class QMenu;

namespace ecokv::ui {

/// A demo question ready to be asked.
struct DemoChoice {
    QString model, picture, question;
};

class DemoMenu : public QPushButton {
    Q_OBJECT

public:
    explicit DemoMenu(QWidget* parent = nullptr);

    void setCatalogue(const DemoCatalogue& catalogue);
    const DemoCatalogue& catalogue() const { return m_catalogue; }
    void setModel(const QString& folder); ///< whose documents are offered
    DemoChoice small(std::size_t document, std::size_t question) const; ///< of the small model
    DemoChoice real(std::size_t document, std::size_t question) const;
    /// The right answer if these are a demo document and one of its questions, else "".
    QString answerTo(const QStringList& pictures, const QString& prompt) const;

Q_SIGNALS:
    void chosen(const ecokv::ui::DemoChoice& choice);

private:
    void fill();
    bool isReal() const; ///< the chosen model is the real one
    const std::vector<DemoDocument>& documents() const;

    QMenu* m_menu;
    DemoCatalogue m_catalogue;
    QString m_model;
};

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/pages/picture_reading_button.h"

#include <QAction>
#include <QActionGroup>
#include <QColorDialog>
#include <QMenu>

namespace ecokv::ui {

namespace {

constexpr RgbColour kWhite{255, 255, 255};
constexpr RgbColour kBlack{0, 0, 0};

} // namespace

PictureReadingButton::PictureReadingButton(QWidget* parent)
    : QToolButton(parent), m_alpha(new QActionGroup(this)) {
    setText(tr("Reading"));
    setToolTip(tr("How pictures are read: orientation and transparent pixels"));
    setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(this);
    menu->setToolTipsVisible(true);
    m_turn = menu->addAction(tr("Turn by the EXIF tag"));
    m_turn->setCheckable(true);
    m_turn->setToolTip(tr("As a camera held it; off: as the pixels are stored"));
    connect(m_turn, &QAction::triggered, this, &PictureReadingButton::changed);
    menu->addSection(tr("Transparent pixels"));
    m_drop = addChoice(tr("Drop alpha"), tr("The colours below show, as in transformers"));
    m_white = addChoice(tr("Blend on white"), tr("White shows through"));
    m_black = addChoice(tr("Blend on black"), tr("Black shows through"));
    m_other = addChoice({}, tr("A colour of your choice shows through"));
    menu->addActions(m_alpha->actions());
    setMenu(menu);
    connect(m_alpha, &QActionGroup::triggered, this, &PictureReadingButton::choose);
    setOther(m_colour);
    setReading({});
}

QAction* PictureReadingButton::addChoice(const QString& text, const QString& hint) {
    auto* action = new QAction(text, m_alpha);
    action->setCheckable(true);
    action->setToolTip(hint);
    return action;
}

void PictureReadingButton::choose(QAction* action) {
    if (action == m_other && !chooseColour()) {
        m_chosen->setChecked(true); // cancelled: as it was
        return;
    }
    m_chosen = action;
    Q_EMIT changed();
}

bool PictureReadingButton::chooseColour() {
    const QColor before(m_colour.red, m_colour.green, m_colour.blue);
    const QColor colour = QColorDialog::getColor(before, this, tr("Below transparent pixels"));
    if (colour.isValid()) {
        setOther(parseColour(colour.name().toStdString()));
    }
    return colour.isValid();
}

void PictureReadingButton::setOther(const RgbColour& colour) {
    m_colour = colour;
    m_other->setText(tr("Blend on %1…").arg(QString::fromStdString(colourText(colour))));
}

PictureReading PictureReadingButton::reading() const {
    PictureReading reading{m_turn->isChecked(), {}};
    const QAction* choice = m_alpha->checkedAction();
    if (choice == m_white) {
        reading.blendAlpha = kWhite;
    } else if (choice == m_black) {
        reading.blendAlpha = kBlack;
    } else if (choice == m_other) {
        reading.blendAlpha = m_colour;
    }
    return reading;
}

void PictureReadingButton::setReading(const PictureReading& reading) {
    m_turn->setChecked(reading.applyOrientation);
    if (!reading.blendAlpha) {
        m_drop->setChecked(true);
    } else if (*reading.blendAlpha == kWhite) {
        m_white->setChecked(true);
    } else if (*reading.blendAlpha == kBlack) {
        m_black->setChecked(true);
    } else {
        setOther(*reading.blendAlpha);
        m_other->setChecked(true);
    }
    m_chosen = m_alpha->checkedAction();
}

} // namespace ecokv::ui

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A menu of how pictures are read: turned by their EXIF tag or not, transparent pixels dropped or
// blended on a colour. It edits a PictureReading.

#include "base/picture_reading.h"

#include <QToolButton>

class QAction;
class QActionGroup;

namespace ecokv::ui {

class PictureReadingButton : public QToolButton {
    Q_OBJECT

public:
    explicit PictureReadingButton(QWidget* parent = nullptr);

    PictureReading reading() const;
    void setReading(const PictureReading& reading); ///< says nothing

Q_SIGNALS:
    void changed(); ///< by the user

private:
    QAction* addChoice(const QString& text, const QString& hint);
    void choose(QAction* action);
    bool chooseColour(); ///< false = cancelled
    void setOther(const RgbColour& colour);

    QAction* m_turn = nullptr;
    QActionGroup* m_alpha;
    QAction* m_drop = nullptr;
    QAction* m_white = nullptr;
    QAction* m_black = nullptr;
    QAction* m_other = nullptr;
    QAction* m_chosen = nullptr;       ///< of m_alpha
    RgbColour m_colour{128, 128, 128}; ///< of m_other
};

} // namespace ecokv::ui

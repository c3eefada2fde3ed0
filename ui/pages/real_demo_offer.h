#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Offers the real language model below the chosen model: to build it, to open it once it is there,
// or how to build it where this installation cannot. Says what the user asked for; builds nothing.

#include "ui/models/demo_catalogue.h"
#include "ui/workers/progress_meter.h"

#include <QWidget>

class QLabel;
class QProgressBar;
class QPushButton;

namespace ecokv::ui {

class ElidedLabel;

class RealDemoOffer : public QWidget {
    Q_OBJECT

public:
    explicit RealDemoOffer(QWidget* parent = nullptr);

    void setDemo(const RealDemo& demo);
    void setOffered(bool offered); ///< not beside a model of the user's own
    void setBuilding(bool building);
    void showProgress(const ProgressView& progress);

Q_SIGNALS:
    void buildRequested();
    void cancelRequested();
    void openRequested();

private:
    void act();
    void updateState();
    void showOffer();

    RealDemo m_demo;
    bool m_offered = false;
    bool m_building = false;
    QPushButton* m_button;
    QLabel* m_hint;       ///< instead of the button
    ElidedLabel* m_stage; ///< below the button, which stays under the cursor
    QProgressBar* m_bar;
};

} // namespace ecokv::ui

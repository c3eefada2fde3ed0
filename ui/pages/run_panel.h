#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The left dock: everything a run needs, and the buttons that start and stop it. It edits a
// RunConfig and says what the user asked for; it runs nothing.

#include "session/engine.h"
#include "ui/pages/demo_menu.h"
#include "ui/workers/job_failure.h"

#include <QWidget>

class QLabel;
class QPlainTextEdit;
class QPushButton;
class QVBoxLayout;

namespace ecokv::ui {

class DoctorView;
class GenerationForm;
class ModelPicker;
class PictureStrip;
class PolicyForm;
class RealDemoOffer;

class RunPanel : public QWidget {
    Q_OBJECT

public:
    explicit RunPanel(QWidget* parent = nullptr);

    session::RunConfig config() const;
    void setConfig(const session::RunConfig& config);
    /// The right answer, while picture and question are those of a demo document; else "".
    QString expectedAnswer() const;

    void setCatalogue(const DemoCatalogue& catalogue);
    void showDemo(std::size_t document, std::size_t question); ///< of the small demo model
    void showRealDemo(std::size_t document, std::size_t question);
    void openModel(const QString& folder); ///< and tells modelChosen
    /// What the doctor says of the model and the prompt; the budget follows the prompt's length.
    void showReport(const session::DoctorReport& report);
    void addPicture(const QString& path);
    void chooseModel();
    void choosePictures();
    void focusPrompt();

    ModelPicker* modelPicker() const { return m_model; }
    DoctorView* doctorView() const { return m_doctor; }
    RealDemoOffer* realDemoOffer() const { return m_offer; }
    QPushButton* runButton() const { return m_run; }
    QPushButton* stopButton() const { return m_stop; }
    void setRunning(bool running);
    /// Why a run cannot start now, "" if it can.
    QString obstacle() const;

Q_SIGNALS:
    void runRequested();
    void stopRequested();
    void modelChosen(const QString& folder);
    void changed();
    void failed(const ecokv::ui::JobFailure& failure);

private:
    QWidget* makeForm();
    QWidget* makePrompt();
    QWidget* makeButtons();
    void connectChanges();
    void updateState();
    void forgetReport();
    void ask(const DemoChoice& choice);

    ModelPicker* m_model;
    DoctorView* m_doctor;
    RealDemoOffer* m_offer;
    PictureStrip* m_pictures;
    QPlainTextEdit* m_prompt;
    DemoMenu* m_demos;
    QLabel* m_demoNote;
    PolicyForm* m_policy;
    GenerationForm* m_generation;
    QPushButton* m_run;
    QPushButton* m_stop;
    QLabel* m_obstacle;
    bool m_running = false;
};

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/app/screenshot_tour.h"

#include "ui/app/main_window.h"
#include "ui/pages/run_panel.h"

#include <QApplication>
#include <QComboBox>
#include <QDir>
#include <QTabWidget>
#include <QTemporaryDir>

#include <algorithm>
#include <cstdio>

namespace ecokv::ui {

namespace {

constexpr QSize kSize(1280, 800);
constexpr int kSettleMs = 1200; ///< figures arrive from workers within this time
constexpr int kGiveUpMs = 180'000;

struct Shot {
    const char* name;
    MainWindow::Page page;
    int headView;       ///< 0 scatter, 1 along the prompt
    int ledgerView = 0; ///< 0 kept per head, 1 while answering
};
constexpr Shot kShots[] = {
    {"run", MainWindow::RunPage, 0},          {"run-answering", MainWindow::RunPage, 0, 1},
    {"heads", MainWindow::HeadsPageIndex, 0}, {"head", MainWindow::HeadPageIndex, 0},
    {"scores", MainWindow::HeadPageIndex, 1}, {"survival", MainWindow::SurvivalPageIndex, 0},
    {"trace", MainWindow::TracePageIndex, 0},
};

class Tour : public QObject {
public:
    Tour(QApplication& application, MainWindow& window, Workbench& bench,
         const ScreenshotOptions& options)
        : m_application(application), m_window(window), m_bench(bench), m_options(options) {
        connect(bench.state(), &AppState::documentChanged, this,
                [this] { QTimer::singleShot(kSettleMs, this, [this] { showNext(); }); });
        connect(&bench, &Workbench::failed, this, [this](const JobFailure& failure) {
            std::fprintf(stderr, "%s\n", failure.message.toUtf8().constData());
            savePicture(QStringLiteral("failure"));
            QApplication::exit(3);
        });
        QTimer::singleShot(kGiveUpMs, this, [] { QApplication::exit(1); });
    }

    void start() {
        m_window.start(m_options.paths);
        if (m_options.paths.isEmpty()) {
            connect(m_bench.files(), &FileJobs::catalogueLoaded, this, [this] {
                QTimer::singleShot(kSettleMs, this, [this] {
                    savePicture(QStringLiteral("first-start"));
                    m_window.requestRun();
                });
            });
        }
    }

private:
    void showNext() {
        const std::size_t shots = std::size(kShots);
        if (m_step == 2 * shots) {
            QApplication::exit(0);
            return;
        }
        const bool dark = m_step >= shots;
        const Shot& shot = kShots[m_step % shots];
        applyAppearance(m_application, dark ? Appearance::Dark : Appearance::Light, QPalette());
        if (m_step == 0) {
            selectInterestingToken();
        }
        m_window.showPage(shot.page);
        m_window.findChild<QComboBox*>(QStringLiteral("headView"))->setCurrentIndex(shot.headView);
        m_window.findChild<QTabWidget*>(QStringLiteral("ledgerViews"))
            ->setCurrentIndex(shot.ledgerView);
        QTimer::singleShot(kSettleMs / 2, this, [this, &shot, dark] {
            const QString name = QLatin1String(shot.name);
            savePicture(dark ? name + QStringLiteral("-dark") : name);
            ++m_step;
            showNext();
        });
    }

    /// The image token the selected head likes best, so that the Inspector has something to say.
    void selectInterestingToken() {
        const auto& scatter = m_bench.head()->view().scatter;
        if (!scatter || scatter->points.empty()) {
            return;
        }
        const auto& points = scatter->points;
        const auto best = std::max_element(points.begin(), points.end(), [](auto& a, auto& b) {
            return (a.kind == 2 ? a.score : -1.0F) < (b.kind == 2 ? b.score : -1.0F);
        });
        m_bench.state()->selectToken(best->token);
    }

    void savePicture(const QString& name) {
        const QString path = QDir(m_options.folder).filePath(name + QStringLiteral(".png"));
        if (!m_window.grab().save(path)) {
            std::fprintf(stderr, "%s cannot be written.\n", path.toUtf8().constData());
            QApplication::exit(3);
            return;
        }
        std::printf("%s\n", path.toUtf8().constData());
    }

    QApplication& m_application;
    MainWindow& m_window;
    Workbench& m_bench;
    ScreenshotOptions m_options;
    std::size_t m_step = 0;
};

} // namespace

int runScreenshotTour(QApplication& application, const WorkbenchOptions& benchOptions,
                      const ScreenshotOptions& options) {
    QDir().mkpath(options.folder);
    const QTemporaryDir scratch;
    WorkbenchOptions isolated = benchOptions;
    isolated.settingsFile = scratch.filePath(QStringLiteral("settings.ini"));
    isolated.runFolder = scratch.filePath(QStringLiteral("runs"));
    applyAppearance(application, Appearance::Light, QPalette());
    Workbench bench(isolated);
    MainWindow window(&bench);
    window.resize(kSize);
    window.show();
    Tour tour(application, window, bench, options);
    tour.start();
    return QApplication::exec();
}

} // namespace ecokv::ui

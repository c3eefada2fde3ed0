// SPDX-License-Identifier: GPL-3.0-or-later
#include "desktop_fixture.h"

#include "ui/app/appearance.h"
#include "ui/app/window_settings.h"
#include "ui/pages/heads_page.h"

#include <QDockWidget>
#include <QSettings>
#include <QTabWidget>

namespace ecokv::ui::test {

TEST(WindowSettings, recentFilesAreNewestFirstAndFew) {
    const ecokv::test::TemporaryFolder folder;
    WindowSettings settings(fromPath(folder / "settings.ini"));
    for (int i = 0; i < 12; ++i) {
        settings.addRecent(u"traces"_qs, QStringLiteral("/t/%1.h5").arg(i));
    }
    settings.addRecent(u"traces"_qs, u"/t/7.h5"_qs);
    const QStringList recent = settings.recent(u"traces"_qs);
    EXPECT_EQ(recent.size(), WindowSettings::kRecentFiles);
    EXPECT_EQ(recent[0], u"/t/7.h5"_qs);
    EXPECT_EQ(recent[1], u"/t/11.h5"_qs);
    settings.removeRecent(u"traces"_qs, u"/t/7.h5"_qs);
    EXPECT_FALSE(settings.recent(u"traces"_qs).contains(u"/t/7.h5"_qs));
    EXPECT_TRUE(settings.recent(u"models"_qs).isEmpty());
}

TEST(WindowSettings, runSettingsSurviveAndBrokenOnesAreForgotten) {
    const ecokv::test::TemporaryFolder folder;
    const QString file = fromPath(folder / "settings.ini");
    WindowSettings settings(file);
    EXPECT_FALSE(settings.runConfig().has_value());
    session::RunConfig config;
    config.prompt = "Was steht da? ü";
    config.policy.budget = 24;
    settings.setRunConfig(config);
    ASSERT_TRUE(settings.runConfig().has_value());
    EXPECT_EQ(settings.runConfig()->prompt, config.prompt);
    EXPECT_EQ(settings.runConfig()->policy.budget, 24);
    settings.setValue(u"run/config"_qs, u"{ broken"_qs);
    EXPECT_FALSE(settings.runConfig().has_value());
}

TEST(Appearance, namesRoundTrip) {
    for (const Appearance appearance : {Appearance::System, Appearance::Light, Appearance::Dark}) {
        EXPECT_EQ(appearanceFromName(appearanceName(appearance)), appearance);
    }
    EXPECT_EQ(appearanceFromName(u"sepia"_qs), Appearance::System);
}

TEST_F(DesktopTest, aCrashLosesNothing) {
    openDemo();
    m_window->findChild<QDockWidget*>(u"inspector"_qs)->hide();
    m_window->headsPage()->setMetric(u"anisotropy"_qs);
    m_window->showPage(MainWindow::HeadsPageIndex);
    m_bench->state()->selectHead(3, 1);
    auto config = m_window->runPanel()->config();
    config.policy.budget = 17;
    m_window->runPanel()->setConfig(config);
    QTest::qWait(600); // written soon after the change, not at the end
    // A second program reads what the first one, still open, has written so far.
    WindowSettings other(fromPath(m_folder / "settings.ini"));
    EXPECT_EQ(other.selection().layer, 3);
    ASSERT_TRUE(other.runConfig().has_value());
    EXPECT_EQ(other.runConfig()->policy.budget, 17);

    open();
    EXPECT_FALSE(m_window->findChild<QDockWidget*>(u"inspector"_qs)->isVisible());
    EXPECT_EQ(m_window->headsPage()->metric(), u"anisotropy"_qs);
    EXPECT_EQ(m_window->findChild<QTabWidget*>()->currentIndex(), MainWindow::HeadsPageIndex);
    EXPECT_EQ(m_window->runPanel()->config().policy.budget, 17);
    EXPECT_EQ(m_bench->state()->selection().layer, 3);
}

TEST_F(DesktopTest, theLastTraceIsOpenAgainAndAMissingOneIsNoError) {
    runDemo();
    QTest::qWait(600);
    const auto path = m_bench->state()->document()->path;
    open();
    ASSERT_TRUE(waitFor([&] { return m_bench->state()->document() != nullptr; }));
    EXPECT_EQ(m_bench->state()->document()->path, path);
    EXPECT_EQ(m_window->answersPage()->fullAnswer(), u"407"_qs); // as the sample trace says
    std::filesystem::remove(path);
    open();
    QTest::qWait(100);
    EXPECT_EQ(m_bench->state()->document(), nullptr);
    EXPECT_FALSE(m_window->errorBar()->isVisible());
}

TEST_F(DesktopTest, resetLayoutBringsDocksBack) {
    open();
    auto* inspector = m_window->findChild<QDockWidget*>(u"inspector"_qs);
    inspector->setFloating(true);
    inspector->hide();
    m_window->resetLayout();
    EXPECT_TRUE(inspector->isVisible());
    EXPECT_FALSE(inspector->isFloating());
}

} // namespace ecokv::ui::test

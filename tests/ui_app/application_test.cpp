// SPDX-License-Identifier: GPL-3.0-or-later
// Look and start of the program.
#include "ui/app/appearance.h"
#include "ui/app/guarded_application.h"
#include "ui/app/startup_clock.h"
#include "ui/plots/theme.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <QPushButton>
#include <QRegularExpression>
#include <QSignalSpy>
#include <QTest>
#include <QTimer>

#include <cmath>

namespace ecokv::ui {

namespace {

double luminance(const QColor& color) {
    const auto linear = [](double c) {
        return c <= 0.03928 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
           0.0722 * linear(color.blueF());
}

/// WCAG 2 contrast of two colours, 1 to 21.
double contrast(const QColor& a, const QColor& b) {
    const double la = luminance(a), lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

class AppearanceTest : public testing::TestWithParam<Appearance> {
protected:
    void SetUp() override { applyAppearance(*qApp, GetParam(), QPalette()); }
    void TearDown() override { applyAppearance(*qApp, Appearance::Light, QPalette()); }
};

} // namespace

TEST_P(AppearanceTest, everyColourOfTheStyleSheetIsFilledIn) {
    const QRegularExpression leftover(u"%[a-zA-Z]"_qs);
    EXPECT_FALSE(qApp->styleSheet().contains(leftover));
    EXPECT_TRUE(qApp->styleSheet().contains(u"#runButton"_qs));
}

TEST_P(AppearanceTest, textIsReadableOnEverySurface) {
    const QPalette palette = QApplication::palette();
    const QColor text = palette.color(QPalette::WindowText);
    EXPECT_GE(contrast(text, palette.color(QPalette::Window)), 7.0);
    EXPECT_GE(contrast(palette.color(QPalette::Text), palette.color(QPalette::Base)), 7.0);
    EXPECT_GE(contrast(palette.color(QPalette::ButtonText), palette.color(QPalette::Button)), 4.5);
    const Theme theme = Theme::forPalette(palette);
    EXPECT_GE(contrast(theme.mutedText, palette.color(QPalette::Window)), 4.5);
}

INSTANTIATE_TEST_SUITE_P(LightAndDark, AppearanceTest,
                         testing::Values(Appearance::Light, Appearance::Dark),
                         [](const auto& info) { return appearanceName(info.param).toStdString(); });

TEST(AppearanceOfSystem, followsTheSystemsPalette) {
    QPalette dark;
    dark.setColor(QPalette::Window, Qt::black);
    dark.setColor(QPalette::WindowText, Qt::white);
    applyAppearance(*qApp, Appearance::System, dark);
    EXPECT_LT(QApplication::palette().color(QPalette::Window).lightness(), 80);
    applyAppearance(*qApp, Appearance::System, QPalette(QColor(240, 240, 240)));
    EXPECT_GT(QApplication::palette().color(QPalette::Window).lightness(), 180);
    applyAppearance(*qApp, Appearance::Light, QPalette());
}

TEST(GuardedApplication, anExceptionInASlotIsShownNotFatalF157) {
    auto* application = qobject_cast<GuardedApplication*>(qApp);
    ASSERT_NE(application, nullptr);
    const QSignalSpy caught(application, &GuardedApplication::exceptionCaught);
    QPushButton button;
    QObject::connect(&button, &QPushButton::clicked, &button,
                     [] { throwBadInput("The figure has no layers.", "Open another trace."); });
    button.show();
    QTest::mouseClick(&button, Qt::LeftButton);
    ASSERT_EQ(caught.count(), 1);
    const auto failure = caught.at(0).at(0).value<JobFailure>();
    EXPECT_EQ(failure.message, u"The figure has no layers."_qs);
}

TEST(StartupClock, tellsTheFirstFrameOnce) {
    QWidget window;
    StartupClock clock(&window, false);
    const QSignalSpy shown(&clock, &StartupClock::firstFrameShown);
    window.show();
    ASSERT_TRUE(QTest::qWaitFor([&] { return shown.count() == 1; }, 5000));
    window.update();
    QTest::qWait(30);
    EXPECT_EQ(shown.count(), 1);
}

TEST(StartupClock, countsFromTheStartOfTheProcess) {
    const double first = millisecondsSinceProcessStart();
    QTest::qSleep(50);
    const double second = millisecondsSinceProcessStart();
    EXPECT_GE(first, 0.0);
    EXPECT_NEAR(second - first, 50.0, 45.0);
}

} // namespace ecokv::ui

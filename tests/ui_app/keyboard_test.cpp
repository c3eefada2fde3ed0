// SPDX-License-Identifier: GPL-3.0-or-later
#include "desktop_fixture.h"

#include <QAction>
#include <QSet>
#include <QTabWidget>

namespace ecokv::ui::test {

namespace {

QAction* actionFor(const QWidget* window, const QKeySequence& key) {
    for (QAction* action : window->findChildren<QAction*>()) {
        if (action->shortcut() == key) {
            return action;
        }
    }
    return nullptr;
}

} // namespace

TEST_F(DesktopTest, pagesAndHeadsAreReachedByKeys) {
    open({sampleTrace()});
    ASSERT_TRUE(waitFor([&] { return m_bench->state()->document() != nullptr; }));
    const auto* pages = m_window->findChild<QTabWidget*>();
    for (int page = 0; page < pages->count(); ++page) {
        QAction* action =
            actionFor(m_window.get(), QKeySequence(QStringLiteral("Ctrl+%1").arg(page + 1)));
        ASSERT_NE(action, nullptr);
        action->trigger();
        EXPECT_EQ(pages->currentIndex(), page);
    }
    actionFor(m_window.get(), QKeySequence(u"Alt+Down"_qs))->trigger();
    actionFor(m_window.get(), QKeySequence(u"Alt+Right"_qs))->trigger();
    EXPECT_EQ(m_bench->state()->selection().layer, 1);
    EXPECT_EQ(m_bench->state()->selection().kvHead, 1);
    actionFor(m_window.get(), QKeySequence(u"Alt+Up"_qs))->trigger();
    actionFor(m_window.get(), QKeySequence(u"Alt+Left"_qs))->trigger();
    EXPECT_EQ(m_bench->state()->selection().layer, 0);
    EXPECT_EQ(m_bench->state()->selection().kvHead, 0);
}

TEST_F(DesktopTest, runAndStopHaveKeys) {
    m_behaviour->duration = std::chrono::seconds(30);
    openDemo();
    actionFor(m_window.get(), QKeySequence(u"Ctrl+R"_qs))->trigger();
    EXPECT_TRUE(m_bench->runs()->isRunning());
    actionFor(m_window.get(), QKeySequence(Qt::Key_Escape))->trigger();
    EXPECT_FALSE(m_bench->runs()->isRunning());
}

TEST_F(DesktopTest, noTwoActionsShareAKey) {
    open();
    QSet<QString> keys;
    for (const QAction* action : m_window->findChildren<QAction*>()) {
        const QString key = action->shortcut().toString();
        if (key.isEmpty() || action->shortcutContext() == Qt::WidgetShortcut) {
            continue;
        }
        EXPECT_FALSE(keys.contains(key)) << key.toStdString();
        keys.insert(key);
    }
    EXPECT_GE(keys.size(), 14);
}

TEST_F(DesktopTest, tabVisitsTheWholeRunPanel) {
    openDemo();
    QSet<QWidget*> visited;
    QWidget* widget = m_window->runPanel();
    for (int i = 0; i < 400; ++i) {
        widget = widget->nextInFocusChain();
        if (widget->focusPolicy() & Qt::TabFocus) {
            visited.insert(widget);
        }
    }
    for (QWidget* child : m_window->runPanel()->findChildren<QWidget*>()) {
        if (child->isVisible() && (child->focusPolicy() & Qt::TabFocus)) {
            EXPECT_TRUE(visited.contains(child)) << child->metaObject()->className();
        }
    }
}

} // namespace ecokv::ui::test

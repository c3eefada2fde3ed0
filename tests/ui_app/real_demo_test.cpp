// SPDX-License-Identifier: GPL-3.0-or-later
// The real language model, from the offer at the first start to a question that is ready to run.
#include "desktop_fixture.h"
#include "support/fake_demo_script.h"
#include "ui/pages/elided_label.h"
#include "ui/pages/real_demo_offer.h"
#include "ui/pages/timeline_panel.h"

#include <QElapsedTimer>
#include <QLabel>
#include <QProgressBar>

namespace ecokv::ui::test {

class RealDemoTest : public DesktopTest {
protected:
    RealDemoTest() {
        const std::filesystem::path source(ECOKV_SOURCE_DIR "/resources");
        const std::filesystem::path ours = m_folder / "tree/resources";
        std::filesystem::create_directories(ours / "demo-135m");
        std::filesystem::create_symlink(source / "demo-model", ours / "demo-model");
        std::filesystem::create_symlink(source / "demo-documents", ours / "demo-documents");
        std::filesystem::copy_file(source / "demo-135m/documents.json",
                                   ours / "demo-135m/documents.json");
        m_resources = fromPath(ours);
    }

    /// The tree as ./run leaves it, with `body` as the build script.
    void setScript(const std::string& body) {
        ecokv::test::writeDemoScript(m_folder / "tree/resources/demo-135m/build.py", body);
        std::filesystem::create_directories(m_folder / "tree/.venv/bin");
        std::filesystem::create_symlink("/bin/sh", m_folder / "tree/.venv/bin/python");
    }
    QString modelFolder() const { return fromPath(m_folder / "data/demo-135m"); }
    RealDemoOffer* offer() const { return m_window->runPanel()->realDemoOffer(); }
    QPushButton* button() const {
        return offer()->findChild<QPushButton*>(QStringLiteral("realDemoButton"));
    }
    QString stage() const { return offer()->findChild<ElidedLabel*>()->fullText(); }
    QString chosenModel() const { return m_window->runPanel()->modelPicker()->folder(); }
    void click() { QTest::mouseClick(button(), Qt::LeftButton); }
};

TEST_F(RealDemoTest, isOfferedAtTheFirstStartWithItsSize) {
    setScript(ecokv::test::goodBuild());
    openDemo();
    EXPECT_TRUE(button()->isVisible());
    EXPECT_EQ(button()->text(), u"Real LLM (downloads 93 MB)"_qs);
    EXPECT_TRUE(button()->toolTip().contains(modelFolder()));
    EXPECT_FALSE(offer()->findChild<QProgressBar*>()->isVisible());
}

TEST_F(RealDemoTest, isChosenWithAPictureAndAQuestionWhenBuilt) {
    setScript(ecokv::test::goodBuild());
    openDemo();
    click();
    ASSERT_TRUE(waitFor([&] { return chosenModel() == modelFolder(); }));
    ASSERT_TRUE(waitFor([&] { return !m_bench->demoBuilder()->isBuilding(); }));
    const session::RunConfig config = m_window->runPanel()->config();
    ASSERT_EQ(config.images.size(), 1U);
    EXPECT_TRUE(std::filesystem::exists(config.images[0]));
    EXPECT_EQ(config.prompt, "UBB");
    EXPECT_EQ(m_window->runPanel()->expectedAnswer(), u"389"_qs);
    EXPECT_FALSE(offer()->isVisible());
    EXPECT_TRUE(runButton()->isEnabled());
    EXPECT_TRUE(m_window->timeline()->logText().contains(u"Built the real LLM"_qs));
}

TEST_F(RealDemoTest, isOnlyOpenedTheSecondTime) {
    setScript("exit 1\n");
    std::filesystem::create_directories(m_folder / "data/demo-135m");
    std::ofstream(m_folder / "data/demo-135m/ecokv-demo.json") << "{}";
    openDemo();
    EXPECT_EQ(button()->text(), u"Open the real LLM"_qs);
    click();
    EXPECT_EQ(chosenModel(), modelFolder());
    EXPECT_EQ(m_window->runPanel()->config().prompt, "UBB");
}

TEST_F(RealDemoTest, opensWithItsQuestionFromTheCommandLine) {
    std::filesystem::create_directories(m_folder / "data/demo-135m");
    std::ofstream(m_folder / "data/demo-135m/ecokv-demo.json") << "{}";
    open({modelFolder()});
    ASSERT_TRUE(waitFor([&] { return runButton()->isEnabled(); }));
    EXPECT_EQ(chosenModel(), modelFolder());
    EXPECT_EQ(m_window->runPanel()->expectedAnswer(), u"389"_qs);
}

TEST_F(RealDemoTest, cancellingActsWithin100MsAndOffersAgain) {
    setScript(ecokv::test::endlessBuild(m_folder / "running"));
    openDemo();
    m_window->resize(1280, 800);
    QTest::qWait(100); // the layout settles
    const QRect before = button()->geometry();
    click();
    ASSERT_TRUE(waitFor([&] { return stage().startsWith(u"Downloading · 1 of 93 MB"_qs); }));
    EXPECT_TRUE(offer()->findChild<QProgressBar*>()->isVisible());
    EXPECT_EQ(button()->text(), u"Cancel the build"_qs);
    EXPECT_EQ(button()->geometry(), before) << "nothing moves under the cursor";
    QElapsedTimer timer;
    timer.start();
    click();
    EXPECT_EQ(button()->text(), u"Real LLM (downloads 93 MB)"_qs);
    EXPECT_LT(timer.elapsed(), 100);
    EXPECT_FALSE(offer()->findChild<QProgressBar*>()->isVisible());
    EXPECT_TRUE(m_window->timeline()->logText().contains(u"nothing was kept"_qs));
    EXPECT_TRUE(waitFor([&] { return !std::filesystem::exists(m_folder / "running"); }));
    EXPECT_EQ(chosenModel(), m_resources + u"/demo-model"_qs);
}

TEST_F(RealDemoTest, escapeCancelsABuild) {
    setScript(ecokv::test::endlessBuild(m_folder / "running"));
    openDemo();
    click();
    ASSERT_TRUE(waitFor([&] { return stage().startsWith(u"Downloading"_qs); }));
    m_window->requestStop();
    EXPECT_FALSE(m_bench->demoBuilder()->isBuilding());
}

TEST_F(RealDemoTest, theDemoRunsWhileTheRealModelIsBuilt) {
    setScript(ecokv::test::endlessBuild(m_folder / "running"));
    openDemo();
    click();
    ASSERT_TRUE(waitFor([&] { return stage().startsWith(u"Downloading"_qs); }));
    QTest::mouseClick(runButton(), Qt::LeftButton);
    ASSERT_TRUE(waitFor([&] { return m_bench->state()->document() != nullptr; }));
    EXPECT_TRUE(m_bench->demoBuilder()->isBuilding());
}

TEST_F(RealDemoTest, aFailedBuildIsASentenceInTheBar) {
    setScript(
        "echo '{\"error\": \"The package index cannot be reached.\", \"advice\": \"Connect.\"}'\n"
        "exit 3\n");
    openDemo();
    click();
    ASSERT_TRUE(waitFor([&] { return m_window->errorBar()->isVisible(); }));
    EXPECT_EQ(m_window->errorBar()->failure().message, u"The package index cannot be reached."_qs);
    EXPECT_EQ(m_window->errorBar()->failure().advice, u"Connect."_qs);
    EXPECT_EQ(button()->text(), u"Real LLM (downloads 93 MB)"_qs);
}

TEST_F(RealDemoTest, withoutTheScriptsTheCommandIsExplained) {
    openDemo();
    EXPECT_FALSE(button()->isVisible());
    const auto labels = offer()->findChildren<QLabel*>();
    const auto hint = std::find_if(labels.begin(), labels.end(), [](const QLabel* label) {
        return label->isVisible() && label->text().contains(u"\n./run --demo 135m\n"_qs);
    });
    ASSERT_NE(hint, labels.end());
    EXPECT_TRUE((*hint)->text().contains(u"93 MB"_qs));
}

TEST_F(RealDemoTest, isNotOfferedBesideAModelOfTheUsersOwn) {
    setScript(ecokv::test::goodBuild());
    openDemo();
    m_window->runPanel()->openModel(u"/my/own/model"_qs);
    EXPECT_FALSE(offer()->isVisible());
}

} // namespace ecokv::ui::test

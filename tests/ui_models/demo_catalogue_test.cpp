// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/demo_catalogue.h"

#include "base/error.h"
#include "support/sample_trace.h"
#include "ui/models/paths.h"

#include <gtest/gtest.h>

#include <QFileInfo>
#include <QStandardPaths>

#include <fstream>

namespace ecokv::ui {

namespace {

QString shippedResources() {
    return QStringLiteral(ECOKV_SOURCE_DIR "/resources");
}

} // namespace

TEST(DemoCatalogue, findsTheResourcesOfTheSourceTree) {
    EXPECT_EQ(findResources({u"/nowhere"_qs, shippedResources()}), shippedResources());
    EXPECT_EQ(findResources({u"/nowhere"_qs}), QString());
}

TEST(DemoCatalogue, searchesBesideTheProgramFirst) {
    const QStringList candidates = resourceCandidates(u"/opt/lens/bin"_qs);
    EXPECT_EQ(candidates.value(0), u"/opt/lens/bin/resources"_qs);
    EXPECT_EQ(candidates.value(1), u"/opt/lens/bin/../share/ecokv-lens"_qs);
}

TEST(DemoCatalogue, readsEveryShippedDocument) {
    const DemoCatalogue catalogue = loadDemoCatalogue(shippedResources());
    EXPECT_TRUE(QFileInfo::exists(catalogue.model + u"/config.json"_qs));
    ASSERT_GE(catalogue.documents.size(), 8U);
    for (const DemoDocument& document : catalogue.documents) {
        EXPECT_TRUE(QFileInfo::exists(document.picture)) << document.picture.toStdString();
        EXPECT_FALSE(document.note.isEmpty());
        ASSERT_FALSE(document.questions.empty());
        EXPECT_FALSE(document.questions.front().answer.isEmpty());
    }
}

TEST(DemoCatalogue, readsTheQuestionsForTheRealModel) {
    const ecokv::test::TemporaryFolder folder;
    const DemoCatalogue catalogue =
        loadDemoCatalogue(shippedResources(), fromPath(folder / "data"));
    const RealDemo& real = catalogue.real;
    EXPECT_EQ(real.folder, fromPath(folder / "data/demo-135m"));
    EXPECT_FALSE(real.built);
    EXPECT_TRUE(real.script.endsWith(u"/resources/demo-135m/build.py"_qs));
    ASSERT_GE(real.documents.size(), 5U);
    for (const DemoDocument& document : real.documents) {
        EXPECT_TRUE(QFileInfo::exists(document.picture)) << document.picture.toStdString();
        EXPECT_FALSE(document.picture.contains(u".."_qs)); // as the small demo names it
        for (const DemoQuestion& question : document.questions) {
            EXPECT_EQ(question.question.size(), 3) << "a bare key";
        }
    }
}

TEST(DemoCatalogue, theRealModelIsThereOnceItsManifestIs) {
    const ecokv::test::TemporaryFolder folder;
    std::filesystem::create_directories(folder / "demo-135m");
    EXPECT_FALSE(loadDemoCatalogue(shippedResources(), fromPath(folder / "")).real.built);
    std::ofstream(folder / "demo-135m/ecokv-demo.json") << "{}";
    EXPECT_TRUE(loadDemoCatalogue(shippedResources(), fromPath(folder / "")).real.built);
}

TEST(DemoCatalogue, theRealModelIsLookedForWhereTheScriptPutsIt) {
    qputenv("XDG_DATA_HOME", "/somewhere/data");
    QStandardPaths::setTestModeEnabled(false);
    EXPECT_EQ(userDataFolder(), u"/somewhere/data/ecokv-lens"_qs);
    QStandardPaths::setTestModeEnabled(true);
    qunsetenv("XDG_DATA_HOME");
}

TEST(DemoCatalogue, withoutResourcesThereIsNothing) {
    EXPECT_TRUE(loadDemoCatalogue({}).documents.empty());
}

TEST(DemoCatalogue, brokenListIsNamedInTheError) {
    const ecokv::test::TemporaryFolder folder;
    std::filesystem::create_directories(folder / "demo-documents");
    std::ofstream(folder / "demo-documents/documents.json") << "{ \"documents\": [ oops";
    try {
        loadDemoCatalogue(QString::fromStdString(folder.path().string()));
        FAIL() << "a broken list was accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("documents.json"), std::string::npos);
        EXPECT_FALSE(error.advice().empty());
    }
}

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/workers/file_jobs.h"

#include "base/error.h"
#include "support/sample_trace.h"
#include "ui/models/paths.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include <fstream>

namespace ecokv::ui {

namespace {

constexpr int kPatienceMs = 8000;

std::string contentOf(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

class FileJobsTest : public testing::Test {
protected:
    ecokv::test::TemporaryFolder m_folder;
    FileJobs m_jobs;
};

} // namespace

TEST_F(FileJobsTest, opensATrace) {
    DocumentPtr opened;
    QObject::connect(&m_jobs, &FileJobs::traceOpened, &m_jobs,
                     [&](const DocumentPtr& document) { opened = document; });
    m_jobs.openTrace(fromPath(ecokv::test::writeSampleTrace(m_folder / "sample.ecokv.h5")));
    ASSERT_TRUE(QTest::qWaitFor([&] { return opened != nullptr; }, kPatienceMs));
    EXPECT_EQ(opened->dimensions.tokens, 30);
}

TEST_F(FileJobsTest, brokenTraceIsASentenceF157) {
    std::ofstream(m_folder / "broken.h5") << "this is no HDF5 file";
    const QSignalSpy failed(&m_jobs, &FileJobs::failed);
    const QSignalSpy traceFailed(&m_jobs, &FileJobs::traceFailed);
    m_jobs.openTrace(fromPath(m_folder / "broken.h5"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return failed.count() == 1; }, kPatienceMs));
    EXPECT_TRUE(failed.at(0).at(0).value<JobFailure>().message.contains(u"broken.h5"_qs));
    EXPECT_TRUE(traceFailed.at(0).at(0).toString().endsWith(u"broken.h5"_qs));
}

TEST_F(FileJobsTest, savesAWholeCopy) {
    const auto path = ecokv::test::writeSampleTrace(m_folder / "sample.ecokv.h5");
    const DocumentPtr document = analysis::openTrace(path);
    const QSignalSpy written(&m_jobs, &FileJobs::written);
    m_jobs.saveTrace(document, fromPath(m_folder / "copy.ecokv.h5"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return written.count() == 1; }, kPatienceMs));
    EXPECT_EQ(contentOf(m_folder / "copy.ecokv.h5"), contentOf(path));
    EXPECT_FALSE(std::filesystem::exists(m_folder / "copy.ecokv.h5.part"));
}

TEST_F(FileJobsTest, savingOntoItselfKeepsTheTrace) {
    const auto path = ecokv::test::writeSampleTrace(m_folder / "sample.ecokv.h5");
    const std::string before = contentOf(path);
    copyFile(fromPath(path), fromPath(path));
    EXPECT_EQ(contentOf(path), before);
}

TEST_F(FileJobsTest, unwritableTargetIsNamed) {
    const auto path = ecokv::test::writeSampleTrace(m_folder / "sample.ecokv.h5");
    try {
        copyFile(fromPath(path), u"/no/such/folder/copy.h5"_qs);
        FAIL() << "copied into a folder that does not exist";
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("/no/such/folder/copy.h5"), std::string::npos);
    }
}

TEST_F(FileJobsTest, loadsTheShippedCatalogue) {
    DemoCatalogue catalogue;
    QObject::connect(&m_jobs, &FileJobs::catalogueLoaded, &m_jobs,
                     [&](const DemoCatalogue& loaded) { catalogue = loaded; });
    m_jobs.loadCatalogue(QStringLiteral(ECOKV_SOURCE_DIR "/resources"));
    ASSERT_TRUE(QTest::qWaitFor([&] { return !catalogue.documents.empty(); }, kPatienceMs));
}

} // namespace ecokv::ui

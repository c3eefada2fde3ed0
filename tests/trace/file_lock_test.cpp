// SPDX-License-Identifier: GPL-3.0-or-later
// Field cases F122, F123, F140: files that others hold, and disks that know no locks.
#include "base/error.h"
#include "support/sample_trace.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace {

int g_lockError = 0; ///< errno that flock reports; 0 = the real one

} // namespace

// Found by the HDF5 library before the C library's: plays a network disk without a lock service.
extern "C" int flock(int descriptor, int operation) noexcept {
    if (g_lockError != 0) {
        errno = g_lockError;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_flock, descriptor, operation));
}

namespace ecokv::trace {

namespace {

/// A child process that writes a trace and keeps it open until it is told to end.
class WritingProcess {
public:
    explicit WritingProcess(const std::filesystem::path& path) {
        if (::pipe(m_ready) != 0) {
            throw std::runtime_error("no pipe");
        }
        m_child = ::fork();
        if (m_child == 0) {
            writeUntilKilled(path);
        }
        ::close(m_ready[1]);
        char byte = 0;
        [[maybe_unused]] const auto got = ::read(m_ready[0], &byte, 1);
    }
    ~WritingProcess() {
        ::kill(m_child, SIGKILL);
        ::waitpid(m_child, nullptr, 0);
        ::close(m_ready[0]);
    }
    WritingProcess(const WritingProcess&) = delete;
    WritingProcess& operator=(const WritingProcess&) = delete;

private:
    [[noreturn]] void writeUntilKilled(const std::filesystem::path& path) const {
        try {
            const test::SampleOptions options;
            TraceWriter writer(test::sampleWriterOptions(path, options));
            writer.writePrompt(test::samplePrompt());
            [[maybe_unused]] const auto written = ::write(m_ready[1], "x", 1);
            for (;;) {
                ::pause();
            }
        } catch (...) {
            ::_exit(3);
        }
    }

    int m_ready[2] = {-1, -1};
    pid_t m_child = -1;
};

class WithoutLocks {
public:
    explicit WithoutLocks(int error) { g_lockError = error; }
    ~WithoutLocks() { g_lockError = 0; }
};

template <class Call> Error errorOf(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    return {ErrorKind::Internal, "no error"};
}

} // namespace

TEST(FileLock, aTraceAnotherProcessWritesIsRefusedWithTheCause) { // F122
    const test::TemporaryFolder folder;
    const WritingProcess process(folder / "a.ecokv.h5");
    const Error error = errorOf([&] { TraceReader reader(folder / "a.ecokv.h5.part"); });
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    EXPECT_NE(error.message().find("a.ecokv.h5.part is locked: another program is writing it"),
              std::string::npos)
        << error.message();
    EXPECT_FALSE(error.advice().empty());
}

TEST(FileLock, twoRunsCannotWriteTheSameTrace) { // F140
    const test::TemporaryFolder folder;
    const WritingProcess process(folder / "a.ecokv.h5");
    const auto size = std::filesystem::file_size(folder / "a.ecokv.h5.part");
    const Error error = errorOf([&] { test::writeSampleTrace(folder / "a.ecokv.h5"); });
    EXPECT_NE(error.message().find("is locked"), std::string::npos) << error.message();
    EXPECT_GE(std::filesystem::file_size(folder / "a.ecokv.h5.part"), size); // untouched
}

TEST(FileLock, readingGoesOnWithoutLocksAndSaysSo) { // F123
    const test::TemporaryFolder folder;
    const auto path = test::writeSampleTrace(folder / "a.ecokv.h5");
    for (const int code : {ENOLCK, 524}) { // 524 = ENOTSUPP, from NFS
        const WithoutLocks disk(code);
        const TraceReader reader(path);
        ASSERT_EQ(reader.problems().size(), 1U);
        EXPECT_NE(reader.problems()[0].find("offers no file locks"), std::string::npos);
        EXPECT_EQ(reader.keys(1, 0).at(0), test::sampleKey(1, 0, 0, 0));
    }
}

TEST(FileLock, writingWithoutLocksIsRefusedWithAdvice) { // F123
    const test::TemporaryFolder folder;
    const WithoutLocks disk(ENOLCK);
    const Error error = errorOf([&] { test::writeSampleTrace(folder / "a.ecokv.h5"); });
    EXPECT_EQ(error.kind(), ErrorKind::BadInput);
    EXPECT_NE(error.message().find("offers no file locks"), std::string::npos) << error.message();
    EXPECT_NE(error.advice().find("local disk"), std::string::npos);
    EXPECT_FALSE(std::filesystem::exists(folder / "a.ecokv.h5.part"));
}

TEST(FileLock, theTraceOnScreenIsNotOverwritten) { // F140
    const test::TemporaryFolder folder;
    const auto path = test::writeSampleTrace(folder / "a.ecokv.h5");
    {
        const TraceReader onScreen(path);
        const auto same = folder.path() / "." / "a.ecokv.h5";
        const Error error = errorOf([&] { test::writeSampleTrace(same); });
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("is open here"), std::string::npos);
        EXPECT_NE(error.advice().find("another name"), std::string::npos);
        EXPECT_EQ(onScreen.keys(0, 0).at(0), test::sampleKey(0, 0, 0, 0));
    }
    EXPECT_NO_THROW(test::writeSampleTrace(path)); // closed: may be replaced
}

TEST(FileLock, aPartMayBeWatchedInTheProcessThatWritesIt) {
    const test::TemporaryFolder folder;
    const test::SampleOptions options;
    TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5", options));
    const TraceReader reader(folder / "a.ecokv.h5.part");
    EXPECT_FALSE(reader.complete());
    test::writeSampleLayer(writer, options, 0);
    EXPECT_NO_THROW(writer.close());
}

} // namespace ecokv::trace

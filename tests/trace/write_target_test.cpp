// SPDX-License-Identifier: GPL-3.0-or-later
// What a trace may replace and what it must not. No test here goes near a real device: as root, a
// mistake would replace it.
#include "trace/write_target.h"

#include "base/error.h"
#include "support/sample_trace.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>
#include <hdf5.h>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <optional>

namespace ecokv::trace {

namespace fs = std::filesystem;

namespace {

/// What the writer says of this target; nothing if it takes it.
std::optional<Error> refusal(const fs::path& path) {
    try {
        TraceWriter writer(test::sampleWriterOptions(path));
    } catch (const Error& error) {
        return error;
    }
    return std::nullopt;
}

constexpr const char* kNameAFile = "Give a file name ending in .ecokv.h5.";
constexpr const char* kClearThePart = "Remove it, or give another file name ending in .ecokv.h5.";
constexpr const char* kCreateIt = "Create the folder first.";

void expectRefused(const fs::path& path, const std::string& why, const std::string& advice) {
    const auto error = refusal(path);
    ASSERT_TRUE(error) << path;
    EXPECT_EQ(error->kind(), ErrorKind::BadInput);
    EXPECT_EQ(error->message(), path.string() + " cannot be written: " + why + ".");
    EXPECT_EQ(error->advice(), advice);
}

void makePipe(const fs::path& path) {
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
}

std::size_t entriesOf(const fs::path& folder) {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

/// Root may write anywhere: for its lifetime the process is somebody else.
class WithoutRoot {
public:
    WithoutRoot() : m_wasRoot(::geteuid() == 0) { m_works = !m_wasRoot || ::seteuid(65534) == 0; }
    ~WithoutRoot() {
        if (m_wasRoot && m_works && ::seteuid(0) != 0) {
            std::abort();
        }
    }
    WithoutRoot(const WithoutRoot&) = delete;
    WithoutRoot& operator=(const WithoutRoot&) = delete;
    bool works() const { return m_works; }

private:
    bool m_wasRoot = false, m_works = false;
};

} // namespace

TEST(WriteTarget, namesWhatMustNotBeReplaced) {
    EXPECT_EQ(obstacleName(fs::file_type::character), "a device");
    EXPECT_EQ(obstacleName(fs::file_type::block), "a device");
    EXPECT_EQ(obstacleName(fs::file_type::socket), "a socket");
    EXPECT_EQ(obstacleName(fs::file_type::unknown), "not a file");
    EXPECT_EQ(obstacleName(fs::file_type::regular), "");
    EXPECT_EQ(obstacleName(fs::file_type::not_found), "");
}

TEST(WriteTarget, refusesAPipeAndLeavesIt) {
    const test::TemporaryFolder folder;
    const fs::path path = folder / "a.ecokv.h5";
    makePipe(path);
    expectRefused(path, "it is a pipe", kNameAFile);
    EXPECT_TRUE(fs::is_fifo(path));
    EXPECT_EQ(entriesOf(folder.path()), 1U);
}

TEST(WriteTarget, refusesALinkToAPipeAndLeavesBoth) { // as /dev/stdout of a shell pipeline
    const test::TemporaryFolder folder;
    makePipe(folder / "pipe");
    fs::create_symlink("pipe", folder / "a.ecokv.h5");
    expectRefused(folder / "a.ecokv.h5", "it is a pipe", kNameAFile);
    EXPECT_TRUE(fs::is_fifo(folder / "pipe"));
    EXPECT_TRUE(fs::is_symlink(folder / "a.ecokv.h5"));
}

TEST(WriteTarget, refusesAFolder) {
    const test::TemporaryFolder folder;
    fs::create_directory(folder / "runs");
    expectRefused(folder / "runs", "it is a folder", kNameAFile);
    EXPECT_TRUE(fs::is_empty(folder / "runs"));
}

TEST(WriteTarget, refusesWhereThePartNameIsTaken) {
    const test::TemporaryFolder folder;
    const fs::path path = folder / "a.ecokv.h5";
    const fs::path part = folder / "a.ecokv.h5.part";
    makePipe(part);
    expectRefused(path, part.string() + ", needed meanwhile, is a pipe", kClearThePart);
    EXPECT_TRUE(fs::is_fifo(part));
    fs::remove(part);
    fs::create_directory(part);
    expectRefused(path, part.string() + ", needed meanwhile, is a folder", kClearThePart);
    fs::remove(part);
    fs::create_symlink("elsewhere", part);
    expectRefused(path, part.string() + ", needed meanwhile, is a link", kClearThePart);
    EXPECT_TRUE(fs::is_symlink(part));
}

TEST(WriteTarget, replacesOnlyItsOwnKind) { // whatever command writes: run, replay --out, ...
    const test::TemporaryFolder folder;
    const auto refuses = [&](const fs::path& path, const TargetKind& kind) {
        try {
            checkedTarget(path, kind);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::BadInput);
            EXPECT_EQ(error.message(), path.string() + " exists and is not a " + kind.name +
                                           "; it is left as it is.");
            return true;
        }
        return false;
    };
    const TargetKind trace{"trace", "ecokv-trace"}, cache{"saved cache", "ecokv-cache"};
    const fs::path weights = folder / "model.safetensors";
    std::ofstream(weights) << "weights";
    EXPECT_TRUE(refuses(weights, trace));
    EXPECT_TRUE(refuses(weights, cache));
    const fs::path run = test::writeSampleTrace(folder / "a.ecokv.h5");
    EXPECT_FALSE(refuses(run, trace));
    EXPECT_TRUE(refuses(run, cache));
    const fs::path mine = folder / "mine.h5"; // as another program wrote it
    H5Fclose(H5Fcreate(mine.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT));
    EXPECT_TRUE(refuses(mine, trace));
    const fs::path empty = folder / "empty.h5", fresh = folder / "new.h5";
    std::ofstream{empty};
    EXPECT_FALSE(refuses(empty, trace));
    EXPECT_FALSE(refuses(fresh, cache));
    fs::resize_file(run, fs::file_size(run) / 2); // nobody can open it any more
    EXPECT_FALSE(refuses(run, trace));
    EXPECT_EQ(fs::file_size(weights), 7U);
}

TEST(WriteTarget, replacesTheFileBehindALinkAndKeepsTheLink) {
    const test::TemporaryFolder folder;
    fs::create_directory(folder / "disk");
    const fs::path real = folder / "disk/real.ecokv.h5";
    test::writeSampleTrace(real);
    fs::create_symlink("disk/real.ecokv.h5", folder / "link");
    fs::create_symlink(folder / "link", folder / "a.ecokv.h5"); // absolute, to a relative one
    TraceWriter writer(test::sampleWriterOptions(folder / "a.ecokv.h5"));
    EXPECT_TRUE(fs::exists(folder / "disk/real.ecokv.h5.part"));
    writer.close();
    EXPECT_TRUE(fs::is_symlink(folder / "a.ecokv.h5"));
    EXPECT_TRUE(fs::is_symlink(folder / "link"));
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(real)));
    EXPECT_TRUE(TraceReader(real).complete());
    EXPECT_EQ(entriesOf(folder.path()), 3U);
    EXPECT_EQ(entriesOf(folder / "disk"), 1U);
}

TEST(WriteTarget, createsTheFileThatADanglingLinkNames) {
    const test::TemporaryFolder folder;
    fs::create_symlink("later.ecokv.h5", folder / "a.ecokv.h5");
    test::writeSampleTrace(folder / "a.ecokv.h5");
    EXPECT_TRUE(fs::is_symlink(folder / "a.ecokv.h5"));
    EXPECT_TRUE(TraceReader(folder / "later.ecokv.h5").complete());
    EXPECT_EQ(entriesOf(folder.path()), 2U);
}

TEST(WriteTarget, refusesLinksThatLeadNowhere) {
    const test::TemporaryFolder folder;
    fs::create_symlink("none/real.ecokv.h5", folder / "a.ecokv.h5");
    expectRefused(folder / "a.ecokv.h5",
                  "the folder " + (folder / "none").string() + " does not exist", kCreateIt);
    fs::create_symlink("circle", folder / "circle");
    const auto error = refusal(folder / "circle");
    ASSERT_TRUE(error);
    EXPECT_EQ(error->kind(), ErrorKind::BadInput);
    EXPECT_TRUE(fs::is_symlink(folder / "circle"));
}

TEST(WriteTarget, saysWhatIsWrongWithTheFolder) {
    const test::TemporaryFolder folder;
    expectRefused(folder / "none/a.ecokv.h5",
                  "the folder " + (folder / "none").string() + " does not exist", kCreateIt);
    std::ofstream(folder / "notes.txt") << "text";
    expectRefused(folder / "notes.txt/a.ecokv.h5",
                  (folder / "notes.txt").string() + " is not a folder", kNameAFile);
}

TEST(WriteTarget, refusesAFolderThatCannotBeWritten) {
    const test::TemporaryFolder folder;
    fs::permissions(folder.path(), fs::perms(0555));
    {
        const WithoutRoot somebody;
        if (!somebody.works()) {
            GTEST_SKIP() << "root cannot become another user here";
        }
        expectRefused(folder / "a.ecokv.h5",
                      "no file can be created in the folder " + folder.path().string() +
                          " (Permission denied)",
                      "Choose a folder of your own.");
    }
    fs::permissions(folder.path(), fs::perms(0755));
}

} // namespace ecokv::trace

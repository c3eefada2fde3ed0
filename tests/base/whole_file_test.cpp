// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/whole_file.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <iterator>

#include <sys/resource.h>
#include <unistd.h>

namespace ecokv {
namespace {

namespace fs = std::filesystem;

/// A folder of its own, gone with the test.
class WholeFile : public testing::Test {
protected:
    WholeFile() { fs::create_directories(m_folder); }
    ~WholeFile() override { fs::remove_all(m_folder); }

    static std::string textOf(const fs::path& path) {
        std::ifstream stream(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }
    std::ptrdiff_t files() const {
        return std::distance(fs::directory_iterator(m_folder), fs::directory_iterator());
    }

    fs::path m_folder =
        fs::temp_directory_path() / ("ecokv-whole-file-" + std::to_string(::getpid()));
    fs::path m_path = m_folder / "table.csv";
};

/// No file may grow beyond `bytes`, as on a full disk.
class FullDisk {
public:
    explicit FullDisk(rlim_t bytes) : m_handler(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &m_before);
        const rlimit small{bytes, m_before.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    ~FullDisk() {
        ::setrlimit(RLIMIT_FSIZE, &m_before);
        std::signal(SIGXFSZ, m_handler);
    }
    FullDisk(const FullDisk&) = delete;
    FullDisk& operator=(const FullDisk&) = delete;

private:
    rlimit m_before{};
    void (*m_handler)(int);
};

} // namespace

TEST_F(WholeFile, takesThePlaceOfAnOlderOne) {
    writeWholeFile(m_path, "a,b\n1,2\n");
    writeWholeFile(m_path, "a\n");
    EXPECT_EQ(textOf(m_path), "a\n");
    EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, anOlderFileStaysWhenTheDiskIsFull) {
    writeWholeFile(m_path, "good\n");
    {
        const FullDisk full(4096);
        EXPECT_THROW(writeWholeFile(m_path, std::string(100'000, 'x')), Error);
    }
    EXPECT_EQ(textOf(m_path), "good\n");
    EXPECT_EQ(files(), 1); // no .part is left
}

TEST_F(WholeFile, aLinkStaysALink) {
    fs::create_symlink("real.csv", m_path);
    std::ofstream(m_folder / "real.csv") << "old";
    writeWholeFile(m_path, "new");
    EXPECT_TRUE(fs::is_symlink(m_path));
    EXPECT_EQ(textOf(m_folder / "real.csv"), "new");
}

TEST_F(WholeFile, foldersDevicesAndDeadLinksAreRefused) {
    fs::create_symlink("nowhere", m_path);
    for (const fs::path& path :
         {m_folder, fs::path("/dev/null"), m_path, m_folder / "no" / "such.csv"}) {
        try {
            writeWholeFile(path, "a");
            ADD_FAILURE() << path << " was written";
        } catch (const Error& error) {
            EXPECT_NE(error.message().find(path.string()), std::string::npos) << error.message();
            EXPECT_FALSE(error.advice().empty());
        }
    }
    EXPECT_EQ(files(), 1);
}

TEST_F(WholeFile, aFolderInTheWayOfThePartIsLeftAlone) {
    fs::create_directory(m_path.string() + ".part");
    EXPECT_THROW(writeWholeFile(m_path, "a"), Error);
    EXPECT_TRUE(fs::is_directory(m_path.string() + ".part"));
    EXPECT_FALSE(fs::exists(m_path));
}

} // namespace ecokv

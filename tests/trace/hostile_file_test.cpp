// SPDX-License-Identifier: GPL-3.0-or-later
// Nonsense yields Error{BadInput}, never a crash. Damaged files are read in a child process, so
// that a crash inside HDF5 would be seen as such.
#include "base/error.h"
#include "support/sample_trace.h"
#include "trace/hdf5/datasets.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

namespace ecokv::trace {

namespace {

namespace fs = std::filesystem;

/// Calls everything a reader offers; errors are fine.
void readEverything(const fs::path& path) {
    const TraceReader reader(path);
    const auto attempt = [](auto read) {
        try {
            read();
        } catch (const Error&) { // the answer we want
        }
    };
    attempt([&] { reader.model(); });
    attempt([&] { reader.run(); });
    attempt([&] { reader.prompt(); });
    attempt([&] { reader.images(); });
    attempt([&] { reader.decode(); });
    attempt([&] { reader.entries(); });
    attempt([&] {
        for (const auto& id : reader.policyIds()) {
            reader.policy(id);
        }
    });
    for (std::int64_t layer = 0; layer < 4; ++layer) {
        attempt([&] { reader.keys(layer, 1); });
        attempt([&] { reader.values(layer, 0); });
        attempt([&] { reader.windowQueries(layer, 2); });
        attempt([&] { reader.scores("score", layer, 1); });
    }
}

/// "" if a child read the file to the end or was refused with an Error; else what happened to it.
std::string outcomeOf(const fs::path& path) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(20);
        try {
            readEverything(path);
        } catch (const Error&) {
        } catch (...) {
            ::_exit(9);
        }
        ::_exit(0);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) {
        return "ended by signal " + std::to_string(WTERMSIG(status));
    }
    return WEXITSTATUS(status) == 0 ? "" : "threw something else than Error";
}

std::string bytesOf(const fs::path& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Heaps of variable-length text carry no checksum, and HDF5 1.10 follows a damaged length in them
/// out of its memory. Nothing above it can tell; so damage is made everywhere else.
std::vector<bool> heapBytes(const std::string& bytes) {
    std::vector<bool> inHeap(bytes.size(), false);
    for (auto at = bytes.find("GCOL"); at != std::string::npos; at = bytes.find("GCOL", at + 4)) {
        std::uint64_t size = 0;
        std::memcpy(&size, bytes.data() + at + 8, sizeof size);
        const auto first = inHeap.begin() + static_cast<std::ptrdiff_t>(at);
        std::fill(first, first + static_cast<std::ptrdiff_t>(size), true);
    }
    return inHeap;
}

void writeBytes(const fs::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

} // namespace

TEST(HostileFile, filesThatAreNotHdf5AreRefused) {
    const test::TemporaryFolder folder;
    const std::string signature = "\x89HDF\r\n\x1a\n";
    for (const std::string& bytes :
         {std::string(), std::string("x"), std::string(100'000, '\0'), std::string(5000, '\xFF'),
          signature, signature + std::string(4096, '\0'), signature + std::string(4096, '\xFF')}) {
        writeBytes(folder / "a.h5", bytes);
        try {
            const TraceReader reader(folder / "a.h5");
            FAIL() << "nonsense of " << bytes.size() << " bytes was opened";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::BadInput);
            EXPECT_NE(error.message().find("a.h5"), std::string::npos);
        }
    }
    EXPECT_THROW(TraceReader reader(folder.path()), Error);
    EXPECT_THROW(TraceReader reader(folder / "absent.h5"), Error);
}

namespace {

/// A file that claims tensors and scores of `tokens` tokens and holds none of them.
void writeClaim(const fs::path& path, std::int64_t tokens) {
    const LibraryLock lock;
    const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    createGroup(file.get(), "tensors");
    createGroup(file.get(), "scores");
    createGroup(file.get(), "prompt");
    writeTextDataset(file.get(), "prompt/text", "nothing else");
    for (const char* name : {"tensors/keys", "tensors/values", "tensors/window_queries"}) {
        createDataset(file.get(), {.name = name,
                                   .type = H5T_IEEE_F32LE,
                                   .shape = {1, 1, tokens, 4096},
                                   .chunk = {1, 1, 16, 4096},
                                   .deflate = true});
    }
    createDataset(file.get(), {.name = "scores/score",
                               .type = H5T_IEEE_F32LE,
                               .shape = {1, 1, tokens},
                               .chunk = {1, 1, 1024},
                               .deflate = true});
}

} // namespace

TEST(HostileFile, aShapeItsBytesCannotHoldIsNotAllocated) {
    const test::TemporaryFolder folder;
    writeClaim(folder / "a.h5", 1 << 24); // 256 GiB of keys
    const TraceReader reader(folder / "a.h5");
    try {
        reader.keys(0, 0);
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("claims"), std::string::npos) << error.message();
    }
    EXPECT_THROW(reader.windowQueries(0, 0), Error);
}

TEST(HostileFile, aPromptBeyondAllSenseIsRefused) {
    const test::TemporaryFolder folder;
    writeClaim(folder / "a.h5", std::int64_t{1} << 40);
    try {
        const TraceReader reader(folder / "a.h5");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("has shape [1, 1, 1099511627776, 4096]"), std::string::npos)
            << error.message();
    }
}

TEST(HostileFile, damagedBytesAreNeverACrash) {
    const test::TemporaryFolder folder;
    const std::string good = bytesOf(test::writeSampleTrace(folder / "good.ecokv.h5"));
    const auto inHeap = heapBytes(good);
    std::mt19937 random(20260);
    const auto pick = [&](std::size_t below) {
        return std::uniform_int_distribution<std::size_t>(0, below - 1)(random);
    };
    std::string failures;
    for (int attempt = 0; attempt < 120; ++attempt) {
        std::string bytes = good;
        const std::size_t span = attempt % 2 == 0 ? 4096 : bytes.size(); // headers lie in front
        for (int change = 0; change < 1 + attempt % 8; ++change) {
            const std::size_t at = pick(span);
            bytes[at] = inHeap[at] ? bytes[at] : static_cast<char>(pick(256));
        }
        writeBytes(folder / "bad.h5", bytes);
        if (const auto outcome = outcomeOf(folder / "bad.h5"); !outcome.empty()) {
            failures += "attempt " + std::to_string(attempt) + " " + outcome + "\n";
        }
    }
    EXPECT_EQ(failures, "");
}

} // namespace ecokv::trace

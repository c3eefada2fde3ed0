// SPDX-License-Identifier: GPL-3.0-or-later
// H1 to H3 of the performance table: writing a trace against plain pwrite of the same bytes and
// against HDF5 chunks as h5py guesses them; reading one head of either. Files go through the page
// cache of one folder (the first argument, else the temporary folder) and are removed.
#include "base/float_convert.h"
#include "bench/paired.h"
#include "trace/hdf5/datasets.h"
#include "trace/trace_reader.h"
#include "trace/trace_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <filesystem>
#include <stdexcept>
#include <vector>

namespace ecokv::bench {

namespace {

namespace fs = std::filesystem;
using namespace trace;

constexpr int kPairs = 9;
const Dimensions kRun{8, 32, 8, 8192, 128, 32}; // bf16: 256 MiB of keys and values, 4 of queries
constexpr std::size_t kBlock = 1U << 20;        // bytes per pwrite

void require(bool right, const std::string& what) {
    if (!right) {
        throw std::runtime_error(what + " is wrong: no time is printed");
    }
}

/// One layer's tensors in bf16; every layer is written from the same memory.
struct Tensors {
    std::vector<std::uint16_t> keys, queries;

    Tensors()
        : keys(static_cast<std::size_t>(kRun.kvHeads * kRun.tokens * kRun.headDim)),
          queries(static_cast<std::size_t>(kRun.heads * kRun.window * kRun.headDim)) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
            keys[i] = floatToBf16(std::sin(0.001F * static_cast<float>(i % 100'003)));
        }
    }

    std::size_t layerBytes() const { return 2 * (2 * keys.size() + queries.size()); }

    LayerRecord layer(std::int64_t index) {
        LayerRecord record;
        record.layer = index;
        record.keys = TensorView::contiguous(keys.data(), DType::BF16,
                                             {kRun.kvHeads, kRun.tokens, kRun.headDim});
        record.values = record.keys;
        record.windowQueries = TensorView::contiguous(queries.data(), DType::BF16,
                                                      {kRun.heads, kRun.window, kRun.headDim});
        return record;
    }
};

void writeTrace(const fs::path& path, Tensors& tensors) {
    WriterOptions options;
    options.path = path;
    options.dimensions = kRun;
    options.tensorDType = DType::BF16;
    options.producer = "bench";
    TraceWriter writer(options);
    for (std::int64_t layer = 0; layer < kRun.layers; ++layer) {
        writer.writeLayer(tensors.layer(layer));
    }
    writer.close();
}

void pwriteAll(int file, const void* data, std::size_t bytes, off_t& at) {
    const auto* source = static_cast<const char*>(data);
    for (std::size_t done = 0; done < bytes; done += kBlock) {
        const std::size_t count = std::min(kBlock, bytes - done);
        require(::pwrite(file, source + done, count, at) == static_cast<ssize_t>(count), "pwrite");
        at += static_cast<off_t>(count);
    }
}

void writeRaw(const fs::path& path, const Tensors& tensors) {
    const int file = ::open(path.c_str(), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0644);
    off_t at = 0;
    for (std::int64_t layer = 0; layer < kRun.layers; ++layer) {
        pwriteAll(file, tensors.keys.data(), 2 * tensors.keys.size(), at);
        pwriteAll(file, tensors.keys.data(), 2 * tensors.keys.size(), at);
        pwriteAll(file, tensors.queries.data(), 2 * tensors.queries.size(), at);
    }
    ::close(file);
}

/// The chunk shape h5py 3 guesses for `chunks=True` (h5py/_hl/filters.py, guess_chunk).
std::vector<std::int64_t> guessedChunk(std::vector<std::int64_t> shape, double typeSize) {
    const auto bytes = [&] {
        double product = typeSize;
        for (const std::int64_t extent : shape) {
            product *= static_cast<double>(extent);
        }
        return product;
    };
    const double wanted = 16.0 * 1024 * std::exp2(std::log10(bytes() / (1024.0 * 1024.0)));
    const double target = std::clamp(wanted, 8.0 * 1024, 1024.0 * 1024);
    for (std::size_t i = 0;; ++i) {
        const double now = bytes();
        if ((now < target || std::abs(now - target) / target < 0.5) && now < 1024.0 * 1024) {
            return shape;
        }
        std::int64_t& extent = shape[i % shape.size()];
        extent = (extent + 1) / 2;
    }
}

/// Keys and values through H5Dwrite, layer by layer, as a script would.
void writeGuessed(const fs::path& path, Tensors& tensors) {
    const LibraryLock lock;
    const Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    const Handle type = storedType(DType::BF16);
    const std::vector<std::int64_t> shape{kRun.layers, kRun.kvHeads, kRun.tokens, kRun.headDim};
    for (const char* name : {"keys", "values"}) {
        const auto chunk = guessedChunk(shape, 2);
        const Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
        const std::vector<hsize_t> chunkSize(chunk.begin(), chunk.end());
        const std::vector<hsize_t> extents(shape.begin(), shape.end());
        H5Pset_chunk(properties.get(), 4, chunkSize.data());
        const Handle space(H5Screate_simple(4, extents.data(), nullptr), H5Sclose);
        const Handle dataset(H5Dcreate2(file.get(), name, type.get(), space.get(), H5P_DEFAULT,
                                        properties.get(), H5P_DEFAULT),
                             H5Dclose);
        for (std::int64_t layer = 0; layer < kRun.layers; ++layer) {
            writeSelection(dataset.get(), type.get(),
                           {{layer, 0, 0, 0}, {1, kRun.kvHeads, kRun.tokens, kRun.headDim}},
                           tensors.keys.data());
        }
    }
}

std::vector<float> readGuessedHead(hid_t dataset, std::int64_t layer, std::int64_t head) {
    const LibraryLock lock;
    std::vector<float> values(static_cast<std::size_t>(kRun.tokens * kRun.headDim));
    const hsize_t start[4] = {static_cast<hsize_t>(layer), static_cast<hsize_t>(head), 0, 0};
    const hsize_t count[4] = {1, 1, static_cast<hsize_t>(kRun.tokens),
                              static_cast<hsize_t>(kRun.headDim)};
    const Handle file(H5Dget_space(dataset), H5Sclose);
    H5Sselect_hyperslab(file.get(), H5S_SELECT_SET, start, nullptr, count, nullptr);
    const Handle memory(H5Screate_simple(4, count, nullptr), H5Sclose);
    check(H5Dread(dataset, H5T_NATIVE_FLOAT, memory.get(), file.get(), H5P_DEFAULT, values.data()),
          dataset, "read a head");
    return values;
}

void print(const Row& row) {
    fmt::print("{:<4}{:<52}{:>10.2f} ms{:>10.2f} ms{:>8.2f}x{:>8.2f}x  must {:.2f}x, aim {:.2f}x\n",
               row.id, row.what, row.time.referenceMs, row.time.oursMs, row.time.ratio,
               row.time.worst, row.must, row.aim);
}

double processorMs(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

/// What the two threads of a writer cost by themselves: they run side by side, so that on a machine
/// with a free core the slower one, the writing thread, is the time a trace takes.
void printThreads(const Side& write, const Side& raw, const Side& reset) {
    std::vector<double> copying, writing, plain;
    for (int round = 0; round < kPairs; ++round) {
        reset(round);
        const double own = processorMs(CLOCK_THREAD_CPUTIME_ID);
        const double all = processorMs(CLOCK_PROCESS_CPUTIME_ID);
        write(round);
        copying.push_back(processorMs(CLOCK_THREAD_CPUTIME_ID) - own);
        writing.push_back(processorMs(CLOCK_PROCESS_CPUTIME_ID) - all - copying.back());
        reset(round);
        const double before = processorMs(CLOCK_THREAD_CPUTIME_ID);
        raw(round);
        plain.push_back(processorMs(CLOCK_THREAD_CPUTIME_ID) - before);
    }
    const auto median = [](std::vector<double>& values) {
        std::sort(values.begin(), values.end());
        return values[values.size() / 2];
    };
    const double thread = median(writing), reference = median(plain);
    fmt::print(
        "    processor time: pwrite {:.1f} ms; writing thread {:.1f} ms ({:.2f}x), beside it "
        "the caller's copy {:.1f} ms\n",
        reference, thread, reference / thread, median(copying));
}

void benchWriting(const fs::path& folder, Tensors& tensors) {
    const fs::path ours = folder / "ours.ecokv.h5", other = folder / "other";
    const Side reset = [&](int) {
        fs::remove(ours);
        fs::remove(other);
    };
    const Side write = [&](int) { writeTrace(ours, tensors); };
    const Side raw = [&](int) { writeRaw(other, tensors); };
    print({"H1", "write a trace, against pwrite of the same bytes", kRun.tokens,
           timePairs(kPairs, write, raw, reset), 0.93, 0.97});
    printThreads(write, raw, reset);
    const Side guessed = [&](int) { writeGuessed(other, tensors); };
    print({"H2", "write a trace, against h5py's guessed chunks", kRun.tokens,
           timePairs(kPairs, write, guessed, reset), 3.5, 3.5});
    reset(0);
}

void benchReading(const fs::path& folder, Tensors& tensors) {
    const fs::path ours = folder / "ours.ecokv.h5", other = folder / "other";
    writeTrace(ours, tensors);
    writeGuessed(other, tensors);
    const TraceReader reader(ours);
    const LibraryLock lock;
    const Handle file(H5Fopen(other.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
    const Handle dataset = openDataset(file.get(), "keys");
    require(reader.keys(3, 5) == readGuessedHead(dataset.get(), 3, 5), "a head");
    require(reader.keys(3, 5)[77] == bf16ToFloat(tensors.keys[5 * 8192 * 128 + 77]), "a key");
    const PairedTime time = timePairs(
        21, [&](int round) { reader.keys(round % 8, round / 8); },
        [&](int round) { readGuessedHead(dataset.get(), round % 8, round / 8); });
    print({"H3", "read one head as float32, file open, against the same", kRun.tokens, time, 8, 8});
    fmt::print("    one head is {:.1f} MiB stored: {:.2f} GB/s; 100 heads take {:.2f} s\n",
               static_cast<double>(kRun.tokens * kRun.headDim * 2) / kBlock,
               static_cast<double>(kRun.tokens * kRun.headDim * 2) / time.oursMs / 1e6,
               time.oursMs / 10);
}

void run(const fs::path& folder) {
    Tensors tensors;
    writeTrace(folder / "check.ecokv.h5", tensors);
    {
        const TraceReader reader(folder / "check.ecokv.h5");
        require(reader.complete() && reader.keys(7, 0)[1] == bf16ToFloat(tensors.keys[1]),
                "a written trace");
    }
    fs::remove(folder / "check.ecokv.h5");
    fmt::print("traces of {} layers, {} KV heads, {} tokens, dim {}, bf16: {:.0f} MiB; folder {}\n",
               kRun.layers, kRun.kvHeads, kRun.tokens, kRun.headDim,
               static_cast<double>(tensors.layerBytes()) * 8 / kBlock,
               folder.parent_path().string());
    fmt::print("{:<4}{:<52}{:>13}{:>13}{:>9}{:>9}\n", "id", "what", "reference", "ours", "ratio",
               "worst");
    benchWriting(folder, tensors);
    benchReading(folder, tensors);
}

} // namespace

} // namespace ecokv::bench

int main(int argc, char** argv) {
    const std::filesystem::path parent =
        argc > 1 ? std::filesystem::path(argv[1]) : std::filesystem::temp_directory_path();
    std::string folder = (parent / "ecokv-bench-XXXXXX").string();
    if (::mkdtemp(folder.data()) == nullptr) {
        fmt::print(stderr, "No folder can be made in {}.\n", parent.string());
        return 3;
    }
    int code = 0;
    try {
        ecokv::bench::run(folder);
    } catch (const std::exception& error) {
        fmt::print(stderr, "{}\n", error.what());
        code = 1;
    }
    std::filesystem::remove_all(folder);
    return code;
}

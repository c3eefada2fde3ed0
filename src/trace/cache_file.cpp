// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/cache_file.h"

#include "base/error.h"
#include "trace/cache_layout.h"
#include "trace/hdf5/attributes.h"
#include "trace/hdf5/datasets.h"
#include "trace/open_files.h"
#include "trace/write_target.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <span>
#include <system_error>
#include <utility>

namespace ecokv::trace {

namespace {

namespace fs = std::filesystem;

std::string now() {
    const auto seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

/// A dataset with its description and the names of its dimensions.
struct Block {
    hid_t group = -1;
    const char* name = "";
    hid_t type = -1;
    std::vector<std::int64_t> shape;
};

void writeBlock(const Block& block, const void* data) {
    const Handle dataset =
        createDataset(block.group, {.name = block.name, .type = block.type, .shape = block.shape});
    const CacheDatasetDoc& doc = cacheDatasetDoc(block.name);
    writeText(dataset.get(), "description", doc.description);
    writeTexts(dataset.get(), "axes", doc.axes);
    if (data != nullptr) {
        const Selection whole{std::vector<std::int64_t>(block.shape.size(), 0), block.shape};
        writeSelection(dataset.get(), block.type, whole, data);
    }
}

template <class T> const void* dataOrNull(const std::vector<T>& values) {
    return values.empty() ? nullptr : values.data();
}

void writeRecord(hid_t file, const CacheRecord& record) {
    writeText(file, "schema", kCacheSchemaName);
    writeInteger(file, "schema_version", kCacheSchemaVersion);
    writeText(file, "producer", record.producer);
    writeText(file, "created", now());
    writeInteger(file, "complete", 0);
    for (const auto& [name, attributes] :
         {std::pair{"model", &record.model}, std::pair{"policy", &record.policy}}) {
        writeAttributes(createGroup(file, name).get(), *attributes);
    }
    writeBlock(
        {openGroup(file, "model").get(), "probe", H5T_IEEE_F32LE, {std::ssize(record.probe)}},
        dataOrNull(record.probe));
    const Handle prompt = createGroup(file, "prompt");
    writeTextDataset(prompt.get(), "text", record.promptText);
    writeTextDataset(prompt.get(), "question_tail", record.questionTail);
    writeBlock({prompt.get(), "token_ids", H5T_STD_I64LE, {std::ssize(record.tokenIds)}},
               dataOrNull(record.tokenIds));
    if (!record.ropePositions.empty()) {
        writeBlock({prompt.get(),
                    "rope_positions",
                    H5T_NATIVE_INT32,
                    {std::ssize(record.ropePositions), 3}},
                   record.ropePositions.data());
    }
    const Handle cache = createGroup(file, "cache");
    writeInteger(cache.get(), "layers", record.layers);
    writeInteger(cache.get(), "heads", record.heads);
    writeInteger(cache.get(), "kv_heads", record.kvHeads);
    writeInteger(cache.get(), "head_dim", record.headDim);
    writeInteger(cache.get(), "tokens_seen", record.tokensSeen);
    writeInteger(cache.get(), "image_tokens", record.imageTokens);
    writeInteger(cache.get(), "position_shift", record.positionShift);
    writeText(cache.get(), "dtype", dtypeName(record.dtype));
}

void writeCacheLayer(hid_t file, const CacheRecord& record, std::int64_t index,
                     const CacheLayer& layer) {
    const Handle type = storedType(record.dtype);
    const Handle owner = createGroup(file, fmt::format("cache/{}", index));
    const hid_t group = owner.get();
    std::vector<std::int64_t> lengths, positions;
    for (const auto& head : layer.positions) {
        lengths.push_back(std::ssize(head));
        positions.insert(positions.end(), head.begin(), head.end());
    }
    const std::int64_t rows = layer.rows();
    writeBlock({group, "lengths", H5T_STD_I64LE, {record.kvHeads}}, dataOrNull(lengths));
    writeBlock({group, "positions", H5T_STD_I64LE, {rows}}, dataOrNull(positions));
    writeBlock({group, "keys", type.get(), {rows, record.headDim}}, dataOrNull(layer.keys));
    writeBlock({group, "values", type.get(), {rows, record.headDim}}, dataOrNull(layer.values));
    writeInteger(group, "checksum", checksumOf(layer));
    const std::int64_t window = std::ssize(layer.windowPositions);
    writeBlock({group, "window_positions", H5T_STD_I64LE, {window}},
               dataOrNull(layer.windowPositions));
    writeBlock({group, "window_queries", type.get(), {window, record.heads, record.headDim}},
               dataOrNull(layer.windowQueries));
}

void checkLayer(const CacheRecord& record, const CacheLayer& layer) {
    const std::size_t rowBytes = static_cast<std::size_t>(record.headDim) * dtypeSize(record.dtype);
    const auto rows = static_cast<std::size_t>(layer.rows());
    const bool fits =
        std::ssize(layer.positions) == record.kvHeads && layer.keys.size() == rows * rowBytes &&
        layer.values.size() == rows * rowBytes &&
        layer.windowQueries.size() ==
            layer.windowPositions.size() * static_cast<std::size_t>(record.heads) * rowBytes;
    if (!fits) {
        throwInternal("A layer of the cache to be saved does not have the shape announced.");
    }
}

/// The file under its .part name; taken away again unless it was finished.
class PartFile {
public:
    explicit PartFile(const fs::path& target)
        : m_target(target), m_part(target.string() + ".part"), m_file(createForWriting(m_part)) {}
    ~PartFile() {
        if (m_file) {
            m_file.reset();
            std::error_code ignored;
            fs::remove(m_part, ignored);
        }
    }
    PartFile(const PartFile&) = delete;
    PartFile& operator=(const PartFile&) = delete;

    hid_t id() const { return m_file.get(); }
    void finish() {
        writeInteger(m_file.get(), "complete", 1);
        check(H5Fflush(m_file.get(), H5F_SCOPE_GLOBAL), m_file.get(), "write to disk");
        if (!m_file.reset()) {
            throwBadInput(fmt::format("{} could not be closed: HDF5 says \"{}\".", m_part.string(),
                                      lastHdf5Error()));
        }
        std::error_code error;
        fs::rename(m_part, m_target, error);
        if (error) {
            throwBadInput(fmt::format("{} could not be renamed to {}: {}.", m_part.string(),
                                      m_target.string(), error.message()));
        }
    }

private:
    fs::path m_target, m_part;
    Handle m_file;
};

} // namespace

std::int64_t CacheLayer::rows() const {
    std::int64_t rows = 0;
    for (const auto& head : positions) {
        rows += std::ssize(head);
    }
    return rows;
}

void writeCacheFile(const fs::path& path, const CacheRecord& record,
                    const std::function<CacheLayer(std::int64_t)>& layer) {
    PartFile part(checkedCacheTarget(path));
    const LibraryLock lock;
    writeRecord(part.id(), record);
    for (std::int64_t index = 0; index < record.layers; ++index) {
        const CacheLayer content = layer(index);
        checkLayer(record, content);
        writeCacheLayer(part.id(), record, index, content);
    }
    part.finish();
}

} // namespace ecokv::trace

// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/choice_table.h"
#include "base/error.h"
#include "trace/cache_file.h"
#include "trace/cache_layout.h"
#include "trace/hdf5/attributes.h"
#include "trace/hdf5/dataset_access.h"
#include "trace/open_files.h"
#include "trace/read_rotation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

namespace ecokv::trace {

namespace {

namespace fs = std::filesystem;
using Shape = std::vector<std::int64_t>;

// A damaged file may claim more; lists of that length would be made before anything is read.
constexpr std::int64_t kMostHeads = 1 << 16; ///< also layers and dimensions
constexpr std::int64_t kMostTokens = 1 << 24;

constexpr ChoiceTable<DType, 3> kDTypes{
    {{"float32", DType::F32}, {"bfloat16", DType::BF16}, {"float16", DType::F16}}};

void checkSchema(hid_t file, const fs::path& path) {
    const std::string schema = readText(file, "schema").value_or("");
    if (schema != kCacheSchemaName) {
        throwBadInput(fmt::format("{} is not a saved cache{}.", path.string(),
                                  schema.empty() ? "" : fmt::format(" but has schema {}", schema)),
                      "Give a file that `ecokv run --save-cache` wrote.");
    }
    const std::int64_t version = readInteger(file, "schema_version").value_or(0);
    if (version > kCacheSchemaVersion) {
        throwBadInput(fmt::format("{} has schema version {}; this program reads up to version {}.",
                                  path.string(), version, kCacheSchemaVersion),
                      "Open it with a newer version of the program.");
    }
    if (readInteger(file, "complete").value_or(0) != 1) {
        throwBadInput(
            fmt::format("{} is unfinished: the run that wrote it stopped.", path.string()),
            "Save the cache again.");
    }
}

std::int64_t numberIn(hid_t group, const char* name, std::int64_t most) {
    const std::int64_t value = readInteger(group, name).value_or(0);
    if (value < 1 || value > most) {
        throwBadInput(
            fmt::format("{} says {} = {}, which no cache can have.", nameOf(group), name, value));
    }
    return value;
}

std::string textIn(hid_t group, const char* name) {
    const auto values = readTextDataset(openDataset(group, name).get());
    return values.empty() ? std::string() : values.front();
}

Attributes attributesOf(hid_t file, const char* name) {
    const Handle group = openGroup(file, name);
    Attributes attributes = readAttributes(group.get());
    readLongTexts(group.get(), attributes);
    return attributes;
}

CacheRecord readRecord(hid_t file) {
    CacheRecord record;
    const Handle cache = openGroup(file, "cache");
    record.layers = numberIn(cache.get(), "layers", kMostHeads);
    record.heads = numberIn(cache.get(), "heads", kMostHeads);
    record.kvHeads = numberIn(cache.get(), "kv_heads", kMostHeads);
    record.headDim = numberIn(cache.get(), "head_dim", kMostHeads);
    record.tokensSeen = numberIn(cache.get(), "tokens_seen", kMostTokens);
    record.imageTokens = readInteger(cache.get(), "image_tokens").value_or(0);
    record.positionShift = readInteger(cache.get(), "position_shift").value_or(0);
    const std::string dtype = readText(cache.get(), "dtype").value_or("");
    const std::optional<DType> known = valueNamed(kDTypes, dtype);
    if (!known) {
        throwBadInput(fmt::format("{} holds keys of type \"{}\".", nameOf(file), dtype),
                      fmt::format("Known are {}.", joinedNames(kDTypes)));
    }
    record.dtype = *known;
    record.model = attributesOf(file, "model");
    record.probe = readFloats(openDataset(openGroup(file, "model").get(), "probe").get());
    record.policy = attributesOf(file, "policy");
    record.producer = readText(file, "producer").value_or("");
    const Handle prompt = openGroup(file, "prompt");
    record.promptText = textIn(prompt.get(), "text");
    record.questionTail = textIn(prompt.get(), "question_tail");
    record.tokenIds = readIntegers<std::int64_t>(openDataset(prompt.get(), "token_ids").get());
    record.ropePositions = readRopePositions(file, std::ssize(record.tokenIds));
    return record;
}

Handle openShaped(hid_t group, const char* name, const Shape& shape) {
    Handle dataset = openDataset(group, name);
    if (const Shape found = shapeOf(dataset.get()); found != shape) {
        throwBadInput(fmt::format("{} has shape [{}] instead of [{}].", nameOf(dataset.get()),
                                  fmt::join(found, ", "), fmt::join(shape, ", ")));
    }
    return dataset;
}

/// The stored bits; a dataset of another type is refused rather than converted.
std::vector<std::byte> readBits(hid_t group, const char* name, DType dtype, const Shape& shape) {
    const Handle dataset = openShaped(group, name, shape);
    const Handle wanted = storedType(dtype);
    const Handle type(H5Dget_type(dataset.get()), H5Tclose);
    if (H5Tequal(type.get(), wanted.get()) <= 0) {
        throwBadInput(fmt::format("{} holds {} instead of {}.", nameOf(dataset.get()),
                                  typeName(type.get()), dtypeName(dtype)));
    }
    const Spaces spaces = selectSpaces(dataset.get(), {});
    checkPlausible(dataset.get(), spaces.elements, dtypeSize(dtype));
    std::vector<std::byte> bits(spaces.elements * dtypeSize(dtype));
    if (!bits.empty()) {
        readRaw(dataset.get(), wanted.get(), spaces, bits.data());
    }
    return bits;
}

std::vector<std::int64_t> readNumbers(hid_t group, const char* name,
                                      const std::optional<Shape>& shape = std::nullopt) {
    const Handle dataset = shape ? openShaped(group, name, *shape) : openDataset(group, name);
    return readIntegers<std::int64_t>(dataset.get());
}

/// Cuts the positions into those of each head. Throws where they cannot be.
std::vector<std::vector<std::int64_t>> positionsByHead(hid_t group, const CacheRecord& record) {
    const auto lengths = readNumbers(group, "lengths", Shape{record.kvHeads});
    const auto positions = readNumbers(group, "positions");
    std::vector<std::vector<std::int64_t>> heads;
    auto next = positions.begin();
    for (const std::int64_t length : lengths) {
        if (length < 0 || length > std::distance(next, positions.end())) {
            throwBadInput(fmt::format("The lengths and positions of {} contradict each other.",
                                      nameOf(group)));
        }
        heads.emplace_back(next, next + length);
        next += length;
        const auto& head = heads.back();
        const bool ascending = std::ranges::is_sorted(head, std::less_equal{});
        const bool inside = head.empty() || (head.front() >= 0 && head.back() < record.tokensSeen);
        if (!ascending || !inside) {
            throwBadInput(fmt::format("{} holds positions that are not ascending within the {} "
                                      "tokens that were seen.",
                                      nameOf(group), record.tokensSeen));
        }
    }
    if (next != positions.end()) {
        throwBadInput(
            fmt::format("The lengths and positions of {} contradict each other.", nameOf(group)));
    }
    return heads;
}

} // namespace

class CacheFileReader::Impl {
public:
    explicit Impl(const fs::path& path) : m_file(std::move(openForReading(path).file)) {
        const LibraryLock lock;
        checkSchema(m_file.get(), path);
        m_record = readRecord(m_file.get());
    }

    const CacheRecord& record() const { return m_record; }

    CacheLayer layer(std::int64_t index) const {
        const LibraryLock lock;
        const Handle group = openGroup(m_file.get(), fmt::format("cache/{}", index));
        CacheLayer layer;
        layer.positions = positionsByHead(group.get(), m_record);
        const Shape rows{layer.rows(), m_record.headDim};
        layer.keys = readBits(group.get(), "keys", m_record.dtype, rows);
        layer.values = readBits(group.get(), "values", m_record.dtype, rows);
        layer.windowPositions = readNumbers(group.get(), "window_positions");
        const Shape window{std::ssize(layer.windowPositions), m_record.heads, m_record.headDim};
        layer.windowQueries = readBits(group.get(), "window_queries", m_record.dtype, window);
        const std::int64_t sum = checksumOf(layer);
        if (readInteger(group.get(), "checksum").value_or(sum) != sum) { // none in older files
            throwBadInput(fmt::format("{} is damaged: its numbers are not those that were saved.",
                                      nameOf(group.get())),
                          "Copy the file again, or save the cache again.");
        }
        return layer;
    }

private:
    Handle m_file;
    CacheRecord m_record;
};

CacheFileReader::CacheFileReader(const fs::path& path) : m_impl(std::make_unique<Impl>(path)) {}

CacheFileReader::~CacheFileReader() = default;

const CacheRecord& CacheFileReader::record() const {
    return m_impl->record();
}

CacheLayer CacheFileReader::layer(std::int64_t index) const {
    return m_impl->layer(index);
}

bool isCacheFile(const fs::path& path) {
    try {
        const ReadableFile opened = openForReading(path);
        const LibraryLock lock;
        return readText(opened.file.get(), "schema") == kCacheSchemaName;
    } catch (const Error&) {
        return false; // whoever reads it says why
    }
}

} // namespace ecokv::trace

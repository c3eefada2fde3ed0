// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/trace_reader.h"

#include "base/error.h"
#include "trace/hdf5/attributes.h"
#include "trace/hdf5/datasets.h"
#include "trace/open_files.h"
#include "trace/read_file.h"
#include "trace/read_records.h"
#include "trace/read_rotation.h"
#include "trace/read_tensors.h"

#include <fmt/format.h>

#include <map>
#include <new>
#include <utility>

namespace ecokv::trace {

namespace {

/// Of the datasets under /tensors and /scores.
std::vector<std::int64_t> expectedShape(const Dimensions& d, const std::string& path) {
    if (path == "tensors/keys" || path == "tensors/values") {
        return {d.layers, d.kvHeads, d.tokens, d.headDim};
    }
    if (path == "tensors/window_queries") {
        return {d.layers, d.heads, d.window, d.headDim};
    }
    if (path.starts_with("heads/")) { // spectra; one number per head is read as a whole
        return {d.layers, d.kvHeads, d.headDim};
    }
    return {d.layers, d.kvHeads, d.tokens};
}

} // namespace

class TraceReader::Impl {
public:
    explicit Impl(const std::filesystem::path& path) : m_path(path), m_shown(path) {
        const LibraryLock lock;
        ReadableFile opened = openForReading(path);
        m_file = std::move(opened.file);
        m_summary = summarise(m_file.get());
        m_summary.problems.insert(m_summary.problems.begin(), opened.notes.begin(),
                                  opened.notes.end());
    }

    hid_t file() const { return m_file.get(); }
    const std::filesystem::path& path() const { return m_path; }
    const FileSummary& summary() const { return m_summary; }
    const Dimensions& dimensions() const { return m_summary.dimensions; }

    /// Runs `read` with the lock held; running out of memory is the file's fault.
    template <class Read> auto guarded(Read read) const {
        const LibraryLock lock;
        try {
            return read(m_file.get());
        } catch (const std::bad_alloc&) {
            throwBadInput(fmt::format("{} needs more memory than there is.", m_path.string()));
        }
    }

    /// One head of one layer: all trailing dimensions.
    std::vector<float> head(const std::string& path, std::int64_t layer, std::int64_t head) {
        return guarded([&](hid_t) {
            const std::vector<std::int64_t> shape = expectedShape(dimensions(), path);
            checkHead(path, shape, layer, head);
            Selection part{std::vector<std::int64_t>(shape.size(), 0), shape};
            part.start[0] = layer;
            part.start[1] = head;
            part.count[0] = part.count[1] = 1;
            return readFloats(dataset(path, shape), part);
        });
    }

    /// All heads of one layer of a tensor, as stored.
    RawTensor layer(const std::string& path, std::int64_t layer) {
        return guarded([&](hid_t) {
            const std::vector<std::int64_t> shape = expectedShape(dimensions(), path);
            checkHead(path, shape, layer, 0);
            return readLayerTensor(dataset(path, shape), layer);
        });
    }

    /// Datasets stay open: opening costs more than reading a small head.
    hid_t dataset(const std::string& path, const std::vector<std::int64_t>& shape) {
        if (const auto found = m_datasets.find(path); found != m_datasets.end()) {
            return found->second.get();
        }
        if (!hasLink(m_file.get(), path) || !isDataset(m_file.get(), path)) {
            throwBadInput(fmt::format("{} has no dataset /{}.", m_path.string(), path));
        }
        Handle opened = openDataset(m_file.get(), path);
        if (shapeOf(opened.get()) != shape) {
            throwBadInput(
                fmt::format("{} does not have the shape of this trace.", nameOf(opened.get())));
        }
        return m_datasets.emplace(path, std::move(opened)).first->second.get();
    }

private:
    void checkHead(const std::string& path, const std::vector<std::int64_t>& shape,
                   std::int64_t layer, std::int64_t head) const {
        if (layer < 0 || layer >= shape[0] || head < 0 || head >= shape[1]) {
            throwUsage(fmt::format("{} has no layer {} head {}; it has {} layers and {} heads in "
                                   "/{}.",
                                   m_path.string(), layer, head, shape[0], shape[1], path));
        }
        if (layer >= m_summary.layersWritten) {
            throwBadInput(fmt::format("Layer {} is not recorded in {}: the run stopped after {} of "
                                      "{} layers.",
                                      layer, m_path.string(), m_summary.layersWritten, shape[0]));
        }
    }

    std::filesystem::path m_path;
    ShownFile m_shown;
    Handle m_file;
    FileSummary m_summary;
    std::map<std::string, Handle> m_datasets;
};

TraceReader::TraceReader(const std::filesystem::path& path)
    : m_impl(std::make_unique<Impl>(path)) {}

TraceReader::~TraceReader() = default;

const std::filesystem::path& TraceReader::path() const {
    return m_impl->path();
}

const Dimensions& TraceReader::dimensions() const {
    return m_impl->dimensions();
}

bool TraceReader::complete() const {
    return m_impl->summary().complete;
}

bool TraceReader::layersComplete() const {
    return layersWritten() == dimensions().layers;
}

std::int64_t TraceReader::layersWritten() const {
    return m_impl->summary().layersWritten;
}

const std::vector<std::string>& TraceReader::problems() const {
    return m_impl->summary().problems;
}

Attributes TraceReader::rootAttributes() const {
    return m_impl->guarded(readAttributes);
}

std::optional<ModelRecord> TraceReader::model() const {
    return m_impl->guarded(readModelGroup);
}

std::optional<RunRecord> TraceReader::run() const {
    return m_impl->guarded(readRunGroup);
}

std::optional<PromptRecord> TraceReader::prompt() const {
    return m_impl->guarded([&](hid_t file) { return readPromptGroup(file, dimensions()); });
}

std::vector<ImageRecord> TraceReader::images() const {
    return m_impl->guarded(readImages);
}

std::vector<std::string> TraceReader::headMetrics() const {
    const Dimensions& d = dimensions();
    return m_impl->guarded([&](hid_t file) {
        return namesOfShape(file, "heads", {d.layers, d.kvHeads});
    });
}

std::vector<std::string> TraceReader::scoreNames() const {
    const Dimensions& d = dimensions();
    return m_impl->guarded([&](hid_t file) {
        return namesOfShape(file, "scores", {d.layers, d.kvHeads, d.tokens});
    });
}

std::vector<float> TraceReader::headMetric(const std::string& name) const {
    const Dimensions& d = dimensions();
    return m_impl->guarded([&](hid_t) {
        return readFloats(m_impl->dataset("heads/" + name, {d.layers, d.kvHeads}));
    });
}

std::vector<std::string> TraceReader::headSpectra() const {
    const Dimensions& d = dimensions();
    return m_impl->guarded([&](hid_t file) {
        return namesOfShape(file, "heads", {d.layers, d.kvHeads, d.headDim});
    });
}

std::vector<float> TraceReader::headSpectrum(const std::string& name, std::int64_t layer,
                                             std::int64_t kvHead) const {
    return m_impl->head("heads/" + name, layer, kvHead);
}

std::vector<float> TraceReader::scores(const std::string& name, std::int64_t layer,
                                       std::int64_t kvHead) const {
    return m_impl->head("scores/" + name, layer, kvHead);
}

std::vector<float> TraceReader::keys(std::int64_t layer, std::int64_t kvHead) const {
    return m_impl->head("tensors/keys", layer, kvHead);
}

std::vector<float> TraceReader::values(std::int64_t layer, std::int64_t kvHead) const {
    return m_impl->head("tensors/values", layer, kvHead);
}

std::vector<float> TraceReader::windowQueries(std::int64_t layer, std::int64_t head) const {
    return m_impl->head("tensors/window_queries", layer, head);
}

std::vector<std::int64_t> TraceReader::windowPositions() const {
    const Dimensions& d = dimensions();
    return m_impl->guarded([&](hid_t file) {
        if (hasLink(file, "tensors/window_positions")) {
            return readPositions(file, "tensors/window_positions", d.window, 0);
        }
        const auto keys = readPositions(file, "tensors/positions", d.tokens, 0);
        return std::vector(keys.end() - d.window, keys.end());
    });
}

bool TraceReader::has(const std::string& dataset) const {
    return m_impl->guarded([&](hid_t file) {
        const auto shape = expectedShape(dimensions(), dataset);
        return hasLink(file, dataset) && isDataset(file, dataset) &&
               shapeOf(openDataset(file, dataset).get()) == shape;
    });
}

DType TraceReader::storedDType(const std::string& tensor) const {
    return m_impl->guarded([&](hid_t file) { return layerDType(openDataset(file, tensor).get()); });
}

RawTensor TraceReader::layerKeys(std::int64_t layer) const {
    return m_impl->layer("tensors/keys", layer);
}

RawTensor TraceReader::layerValues(std::int64_t layer) const {
    return m_impl->layer("tensors/values", layer);
}

RawTensor TraceReader::layerWindowQueries(std::int64_t layer) const {
    return m_impl->layer("tensors/window_queries", layer);
}

std::vector<std::int64_t> TraceReader::positions() const {
    return m_impl->guarded([&](hid_t file) {
        return readPositions(file, "tensors/positions", dimensions().tokens, 0);
    });
}

std::optional<RotationRecord> TraceReader::rotation() const {
    return m_impl->guarded([&](hid_t file) { return readRotation(file, dimensions()); });
}

std::vector<std::string> TraceReader::policyIds() const {
    return m_impl->guarded([](hid_t file) { return sortedIds(file, "policies"); });
}

PolicyRecord TraceReader::policy(const std::string& id) const {
    return m_impl->guarded([&](hid_t file) { return readPolicyGroup(file, dimensions(), id); });
}

std::optional<DecodeRecord> TraceReader::decode() const {
    return m_impl->guarded(
        [&](hid_t file) { return readDecodeGroup(file, dimensions(), "decode"); });
}

std::optional<DecodeRecord> TraceReader::policyDecode(const std::string& id) const {
    return m_impl->guarded([&](hid_t file) {
        return readDecodeGroup(file, dimensions(), "policies/" + id + "/decode");
    });
}

std::vector<DecodeRecord> TraceReader::questions() const {
    return m_impl->guarded(
        [&](hid_t file) { return readQuestions(file, dimensions(), "questions"); });
}

std::vector<DecodeRecord> TraceReader::policyQuestions(const std::string& id) const {
    return m_impl->guarded([&](hid_t file) {
        return readQuestions(file, dimensions(), "policies/" + id + "/questions");
    });
}

std::optional<ForcedRecord> TraceReader::policyForced(const std::string& id) const {
    return m_impl->guarded(
        [&](hid_t file) { return readForcedGroup(file, "policies/" + id + "/decode"); });
}

std::vector<DatasetEntry> TraceReader::entries() const {
    return m_impl->guarded(listDatasets);
}

} // namespace ecokv::trace

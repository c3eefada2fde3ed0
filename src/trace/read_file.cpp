// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/read_file.h"

#include "base/error.h"
#include "trace/hdf5/attributes.h"
#include "trace/hdf5/datasets.h"
#include "trace/trace_layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace ecokv::trace {

namespace {

using Shape = std::vector<std::int64_t>;

// Far beyond any model or prompt; a damaged file may claim more, and lists of that length would be
// made before anything is read.
constexpr std::int64_t kMostHeads = 1 << 16; ///< also layers and dimensions
constexpr std::int64_t kMostTokens = 1 << 24;

std::string describe(const Shape& shape) {
    return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// Shape of a dataset that may be missing: empty then.
Shape shapeAt(hid_t file, const std::string& path) {
    if (!hasLink(file, path) || !isDataset(file, path)) {
        return {};
    }
    return shapeOf(openDataset(file, path).get());
}

void checkSchema(hid_t file, FileSummary& summary) {
    summary.isOurs = readText(file, "schema").value_or("") == kSchemaName;
    const std::int64_t version = readInteger(file, "schema_version").value_or(0);
    if (summary.isOurs && version > kSchemaVersion) {
        throwBadInput(fmt::format("{} has schema version {}; this program reads up to version {}.",
                                  nameOf(file), version, kSchemaVersion),
                      "Open it with a newer version of the program.");
    }
    summary.complete = !summary.isOurs || readInteger(file, "complete").value_or(0) == 1;
}

[[noreturn]] void throwShape(hid_t file, const std::string& path, const Shape& shape,
                             const std::string& expected) {
    throwBadInput(fmt::format("/{} in {} has shape {}; {} was expected.", path, nameOf(file),
                              describe(shape), expected));
}

/// [layer, head, row, dim] of sizes a trace can have.
bool isPlausible(const Shape& shape) {
    const auto within = [](std::int64_t size, std::int64_t most) {
        return size > 0 && size <= most;
    };
    return shape.size() == 4 && within(shape[0], kMostHeads) && within(shape[1], kMostHeads) &&
           within(shape[2], kMostTokens) && within(shape[3], kMostHeads);
}

void readKeysShape(hid_t file, Dimensions& d) {
    const Shape keys = shapeAt(file, "tensors/keys");
    if (!isPlausible(keys)) {
        throwShape(file, "tensors/keys", keys, "[layer, kv_head, token, dim]");
    }
    d.layers = keys[0];
    d.kvHeads = keys[1];
    d.tokens = keys[2];
    d.headDim = keys[3];
}

void readQueriesShape(hid_t file, FileSummary& summary) {
    const std::string path = "tensors/window_queries";
    Dimensions& d = summary.dimensions;
    const Shape shape = shapeAt(file, path);
    if (shape.empty()) {
        summary.problems.push_back("/tensors/window_queries is missing: importance cannot be "
                                   "computed again from this file.");
        return;
    }
    const bool fits = isPlausible(shape) && shape[0] == d.layers && shape[1] % d.kvHeads == 0 &&
                      shape[2] <= d.tokens && shape[3] == d.headDim;
    if (!fits) {
        throwShape(file, path, shape,
                   fmt::format("[{}, a multiple of {}, at most {}, {}]", d.layers, d.kvHeads,
                               d.tokens, d.headDim));
    }
    d.heads = shape[1];
    d.window = shape[2];
}

/// What `ecokv replay --out` writes has results without tensors. False: no trace at all.
bool readScoresShape(hid_t file, FileSummary& summary) {
    const Shape shape = shapeAt(file, "scores/score");
    Dimensions& d = summary.dimensions;
    if (shape.size() != 3 || !isPlausible({shape[0], shape[1], shape[2], 1})) {
        return false;
    }
    d.layers = shape[0];
    d.kvHeads = shape[1];
    d.tokens = shape[2];
    return true;
}

/// Notes a dataset that is there but cannot be used.
void checkOptional(hid_t file, FileSummary& summary, const std::string& path, const Shape& expected,
                   const char* consequence = "is left out") {
    const Shape shape = shapeAt(file, path);
    if (!shape.empty() && shape != expected) {
        summary.problems.push_back(fmt::format("/{} has shape {} instead of {} and {}.", path,
                                               describe(shape), describe(expected), consequence));
    }
}

void noteMissing(hid_t file, FileSummary& summary) {
    const Dimensions& d = summary.dimensions;
    checkOptional(file, summary, "tensors/values", {d.layers, d.kvHeads, d.tokens, d.headDim});
    const char* refused = "keeps the file from being replayed";
    checkOptional(file, summary, "tensors/window_positions", {d.window}, refused);
    checkOptional(file, summary, "tensors/positions", {d.tokens}, refused);
    checkOptional(file, summary, "prompt/token_ids", {d.tokens});
    summary.layersWritten = d.layers;
    if (!summary.isOurs) {
        summary.problems.push_back("The file was not written by this program; its tensors are "
                                   "used as they are.");
        return;
    }
    const std::int64_t written = readInteger(file, "layers_written").value_or(d.layers);
    summary.layersWritten = std::clamp<std::int64_t>(written, 0, d.layers);
    if (!summary.complete) {
        summary.problems.push_back("The run that wrote this file did not finish.");
    }
    if (summary.layersWritten < d.layers) {
        summary.problems.push_back(
            fmt::format("Only {} of {} layers are recorded.", summary.layersWritten, d.layers));
    }
    const std::vector<std::pair<std::string, std::string>> groups{
        {"model", "the model"},       {"prompt", "the prompt's tokens"},
        {"heads", "head statistics"}, {"scores", "token scores"},
        {"policies", "survivors"},    {"run", "the run's settings"}};
    for (const auto& [group, meaning] : groups) {
        if (isEmptyGroup(file, group)) {
            summary.problems.push_back(fmt::format("/{} is missing: {}.", group, meaning));
        }
    }
}

herr_t collectObject(hid_t, const char* name, const H5O_info_t* info, void* names) {
    if (info->type == H5O_TYPE_DATASET) {
        static_cast<std::vector<std::string>*>(names)->emplace_back(name);
    }
    return 0;
}

std::vector<std::string> datasetPaths(hid_t file) {
    std::vector<std::string> names;
    check(H5Ovisit2(file, H5_INDEX_NAME, H5_ITER_INC, collectObject, &names, H5O_INFO_BASIC), file,
          "list the datasets");
    return names;
}

DatasetEntry describeDataset(hid_t file, const std::string& name) {
    DatasetEntry entry;
    entry.path = "/" + name;
    try {
        const Handle dataset = openDataset(file, name);
        const Handle type(H5Dget_type(dataset.get()), H5Tclose);
        entry.shape = shapeOf(dataset.get());
        entry.dtype = typeName(type.get());
        entry.storedBytes = H5Dget_storage_size(dataset.get());
        entry.description = readText(dataset.get(), "description").value_or("");
        entry.units = readText(dataset.get(), "units").value_or("");
        entry.axes = readText(dataset.get(), "axes").value_or("");
        entry.problem = storageProblem(dataset.get());
    } catch (const Error& error) {
        entry.problem = error.message();
    }
    return entry;
}

} // namespace

FileSummary summarise(hid_t file) {
    FileSummary summary;
    checkSchema(file, summary);
    if (hasLink(file, "tensors/keys")) {
        readKeysShape(file, summary.dimensions);
        readQueriesShape(file, summary);
    } else if (!summary.isOurs || !readScoresShape(file, summary)) {
        throwBadInput(
            fmt::format("{} is not a trace: it has no dataset /tensors/keys.", nameOf(file)),
            "A trace needs /tensors/keys [layer, kv_head, token, dim] and "
            "/tensors/window_queries [layer, head, window, dim].");
    }
    noteMissing(file, summary);
    for (const auto& entry : listDatasets(file)) {
        if (!entry.problem.empty()) {
            summary.problems.push_back(
                fmt::format("{} cannot be read: {}", entry.path, entry.problem));
        }
    }
    return summary;
}

std::vector<DatasetEntry> listDatasets(hid_t file) {
    std::vector<DatasetEntry> entries;
    for (const auto& name : datasetPaths(file)) {
        entries.push_back(describeDataset(file, name));
    }
    return entries;
}

std::vector<std::string> namesOfShape(hid_t file, const std::string& group, const Shape& shape) {
    std::vector<std::string> names;
    if (!hasLink(file, group)) {
        return names;
    }
    const Handle handle = openGroup(file, group);
    for (const auto& name : linkNames(handle.get())) {
        if (shapeAt(handle.get(), name) == shape) {
            names.push_back(name);
        }
    }
    return names;
}

} // namespace ecokv::trace

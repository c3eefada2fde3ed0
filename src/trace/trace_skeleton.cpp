// SPDX-License-Identifier: GPL-3.0-or-later
// What a trace holds around its numbers: root attributes, groups, scales, empty tensors and the
// plot that opens by itself.
#include "trace/hdf5/attributes.h"
#include "trace/trace_file.h"
#include "trace/trace_layout.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <hdf5_hl.h>

#include <chrono>
#include <numeric>

namespace ecokv::trace {

namespace {

std::string now() {
    const auto seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

void writeScale(hid_t file, const std::string& path, const std::vector<std::int64_t>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    const Handle dataset =
        createDocumented(file, {.name = path, .type = H5T_STD_I64LE, .shape = {count}}, path);
    writeValues(dataset.get(), std::span<const std::int64_t>(values));
    const std::string name = path.substr(path.rfind('/') + 1);
    check(H5DSset_scale(dataset.get(), name.c_str()), file, "make a dimension scale");
}

std::vector<std::int64_t> counting(std::int64_t count, std::int64_t first = 0) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), first);
    return values;
}

} // namespace

void TraceFile::writeRoot() {
    const hid_t file = m_file.get();
    writeText(file, "schema", kSchemaName);
    writeInteger(file, "schema_version", kSchemaVersion);
    writeText(file, "producer", m_options.producer);
    writeText(file, "created", now());
    writeInteger(file, "complete", 0);
    passLinearLayers();
    writeInteger(file, "layers_written", m_layersWritten);
    writeText(file, "NX_class", "NXroot");
    writeText(file, "default", "heads");
    for (const char* group : kGroups) {
        createGroup(file, group);
    }
}

void TraceFile::writeScales() {
    const Dimensions& d = m_options.dimensions;
    const hid_t file = m_file.get();
    writeScale(file, "scales/layer", counting(d.layers));
    writeScale(file, "scales/kv_head", counting(d.kvHeads));
    writeScale(file, "scales/token", counting(d.tokens));
    if (!m_options.recordTensors) {
        return;
    }
    writeScale(file, "scales/head", counting(d.heads));
    writeScale(file, "scales/dim", counting(d.headDim));
    const auto& positions = m_options.windowPositions;
    writeScale(file, "tensors/window_positions",
               positions.empty() ? counting(d.window, d.tokens - d.window) : positions);
}

void TraceFile::createTensor(TensorName name, const std::string& path, std::int64_t heads,
                             std::int64_t rows) {
    const Dimensions& d = m_options.dimensions;
    const Handle type = storedType(m_options.tensorDType);
    const std::uint64_t rowBytes =
        static_cast<std::uint64_t>(d.headDim) * dtypeSize(m_options.tensorDType);
    const std::int64_t block = tokensPerChunk(rows, rowBytes);
    const DatasetSpec spec{.name = path,
                           .type = type.get(),
                           .shape = {d.layers, heads, rows, d.headDim},
                           .chunk = {1, 1, block, d.headDim},
                           .deflate = m_options.compact,
                           .fillNaN = hasLinearLayers(),
                           .sparse = hasLinearLayers()};
    Handle dataset = createDocumented(m_file.get(), spec, path);
    writeText(dataset.get(), "source_dtype", dtypeName(m_options.tensorDType));
    m_tensors[name] = {std::move(dataset), rows, block, m_options.tensorDType};
}

void TraceFile::createTensors() {
    const Dimensions& d = m_options.dimensions;
    createTensor(TensorName::Keys, "tensors/keys", d.kvHeads, d.tokens);
    if (m_options.recordValues) {
        createTensor(TensorName::Values, "tensors/values", d.kvHeads, d.tokens);
    }
    createTensor(TensorName::WindowQueries, "tensors/window_queries", d.heads, d.window);
}

// Tools that follow NeXus draw `signal` on opening. They want its axes beside it; hard links cost
// nothing.
void TraceFile::makeDefaultPlot(const std::string& signal) {
    const Handle group = openGroup(m_file.get(), "heads");
    for (const char* axis : {"layer", "kv_head"}) {
        const std::string target = std::string("/scales/") + axis;
        check(H5Lcreate_hard(m_file.get(), target.c_str(), group.get(), axis, H5P_DEFAULT,
                             H5P_DEFAULT),
              group.get(), "link an axis");
    }
    writeText(group.get(), "NX_class", "NXdata");
    writeText(group.get(), "signal", signal);
    writeTexts(group.get(), "axes", {"layer", "kv_head"});
    writeText(group.get(), "interpretation", "image");
}

} // namespace ecokv::trace

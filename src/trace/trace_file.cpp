// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/trace_file.h"

#include "base/error.h"
#include "base/float_convert.h"
#include "trace/hdf5/attributes.h"
#include "trace/open_files.h"
#include "trace/trace_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>

namespace ecokv::trace {

namespace {

float widen(const std::byte* data, DType dtype, std::size_t index) {
    if (dtype == DType::F32) {
        float value = 0;
        std::memcpy(&value, data + 4 * index, 4);
        return value;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, data + 2 * index, 2);
    return dtype == DType::BF16 ? bf16ToFloat(bits) : f16ToFloat(bits);
}

void narrow(float value, DType dtype, std::byte* data, std::size_t index) {
    if (dtype == DType::F32) {
        std::memcpy(data + 4 * index, &value, 4);
        return;
    }
    const std::uint16_t bits = dtype == DType::BF16 ? floatToBf16(value) : floatToF16(value);
    std::memcpy(data + 2 * index, &bits, 2);
}

} // namespace

TraceFile::TraceFile(const WriterOptions& options) : m_options(options) {
    m_file = createForWriting(partPath());
    m_context = {m_file.get(), options.dimensions, options.compact};
    const LibraryLock lock;
    writeRoot();
    writeScales();
    if (options.recordTensors) {
        createTensors();
    }
    flush();
}

std::filesystem::path TraceFile::partPath() const {
    return m_options.path.string() + ".part";
}

void TraceFile::writeRows(const HeadRows& rows) {
    Tensor& tensor = m_tensors.at(rows.tensor);
    const std::byte* data = rows.data;
    if (rows.dtype != m_options.tensorDType) {
        const auto count = static_cast<std::size_t>(tensor.rows * m_options.dimensions.headDim);
        m_converted.resize(count * dtypeSize(m_options.tensorDType));
        for (std::size_t i = 0; i < count; ++i) {
            narrow(widen(rows.data, rows.dtype, i), m_options.tensorDType, m_converted.data(), i);
        }
        data = m_converted.data();
    }
    const LibraryLock lock;
    if (tensor.source != rows.dtype) {
        writeText(tensor.dataset.get(), "source_dtype", dtypeName(rows.dtype));
        tensor.source = rows.dtype;
    }
    if (m_options.compact) {
        const Handle type = storedType(m_options.tensorDType);
        const std::int64_t dim = m_options.dimensions.headDim;
        writeSelection(tensor.dataset.get(), type.get(),
                       {{rows.layer, rows.head, 0, 0}, {1, 1, tensor.rows, dim}}, data);
    } else {
        writeChunks(tensor, rows, data);
    }
}

// Whole chunks go to the file as they are: no copy, no conversion, one write each.
void TraceFile::writeChunks(const Tensor& tensor, const HeadRows& rows, const std::byte* data) {
    const std::size_t rowBytes =
        static_cast<std::size_t>(m_options.dimensions.headDim) * dtypeSize(m_options.tensorDType);
    const std::size_t chunkBytes = static_cast<std::size_t>(tensor.block) * rowBytes;
    for (std::int64_t begin = 0; begin < tensor.rows; begin += tensor.block) {
        const std::byte* source = data + static_cast<std::size_t>(begin) * rowBytes;
        const std::int64_t count = std::min(tensor.block, tensor.rows - begin);
        if (count < tensor.block) {
            m_padded.assign(chunkBytes, std::byte{0});
            std::memcpy(m_padded.data(), source, static_cast<std::size_t>(count) * rowBytes);
            source = m_padded.data();
        }
        const hsize_t offset[4] = {static_cast<hsize_t>(rows.layer),
                                   static_cast<hsize_t>(rows.head), static_cast<hsize_t>(begin), 0};
        check(H5Dwrite_chunk(tensor.dataset.get(), H5P_DEFAULT, 0, offset, chunkBytes, source),
              tensor.dataset.get(), "write a chunk");
    }
}

void TraceFile::writeMetrics(std::int64_t layer, const NamedValues& heads,
                             const NamedValues& scores) {
    const Dimensions& d = m_options.dimensions;
    const LibraryLock lock;
    for (const auto& [name, values] : heads) {
        const hid_t dataset = metric("heads/" + name, {d.layers, d.kvHeads});
        writeSelection(dataset, H5T_NATIVE_FLOAT, {{layer, 0}, {1, d.kvHeads}}, values.data());
    }
    if (!heads.empty() && !m_hasDefaultPlot) {
        makeDefaultPlot(heads.contains("redundancy") ? "redundancy" : heads.begin()->first);
        m_hasDefaultPlot = true;
    }
    for (const auto& [name, values] : scores) {
        const hid_t dataset = metric("scores/" + name, {d.layers, d.kvHeads, d.tokens});
        writeSelection(dataset, H5T_NATIVE_FLOAT, {{layer, 0, 0}, {1, d.kvHeads, d.tokens}},
                       values.data());
    }
}

void TraceFile::writeSpectra(std::int64_t layer, const NamedValues& spectra) {
    const Dimensions& d = m_options.dimensions;
    const LibraryLock lock;
    for (const auto& [name, values] : spectra) {
        const hid_t dataset = metric("heads/" + name, {d.layers, d.kvHeads, d.headDim});
        writeSelection(dataset, H5T_NATIVE_FLOAT, {{layer, 0, 0}, {1, d.kvHeads, d.headDim}},
                       values.data());
    }
}

hid_t TraceFile::metric(const std::string& path, const std::vector<std::int64_t>& shape) {
    if (const auto found = m_metrics.find(path); found != m_metrics.end()) {
        return found->second.get();
    }
    DatasetSpec spec{.name = path, .type = H5T_IEEE_F32LE, .shape = shape};
    // Small: a map of an unfinished run shows what is missing.
    spec.fillNaN = path.starts_with("heads/");
    if (shape.size() == 3 && m_options.compact) {
        spec.chunk = {1, 1, tokensPerChunk(shape[2], sizeof(float))};
        spec.deflate = true;
    }
    const hid_t dataset =
        m_metrics.emplace(path, createDocumented(m_file.get(), spec, path)).first->second.get();
    if (hasLinearLayers() && !spec.fillNaN) {
        blankLinearLayers(dataset, shape);
    }
    return dataset;
}

bool TraceFile::isLinear(std::int64_t layer) const {
    return LayerKinds{.linearLayers = m_options.linearLayers}.isLinear(layer);
}

bool TraceFile::hasLinearLayers() const {
    return std::ranges::any_of(m_options.linearLayers, [](std::uint8_t is) { return is != 0; });
}

/// Of a dataset [layer, kvHead, token].
void TraceFile::blankLinearLayers(hid_t dataset, const std::vector<std::int64_t>& shape) {
    const std::vector<float> blank(static_cast<std::size_t>(shape[1] * shape[2]),
                                   std::numeric_limits<float>::quiet_NaN());
    for (std::int64_t layer = 0; layer < shape[0]; ++layer) {
        if (isLinear(layer)) {
            writeSelection(dataset, H5T_NATIVE_FLOAT, {{layer, 0, 0}, {1, shape[1], shape[2]}},
                           blank.data());
        }
    }
}

void TraceFile::passLinearLayers() {
    while (m_layersWritten < m_options.dimensions.layers && isLinear(m_layersWritten)) {
        ++m_layersWritten;
    }
}

void TraceFile::finishLayer(std::int64_t layer) {
    const LibraryLock lock;
    if (layer == m_layersWritten) {
        ++m_layersWritten;
        passLinearLayers();
        writeInteger(m_file.get(), "layers_written", m_layersWritten);
    }
    flush();
}

void TraceFile::flush() {
    const LibraryLock lock;
    check(H5Fflush(m_file.get(), H5F_SCOPE_GLOBAL), m_file.get(), "write to disk");
}

void TraceFile::finish() {
    {
        const LibraryLock lock;
        for (const char* group : kGroups) {
            if (isEmptyGroup(m_file.get(), group)) {
                check(H5Ldelete(m_file.get(), group, H5P_DEFAULT), m_file.get(), "tidy up");
            }
        }
        writeInteger(m_file.get(), "complete", 1);
        m_tensors.clear();
        m_metrics.clear();
        flush();
        if (!m_file.reset()) {
            throwBadInput(fmt::format("{} could not be closed: HDF5 says \"{}\".",
                                      partPath().string(), lastHdf5Error()));
        }
    }
    std::error_code error;
    std::filesystem::rename(partPath(), m_options.path, error);
    if (error) {
        throwBadInput(fmt::format("{} could not be renamed to {}: {}.", partPath().string(),
                                  m_options.path.string(), error.message()));
    }
}

} // namespace ecokv::trace

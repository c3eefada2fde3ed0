#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The file being written, as its one thread sees it: skeleton, layers, closing. Takes the
// LibraryLock for one dataset at a time, so that readers wait little.

#include "trace/trace_writer.h"
#include "trace/write_records.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace ecokv::trace {

enum class TensorName : std::uint8_t { Keys, Values, WindowQueries };

/// One head of one layer of a tensor.
struct HeadRows {
    TensorName tensor = TensorName::Keys;
    std::int64_t layer = 0, head = 0;
    DType dtype = DType::F32;        ///< of `data`
    const std::byte* data = nullptr; ///< [token or window, dim] row-major
};

using NamedValues = std::map<std::string, std::vector<float>>;

class TraceFile {
public:
    /// Creates NAME.part with empty tensors and flushes it.
    explicit TraceFile(const WriterOptions& options);

    const FileContext& context() const { return m_context; }
    void writeRows(const HeadRows& rows);
    /// [kvHead] and [kvHead, token] values of one layer.
    void writeMetrics(std::int64_t layer, const NamedValues& heads, const NamedValues& scores);
    /// [kvHead, dim] values of one layer.
    void writeSpectra(std::int64_t layer, const NamedValues& spectra);
    /// Counts the layer as written and flushes.
    void finishLayer(std::int64_t layer);
    void flush();
    /// Marks the file complete, closes it and gives it its final name.
    void finish();
    std::filesystem::path partPath() const;

private:
    struct Tensor {
        Handle dataset;
        std::int64_t rows = 0;     ///< per head
        std::int64_t block = 0;    ///< rows per chunk
        DType source = DType::F32; ///< what `source_dtype` says
    };

    void writeRoot();
    void writeScales();
    void createTensors();
    void createTensor(TensorName name, const std::string& path, std::int64_t heads,
                      std::int64_t rows);
    void writeChunks(const Tensor& tensor, const HeadRows& rows, const std::byte* data);
    hid_t metric(const std::string& path, const std::vector<std::int64_t>& shape);
    bool isLinear(std::int64_t layer) const;
    bool hasLinearLayers() const;
    void blankLinearLayers(hid_t dataset, const std::vector<std::int64_t>& shape);
    void passLinearLayers();
    void makeDefaultPlot(const std::string& signal);

    WriterOptions m_options;
    Handle m_file;
    FileContext m_context;
    std::map<TensorName, Tensor> m_tensors;
    std::map<std::string, Handle> m_metrics;
    std::vector<std::byte> m_converted, m_padded;
    std::int64_t m_layersWritten = 0;
    bool m_hasDefaultPlot = false;
};

} // namespace ecokv::trace

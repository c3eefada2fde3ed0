// SPDX-License-Identifier: GPL-3.0-or-later
#include "trace/trace_writer.h"

#include "base/error.h"
#include "trace/open_files.h"
#include "trace/trace_file.h"
#include "trace/trace_layout.h"
#include "trace/write_queue.h"
#include "trace/write_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace ecokv::trace {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kQueueBytes = 64U << 20; ///< waiting for the disk, at most
constexpr std::size_t kTaskBytes = 4U << 20;   ///< of a tensor, handed over at once
constexpr double kMebibyte = 1024.0 * 1024.0;

std::uint64_t tensorBytes(const WriterOptions& options, std::int64_t heads, std::int64_t rows) {
    const std::uint64_t rowBytes =
        static_cast<std::uint64_t>(options.dimensions.headDim) * dtypeSize(options.tensorDType);
    const std::int64_t block = tokensPerChunk(rows, rowBytes);
    const std::int64_t padded = (rows + block - 1) / block * block;
    return static_cast<std::uint64_t>(options.dimensions.layers * heads * padded) * rowBytes;
}

/// The options with the file to write as path. Throws where it cannot be written.
WriterOptions checkedOptions(WriterOptions options) {
    checkDimensions(options);
    const std::string name = options.path.string(); // as the user knows it
    options.path = checkedTraceTarget(options.path);
    if (isShown(options.path)) {
        throwBadInput(fmt::format("{} is open here.", name),
                      "Choose another name, or close it first.");
    }
    std::error_code error;
    const fs::path folder = options.path.has_parent_path() ? options.path.parent_path() : ".";
    const auto space = fs::space(folder, error);
    const std::uint64_t wanted = predictedBytes(options);
    if (!error && space.available < wanted) {
        throwBadInput(fmt::format("{} will take {:.0f} MiB but its disk has only {:.0f} MiB free.",
                                  name, static_cast<double>(wanted) / kMebibyte,
                                  static_cast<double>(space.available) / kMebibyte),
                      "Choose another disk, or record without values.");
    }
    return options;
}

void checkView(const std::string& name, const TensorView& view,
               const std::array<std::int64_t, 3>& shape) {
    const bool isFloat =
        view.dtype == DType::F32 || view.dtype == DType::BF16 || view.dtype == DType::F16;
    const bool fits = view.rank == 3 && view.shape[0] == shape[0] && view.shape[1] == shape[1] &&
                      view.shape[2] == shape[2];
    if (view.data == nullptr || view.device.kind != DeviceKind::Cpu || !isFloat || !fits) {
        throwInternal(fmt::format("The trace expects {} as float [{}, {}, {}] on cpu, not {}.",
                                  name, shape[0], shape[1], shape[2], view.describe()));
    }
}

void checkNamed(const NamedValues& named, std::int64_t count) {
    for (const auto& [name, values] : named) {
        if (static_cast<std::int64_t>(values.size()) != count) {
            throwInternal(fmt::format("The trace expects {} values of {}, not {}.", count, name,
                                      values.size()));
        }
    }
}

/// Copies [row, dim] of any strides into `target`.
void copyRows(const TensorView& view, std::byte* target) {
    const std::size_t size = dtypeSize(view.dtype);
    const auto* source = view.as<const std::byte>();
    const auto rows = static_cast<std::size_t>(view.shape[0]);
    const auto dims = static_cast<std::size_t>(view.shape[1]);
    if (view.isContiguous()) {
        std::memcpy(target, source, rows * dims * size);
        return;
    }
    for (std::size_t row = 0; row < rows; ++row) {
        const std::byte* line = source + view.strides[0] * static_cast<std::int64_t>(row * size);
        if (view.strides[1] == 1) {
            std::memcpy(target + row * dims * size, line, dims * size);
            continue;
        }
        for (std::size_t dim = 0; dim < dims; ++dim) {
            std::memcpy(target + (row * dims + dim) * size,
                        line + view.strides[1] * static_cast<std::int64_t>(dim * size), size);
        }
    }
}

template <class T> std::size_t bytesOf(const std::vector<T>& values) {
    return values.size() * sizeof(T);
}

std::size_t bytesOf(const NamedValues& named) {
    std::size_t bytes = 0;
    for (const auto& [name, values] : named) {
        bytes += bytesOf(values);
    }
    return bytes;
}

} // namespace

std::uint64_t predictedBytes(const WriterOptions& options) {
    checkDimensions(options);
    const Dimensions& d = options.dimensions;
    const auto perToken = static_cast<std::uint64_t>(d.layers * d.kvHeads * d.tokens);
    constexpr std::uint64_t kScores = 7 * sizeof(float);                // datasets under /scores
    const auto policies = static_cast<std::uint64_t>(options.policies); // `kept` of each, u8
    constexpr std::uint64_t kPolicyGroup = 12U << 10; // attributes, answer, errors
    constexpr std::uint64_t kPrompt = 96;             // per token: text, ids, boxes
    constexpr std::uint64_t kOverhead = 256U << 10;   // groups, attributes, chunk index
    constexpr std::uint64_t kHeadMetrics = 28 * sizeof(float), kSpectra = 2 * sizeof(float);
    std::uint64_t bytes = 0;
    if (options.recordTensors) {
        const std::uint64_t keys = tensorBytes(options, d.kvHeads, d.tokens);
        const std::uint64_t tensors =
            (options.recordValues ? 2 * keys : keys) + tensorBytes(options, d.heads, d.window);
        const auto linear = static_cast<std::uint64_t>(
            std::ranges::count_if(options.linearLayers, [](std::uint8_t is) { return is != 0; }));
        const auto layers = static_cast<std::uint64_t>(d.layers);
        bytes += tensors / layers * (layers - std::min(linear, layers));
    }
    bytes += perToken * (kScores + policies) + static_cast<std::uint64_t>(d.tokens) * kPrompt;
    bytes += (policies - 1) * kPolicyGroup; // the first is part of the overhead
    bytes += static_cast<std::uint64_t>(d.layers * d.kvHeads) *
             (kHeadMetrics + kSpectra * static_cast<std::uint64_t>(d.headDim));
    return bytes + bytes / 200 + kOverhead;
}

class TraceWriter::Impl {
public:
    explicit Impl(const WriterOptions& options)
        : m_options(checkedOptions(options)), m_file(m_options),
          m_pool(std::make_shared<BufferPool>()), m_queue(kQueueBytes) {}

    /// Queues a record; `write` gets it and the file with the lock held.
    template <class Record, class Write>
    void queueRecord(std::size_t bytes, Record record, Write write) {
        m_queue.push(bytes, [this, record = std::move(record), write] {
            const LibraryLock lock;
            write(m_file.context(), record);
            m_file.flush();
        });
    }

    /// A few heads per task: waking the writing thread costs more than a small head.
    void queueTensor(TensorName name, std::int64_t layer, const TensorView& view) {
        const std::size_t headBytes =
            static_cast<std::size_t>(view[0].numel()) * dtypeSize(view.dtype);
        const auto perTask = static_cast<std::int64_t>(
            std::max<std::size_t>(1, kTaskBytes / std::max<std::size_t>(1, headBytes)));
        for (std::int64_t first = 0; first < view.shape[0]; first += perTask) {
            const std::int64_t count = std::min(perTask, view.shape[0] - first);
            const std::size_t bytes = static_cast<std::size_t>(count) * headBytes;
            const auto buffer = m_pool->take(bytes);
            for (std::int64_t i = 0; i < count; ++i) {
                copyRows(view[first + i], buffer.get() + static_cast<std::size_t>(i) * headBytes);
            }
            m_queue.push(
                bytes, [this, name, layer, first, count, headBytes, buffer, dtype = view.dtype] {
                    for (std::int64_t i = 0; i < count; ++i) {
                        const auto* data = buffer.get() + static_cast<std::size_t>(i) * headBytes;
                        m_file.writeRows({name, layer, first + i, dtype, data});
                    }
                });
        }
    }

    void queueTensors(const LayerRecord& layer) {
        queueTensor(TensorName::Keys, layer.layer, layer.keys);
        if (m_options.recordValues && layer.values.data != nullptr) {
            queueTensor(TensorName::Values, layer.layer, layer.values);
        }
        queueTensor(TensorName::WindowQueries, layer.layer, layer.windowQueries);
    }

    void writeLayer(const LayerRecord& layer) {
        checkLayer(layer);
        if (m_options.recordTensors) {
            queueTensors(layer);
        }
        m_queue.push(bytesOf(layer.heads) + bytesOf(layer.scores) + layer.deriveBytes,
                     [this, index = layer.layer, heads = layer.heads, scores = layer.scores,
                      derive = layer.derive] { writeMetrics(index, heads, scores, derive); });
    }

    void queueDecode(const std::string& group, const DecodeRecord& decode) {
        const std::size_t bytes = bytesOf(decode.keptLength) + bytesOf(decode.evictions.position);
        queueRecord(bytes, decode, [group](const FileContext& context, const DecodeRecord& record) {
            writeDecodeGroup(context, group, record);
        });
    }

    void close() {
        m_queue.push(0, [this] { m_file.finish(); });
        m_queue.drain();
    }

private:
    /// On the writing thread.
    void writeMetrics(std::int64_t layer, NamedValues heads, const NamedValues& scores,
                      const std::function<DerivedHeads()>& derive) {
        const Dimensions& d = m_options.dimensions;
        DerivedHeads derived = derive ? derive() : DerivedHeads{};
        checkNamed(derived.heads, d.kvHeads);
        checkNamed(derived.spectra, d.kvHeads * d.headDim);
        heads.merge(derived.heads);
        m_file.writeMetrics(layer, heads, scores);
        m_file.writeSpectra(layer, derived.spectra);
        m_file.finishLayer(layer);
    }

    void checkLayer(const LayerRecord& layer) const {
        const Dimensions& d = m_options.dimensions;
        if (layer.layer < 0 || layer.layer >= d.layers) {
            throwInternal(
                fmt::format("The trace has no layer {} among {}.", layer.layer, d.layers));
        }
        if (m_options.recordTensors) {
            checkTensors(layer);
        }
        checkNamed(layer.heads, d.kvHeads);
        checkNamed(layer.scores, d.kvHeads * d.tokens);
    }

    void checkTensors(const LayerRecord& layer) const {
        const Dimensions& d = m_options.dimensions;
        checkView("keys", layer.keys, {d.kvHeads, d.tokens, d.headDim});
        if (m_options.recordValues && layer.values.data != nullptr) {
            checkView("values", layer.values, {d.kvHeads, d.tokens, d.headDim});
        }
        checkView("window queries", layer.windowQueries, {d.heads, d.window, d.headDim});
    }

    WriterOptions m_options;
    TraceFile m_file;
    std::shared_ptr<BufferPool> m_pool;
    WriteQueue m_queue; ///< last: its thread ends before the file closes
};

TraceWriter::TraceWriter(const WriterOptions& options) : m_impl(std::make_unique<Impl>(options)) {}

TraceWriter::~TraceWriter() = default;

void TraceWriter::writeModel(const ModelRecord& model) {
    m_impl->queueRecord(model.configJson.size(), model, writeModelGroup);
}

void TraceWriter::writePrompt(const PromptRecord& prompt) {
    m_impl->queueRecord(bytesOf(prompt.tokenText) + bytesOf(prompt.patchBox), prompt,
                        writePromptGroup);
}

void TraceWriter::writeImage(std::int64_t index, const ImageRecord& image) {
    m_impl->queueRecord(image.pixels.size(), image,
                        [index](const FileContext& context, const ImageRecord& record) {
                            writeImageDataset(context, index, record);
                        });
}

void TraceWriter::writeLayer(const LayerRecord& layer) {
    m_impl->writeLayer(layer);
}

void TraceWriter::writePolicy(const PolicyRecord& policy) {
    m_impl->queueRecord(policy.kept.size(), policy, writePolicyGroup);
}

void TraceWriter::writeDecode(const DecodeRecord& decode) {
    m_impl->queueDecode("decode", decode);
}

void TraceWriter::writePolicyDecode(const std::string& policyId, const DecodeRecord& decode) {
    m_impl->queueDecode("policies/" + policyId + "/decode", decode);
}

void TraceWriter::writeQuestion(const std::string& policyId, std::int64_t index,
                                const DecodeRecord& decode) {
    const std::string owner = policyId.empty() ? "" : "policies/" + policyId + "/";
    m_impl->queueDecode(fmt::format("{}questions/{}", owner, index), decode);
}

void TraceWriter::writePolicyForced(const std::string& policyId, const ForcedRecord& forced) {
    const std::string group = "policies/" + policyId + "/decode";
    m_impl->queueRecord(0, forced, [group](const FileContext& context, const ForcedRecord& record) {
        writeForcedGroup(context, group, record);
    });
}

void TraceWriter::writeRun(const RunRecord& run) {
    m_impl->queueRecord(run.log.size(), run, writeRunGroup);
}

void TraceWriter::close() {
    m_impl->close();
}

} // namespace ecokv::trace

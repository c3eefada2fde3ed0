// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/memory_forecast.h"

#include "session/model_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace ecokv::session {

namespace {

std::int64_t layerBytesPerToken(const model::ModelInfo& model, DType dtype) {
    return 2LL * model.kvHeads * model.headDim * static_cast<std::int64_t>(dtypeSize(dtype));
}

/// Hidden states, projections and the two halves of the MLP for all tokens of a prompt.
std::uint64_t workingBytes(const ForecastRequest& request) {
    const model::ModelInfo& model = request.model;
    const std::int64_t perToken = 3LL * model.hidden +
                                  (2LL * model.heads + 2LL * model.kvHeads) * model.headDim +
                                  3LL * request.intermediate;
    const auto size = static_cast<std::int64_t>(dtypeSize(request.compute));
    return static_cast<std::uint64_t>(request.tokens * perToken * size +
                                      model.vocabulary * std::int64_t{4});
}

} // namespace

std::int64_t cacheBytesPerToken(const model::ModelInfo& model, DType dtype) {
    std::int64_t bytes = 0;
    for (std::int32_t layer = 0; layer < model.layers; ++layer) {
        bytes += model.isLinear(LayerId{layer}) ? 0 : layerBytesPerToken(model, dtype);
    }
    return bytes;
}

MemoryForecast forecastMemory(const ForecastRequest& request) {
    const model::ModelInfo& model = request.model;
    const std::int64_t perToken = layerBytesPerToken(model, request.compute);
    const std::int64_t kept =
        request.budget > 0 ? std::min(request.budget, request.tokens) : request.tokens;
    const policy::ModelShape shape = shapeOf(model);
    MemoryForecast memory;
    const bool asStored = request.compute == model.storedDType;
    memory.weightsStayOnDisk = asStored && request.device.kind == DeviceKind::Cpu;
    memory.weights = static_cast<std::uint64_t>(
        asStored ? model.weightBytes
                 : model.parameters * static_cast<std::int64_t>(dtypeSize(request.compute)));
    for (std::int32_t layer = 0; layer < model.layers; ++layer) {
        if (model.isLinear(LayerId{layer})) {
            continue;
        }
        memory.fullLayer =
            std::max(memory.fullLayer, static_cast<std::uint64_t>(perToken * request.tokens));
        // A sliding layer is not evicted: it holds the whole prompt, whatever its window.
        memory.keptCache +=
            static_cast<std::uint64_t>(perToken * (shape.canEvict(layer) ? kept : request.tokens));
        memory.fullCache += static_cast<std::uint64_t>(perToken * request.tokens);
    }
    // The last token of an answer is not read again, so it is not cached.
    memory.answerCache = static_cast<std::uint64_t>(cacheBytesPerToken(model, request.compute) *
                                                    std::max<std::int64_t>(request.answer - 1, 0));
    memory.working = workingBytes(request);
    memory.pictures = static_cast<std::uint64_t>(request.pictureBytes);
    if (request.towerBytes > 0) { // beside the prompt's embeddings
        const auto size = static_cast<std::int64_t>(dtypeSize(request.compute));
        memory.tower =
            static_cast<std::uint64_t>(request.towerBytes + request.tokens * model.hidden * size);
    }
    memory.available = request.device.kind == DeviceKind::Cpu ? availableMemory() : 0;
    return memory;
}

std::string memoryAdvice(const MemoryForecast& memory, const model::ModelInfo& model,
                         DType compute) {
    if (memory.weights <= memory.available || memory.weightsStayOnDisk) {
        return "Give a smaller budget, fewer or smaller pictures, fewer --max-new-tokens, or "
               "--prefill-chunk.";
    }
    constexpr const char* kLarger = "use a machine with more memory";
    const bool storedAsComputable =
        model.storedDType == DType::F32 || model.storedDType == DType::BF16;
    if (storedAsComputable && compute != model.storedDType) {
        return fmt::format("The weights alone do not fit: give --dtype {}, which reads them from "
                           "their files as they are stored, or {}.",
                           model.storedDType == DType::F32 ? "f32" : "bf16", kLarger);
    }
    if (compute == DType::F32) {
        return fmt::format("The weights alone do not fit: give --dtype bf16, which halves them, "
                           "or {}.",
                           kLarger);
    }
    return fmt::format("The weights alone do not fit: {}.", kLarger);
}

std::uint64_t availableMemory() {
    std::ifstream file("/proc/meminfo");
    std::string name;
    std::uint64_t kilobytes = 0;
    while (file >> name >> kilobytes) {
        if (name == "MemAvailable:") {
            return kilobytes * 1024;
        }
        file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    }
    return 0;
}

} // namespace ecokv::session

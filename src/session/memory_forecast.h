#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a run will need, from the shape of a model and the length of its prompt.

#include "base/tensor_view.h"
#include "model/model_info.h"
#include "session/doctor_report.h"

#include <cstdint>
#include <string>

namespace ecokv::session {

struct ForecastRequest {
    const model::ModelInfo& model;
    DType compute = DType::F32;
    Device device;
    std::int32_t intermediate = 0; ///< of the decoder's MLP
    std::int64_t tokens = 0;       ///< of the prompt
    std::int64_t budget = 0;       ///< tokens per KV head; 0 = all
    std::int64_t answer = 0;       ///< the most new tokens
    std::int64_t pictureBytes = 0; ///< pictures as decoded and prepared
    std::int64_t towerBytes = 0;   ///< at the peak of the tower
};

MemoryForecast forecastMemory(const ForecastRequest& request);
/// Keys and values of one token in all layers that have a cache.
std::int64_t cacheBytesPerToken(const model::ModelInfo& model, DType dtype);
/// What to do where a run needs more memory than is free; `memory` is of computing in `compute`.
std::string memoryAdvice(const MemoryForecast& memory, const model::ModelInfo& model,
                         DType compute);
/// Memory that can be had without swapping; 0 where the system does not say.
std::uint64_t availableMemory();

} // namespace ecokv::session

// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/doctor_tower.h"

#include "model/torch_runtime.h"
#include "model/vision/vision_encoder.h"

#include <algorithm>

namespace ecokv::model {

namespace {

/// What lives at once, a tenth for what matrix products put aside, and freed blocks that malloc
/// keeps (keepFreedBlocks), never more than there were.
std::int64_t withKeptBlocks(std::int64_t bytes) {
    return bytes + bytes / 10 + std::min<std::int64_t>(bytes, kFreedBytesKept);
}

} // namespace

PictureMemory pictureMemory(const Prompt& prompt, const VisionEncoder& vision, DType compute) {
    const auto valueBytes = static_cast<std::int64_t>(dtypeSize(compute));
    PictureMemory memory;
    for (const Picture& picture : prompt.pictures) {
        memory.held += std::ssize(picture.pixels);
    }
    for (const PictureInput& input : prompt.pictureInputs) {
        const std::int64_t values = std::ssize(input.values);
        memory.held += values * std::int64_t{4};
        const std::int64_t converted = compute == DType::F32 ? 0 : values * valueBytes;
        const std::int64_t working = withKeptBlocks(vision.workingBytes(input, valueBytes));
        memory.tower = std::max(memory.tower, converted + working);
    }
    return memory;
}

} // namespace ecokv::model

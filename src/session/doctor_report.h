#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What is known of a model folder, and of a prompt for it, before any weight is read: findings for
// people, numbers for programs. Values.

#include "base/finding.h"
#include "session/run_config.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::session {

struct DoctorRequest {
    std::filesystem::path model;
    std::vector<std::filesystem::path> images; ///< in prompt order
    std::string prompt;
    bool applyTemplate = true;
    PictureReading pictureReading;
    std::int64_t budget = 0; ///< tokens per KV head; 0 = everything is kept
    std::int64_t maxNewTokens = RunConfig{}.maxNewTokens;
    DeviceChoice device = DeviceChoice::Auto;
    DTypeChoice dtype = DTypeChoice::Auto;
};

struct DoctorPicture {
    std::string path;
    std::int32_t width = 0, height = 0;               ///< pixels
    std::int32_t resizedWidth = 0, resizedHeight = 0; ///< what the tower sees, pixels
    std::string transparency;                         ///< "none", "dropped", "blended on #rrggbb"
    std::int64_t tokens = 0;
};

/// Bytes. A prefill evicts each layer before the next, so one layer at a time is held in full.
struct MemoryForecast {
    std::uint64_t weights = 0;
    bool weightsStayOnDisk = false; ///< mapped pages that the system can drop and read again
    std::uint64_t fullLayer = 0;    ///< keys and values of the whole prompt in the largest layer
    std::uint64_t keptCache = 0;    ///< of all layers after the eviction
    std::uint64_t fullCache = 0;    ///< of all layers without one, for comparison
    std::uint64_t answerCache = 0;  ///< keys and values of the longest answer, in all layers
    std::uint64_t working = 0;      ///< activations of one decoder layer, estimated
    std::uint64_t pictures = 0;     ///< as decoded and as the tower takes them, while a run lasts
    std::uint64_t tower = 0;        ///< activations of the tower, freed before the decoder begins
    std::uint64_t available = 0;    ///< of this machine or GPU now; 0 = not known

    /// The tower, the prefill and the answer come one after the other.
    std::uint64_t besidesWeights() const {
        return pictures +
               std::max({tower, fullLayer + keptCache + working, keptCache + answerCache});
    }
    std::uint64_t total() const { return weights + besidesWeights(); }
};

struct DoctorReport {
    std::vector<Finding> findings; ///< in display order, topics together
    std::string model, family, architecture, storedDType, computeDType, device;
    std::int64_t parameters = 0, weightBytes = 0;
    std::vector<DoctorPicture> pictures;            ///< empty unless a prompt could be built
    std::int64_t promptTokens = 0, imageTokens = 0; ///< 0 = no prompt was built
    std::optional<MemoryForecast> memory;           ///< if a prompt was built
    std::int64_t cacheBytesPerToken = 0;            ///< of all layers together

    std::int64_t problems() const;
    bool ok() const { return problems() == 0; }
};

} // namespace ecokv::session

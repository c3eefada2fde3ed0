#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Looks through a model folder as a run would, but reads no weights and stops at nothing: every
// problem is a finding, so that all of them are known at once. Throws only for bugs.

#include "base/finding.h"
#include "model/doctor_tower.h"
#include "model/model.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace ecokv::model {

struct ExaminationRequest {
    std::filesystem::path folder;
    PromptRequest prompt; ///< neither words nor pictures: no prompt is built
    Device device;
    ComputeDType dtype = ComputeDType::Auto;
};

/// What a picture becomes.
struct ExaminedPicture {
    std::string path;
    std::int32_t width = 0, height = 0;               ///< pixels, after orientation
    std::int32_t resizedWidth = 0, resizedHeight = 0; ///< what the tower sees, pixels
    std::string transparency;                         ///< as of Picture
    std::int64_t tokens = 0;                          ///< image tokens
};

struct Examination {
    std::vector<Finding> findings;                  ///< in display order, topics together
    std::optional<ModelInfo> info;                  ///< if configuration and weights are readable
    std::int32_t intermediate = 0;                  ///< of the decoder's MLP
    std::optional<DType> computeDType;              ///< that a run would choose
    std::vector<ExaminedPicture> pictures;          ///< of a prompt that was built
    std::int64_t promptTokens = 0, imageTokens = 0; ///< 0 = no prompt was built
    PictureMemory pictureMemory;                    ///< of a prompt that was built
};

Examination examineModel(const ExaminationRequest& request);

} // namespace ecokv::model

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// From 8-bit pixels to a tower's values: rescale, normalise. And the keys of the processor files
// that all image processors share.

#include "model/image/pixels.h"
#include "model/json_file.h"

#include <array>
#include <filesystem>
#include <string>
#include <vector>

namespace ecokv::model {

struct Normalization {
    bool rescales = true, normalizes = true;
    double rescaleFactor = 1.0 / 255.0;
    std::array<double, 3> mean{}, std{};
};

inline constexpr std::array<double, 3> kClipMean{0.48145466, 0.4578275, 0.40821073};
inline constexpr std::array<double, 3> kClipStd{0.26862954, 0.26130258, 0.27577711};
inline constexpr std::array<double, 3> kHalf{0.5, 0.5, 0.5}; ///< SigLIP's mean and deviation

/// [3, height, width] f32, as the reference rounds.
std::vector<float> normalized(const Pixels& image, const Normalization& settings);

/// do_rescale, rescale_factor, do_normalize, image_mean, image_std.
Normalization readNormalization(const JsonObject& settings, const std::array<double, 3>& mean,
                                const std::array<double, 3>& std);
Resample readResample(const JsonObject& settings, Resample fallback);
/// A number of pixels, 1 to 16384. Throws if absent.
std::int32_t pixelSide(const JsonObject& object, const char* key);

/// The image settings of a folder: nested in processor_config.json (what transformers 5 writes)
/// or, in older exports, preprocessor_config.json.
class ProcessorFile {
public:
    /// Throws Error{BadInput} when neither file is there.
    static ProcessorFile open(const std::filesystem::path& folder);

    const std::string& source() const { return m_source; } ///< path
    JsonObject settings() const;
    /// `image_processor_type` without the suffix "Fast". Throws where it is missing or none of
    /// `supported`: the rules for resizing would be a guess (field case F043).
    std::string type(std::initializer_list<const char*> supported) const;
    /// The same as written, with a suffix if there is one; "" where it is missing.
    std::string writtenType() const;

private:
    std::string m_source;
    Json m_json;
    bool m_nested = false;
};

} // namespace ecokv::model

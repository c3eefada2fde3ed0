#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Everything a run needs, as a value; what the CLI parses, the Run page edits and the trace
// records.

#include "base/picture_reading.h"
#include "policy/policy_config.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ecokv::session {

enum class DeviceChoice : std::uint8_t { Auto, Cpu, Cuda };
enum class DTypeChoice : std::uint8_t { Auto, F32, BF16 };

struct RunConfig {
    std::filesystem::path model;               ///< Hugging Face folder
    std::vector<std::filesystem::path> images; ///< in prompt order
    std::string prompt;
    bool applyTemplate = true;
    PictureReading pictureReading;
    /// Questions put one by one to the context (pictures + prompt), which is compressed once
    /// without knowing them. Empty: the prompt is the question.
    std::vector<std::string> asks;
    std::filesystem::path saveCache; ///< the compressed context goes to this file; empty = none
    std::filesystem::path loadCache; ///< the context comes from this file instead of a prompt
    policy::PolicyConfig policy;
    /// Mean tokens per KV head that the cache is brought back to while it generates; 0 = it grows.
    std::int64_t decodeBudget = 0;
    std::int64_t decodeEvery = 16; ///< tokens between two evictions while generating
    std::int64_t maxNewTokens = 64;
    double temperature = 0.0; ///< 0 = greedy
    int topK = 0;
    double topP = 1.0;
    bool compareFull = false; ///< also answer from the full cache, from the same prefill
    /// Not empty: one prefill, then these policies beside the full cache instead of `policy`.
    std::vector<policy::PolicyConfig> compare;
    DeviceChoice device = DeviceChoice::Auto;
    DTypeChoice dtype = DTypeChoice::Auto;
    int threads = 0;                ///< 0 = one for small models, else all cores
    std::int64_t prefillChunk = 0;  ///< tokens a layer of the prefill takes at once; 0 = all
    std::filesystem::path trace;    ///< empty = no trace
    std::int64_t recordWindow = 64; ///< query rows recorded (at least the observation window)
    bool recordValues = true;
    bool recordGeometry = true; ///< spectra, image and text tokens apart, rotation undone
    bool compactTrace = false;
};

/// "auto", "cpu", "cuda"; the parsers throw Error{BadInput} listing the choices.
DeviceChoice parseDeviceChoice(const std::string& text);
/// "auto", "f32", "bf16".
DTypeChoice parseDTypeChoice(const std::string& text);

/// Round trip for /run/arguments_json; unknown fields are refused by name.
std::string toJson(const RunConfig& config);
RunConfig runConfigFromJson(const std::string& text);

} // namespace ecokv::session

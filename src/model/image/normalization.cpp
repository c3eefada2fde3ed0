// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/normalization.h"

#include "base/error.h"
#include "model/file_advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

std::array<double, 3> readTriple(const JsonObject& settings, const char* key,
                                 const std::array<double, 3>& fallback) {
    const Json* list = settings.find(key);
    if (list == nullptr) {
        return fallback;
    }
    std::array<double, 3> values{};
    for (std::size_t i = 0; i < 3; ++i) {
        if (!list->is_array() || list->size() != 3 || !(*list)[i].is_number()) {
            throwBadInput(
                fmt::format("{} = {} must be three numbers.", settings.where(key), list->dump()),
                fmt::format("One each for red, green and blue. {}", restoreAdvice(settings, key)));
        }
        values[i] = (*list)[i].get<double>();
    }
    return values;
}

const char* typeKey(const JsonObject& settings) {
    return settings.has("image_processor_type") ? "image_processor_type" : "feature_extractor_type";
}

/// float32 throughout; rescaling is folded into mean and deviation as the reference does.
std::vector<float> standardized(const Pixels& image, const Normalization& settings) {
    std::vector<float> values(image.data.begin(), image.data.end());
    const std::size_t plane = values.size() / 3;
    const auto inverse = static_cast<float>(settings.rescales ? 1.0 / settings.rescaleFactor : 1.0);
    for (std::size_t c = 0; c < 3; ++c) {
        const float mean = static_cast<float>(settings.mean[c]) * inverse;
        const float deviation = static_cast<float>(settings.std[c]) * inverse;
        for (std::size_t i = c * plane; i < (c + 1) * plane; ++i) {
            values[i] = (values[i] - mean) / deviation;
        }
    }
    return values;
}

} // namespace

std::vector<float> normalized(const Pixels& image, const Normalization& settings) {
    if (settings.normalizes) {
        return standardized(image, settings);
    }
    std::vector<float> values(image.data.begin(), image.data.end());
    if (settings.rescales) {
        const auto factor = static_cast<float>(settings.rescaleFactor);
        std::ranges::for_each(values, [factor](float& value) { value *= factor; });
    }
    return values;
}

Normalization readNormalization(const JsonObject& settings, const std::array<double, 3>& mean,
                                const std::array<double, 3>& std) {
    Normalization result;
    result.rescales = settings.boolean("do_rescale", true);
    result.normalizes = settings.boolean("do_normalize", true);
    result.rescaleFactor = settings.number("rescale_factor", 1.0 / 255.0);
    result.mean = readTriple(settings, "image_mean", mean);
    result.std = readTriple(settings, "image_std", std);
    for (const double value : result.std) {
        if (!(value > 0.0)) {
            throwBadInput(fmt::format("{} must be positive.", settings.where("image_std")),
                          "Fetch the file again.");
        }
    }
    return result;
}

Resample readResample(const JsonObject& settings, Resample fallback) {
    const std::int64_t number = settings.integer("resample", static_cast<std::int64_t>(fallback));
    for (const Resample known : {Resample::Nearest, Resample::Bilinear, Resample::Bicubic}) {
        if (number == static_cast<std::int64_t>(known)) {
            return known;
        }
    }
    throwBadInput(fmt::format("{} = {} is not supported yet.", settings.where("resample"), number),
                  "Supported are 0 (nearest), 2 (bilinear) and 3 (bicubic).");
}

std::int32_t pixelSide(const JsonObject& object, const char* key) {
    const auto value = object.findInteger(key);
    if (!value || *value < 1 || *value > 16384) {
        throwBadInput(
            fmt::format("{} must be a number of pixels from 1 to 16384.", object.where(key)),
            restoreAdvice(object, key));
    }
    return static_cast<std::int32_t>(*value);
}

ProcessorFile ProcessorFile::open(const fs::path& folder) {
    ProcessorFile file;
    const fs::path newer = folder / "processor_config.json";
    if (fs::exists(newer)) { // nested settings go first, as in transformers
        file.m_source = newer.string();
        file.m_json = readJsonFile(newer);
        file.m_nested =
            JsonObject(file.m_json, file.m_source).findObject("image_processor").has_value();
        if (file.m_nested) {
            return file;
        }
    }
    const fs::path older = folder / "preprocessor_config.json";
    if (!fs::exists(older)) {
        throwBadInput(fmt::format("{} says nothing about how pictures are prepared: neither "
                                  "processor_config.json nor preprocessor_config.json is there.",
                                  folder.string()),
                      "Download these files as well.");
    }
    file.m_source = older.string();
    file.m_json = readJsonFile(older);
    return file;
}

JsonObject ProcessorFile::settings() const {
    const JsonObject root(m_json, m_source);
    return m_nested ? root.object("image_processor") : root;
}

std::string ProcessorFile::writtenType() const {
    const JsonObject object = settings();
    return object.string(typeKey(object), "");
}

std::string ProcessorFile::type(std::initializer_list<const char*> supported) const {
    const JsonObject object = settings();
    const std::string written = writtenType();
    if (written.empty()) {
        throwBadInput(fmt::format("{} is missing.", object.where("image_processor_type")),
                      restoreAdvice(object, "image_processor_type"));
    }
    std::string type = written;
    if (constexpr std::string_view kFast = "Fast"; type.ends_with(kFast)) {
        type.resize(type.size() - kFast.size());
    }
    std::string names;
    for (const char* known : supported) {
        if (type == known) {
            return type;
        }
        names += fmt::format("{}{}", names.empty() ? "" : ", ", known);
    }
    throwBadInput(
        fmt::format("{} = \"{}\" is not supported here.", object.where(typeKey(object)), written),
        fmt::format("Supported for this family: {}.", names));
}

} // namespace ecokv::model

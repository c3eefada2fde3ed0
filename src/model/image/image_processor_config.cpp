// SPDX-License-Identifier: GPL-3.0-or-later
#include "model/image/image_processor.h"

#include "base/error.h"
#include "model/json_file.h"

#include <limits>

#include <fmt/format.h>

namespace ecokv::model {

namespace fs = std::filesystem;

namespace {

constexpr std::array<double, 3> kClipMean{0.48145466, 0.4578275, 0.40821073};
constexpr std::array<double, 3> kClipStd{0.26862954, 0.26130258, 0.27577711};
constexpr std::int32_t kClipSide = 224;

std::int32_t side(const JsonObject& object, const char* key) {
    const auto value = object.findInteger(key);
    if (!value || *value < 1 || *value > 16384) {
        throwBadInput(
            fmt::format("{} must be a number of pixels from 1 to 16384.", object.where(key)));
    }
    return static_cast<std::int32_t>(*value);
}

ImageSize heightAndWidth(const JsonObject& object) {
    return {side(object, "width"), side(object, "height")};
}

/// 224, {"shortest_edge": 224} or {"height": 224, "width": 224}.
void readSize(const JsonObject& settings, ImageProcessorConfig& config) {
    config.shortestEdge = kClipSide;
    const Json* size = settings.find("size");
    if (size == nullptr) {
        return;
    }
    if (size->is_number()) {
        config.shortestEdge = side(settings, "size");
        return;
    }
    const JsonObject object = settings.object("size");
    if (object.has("longest_edge") || object.has("max_height") || object.has("max_width")) {
        throwBadInput(fmt::format("{} = {} limits the longest edge, which is not supported yet.",
                                  settings.where("size"), size->dump()),
                      "Supported are shortest_edge, or height and width.");
    }
    if (object.has("shortest_edge")) {
        config.shortestEdge = side(object, "shortest_edge");
    } else {
        config.shortestEdge = 0;
        config.size = heightAndWidth(object);
    }
}

void readCropSize(const JsonObject& settings, ImageProcessorConfig& config) {
    config.cropSize = {kClipSide, kClipSide};
    const Json* size = settings.find("crop_size");
    if (size == nullptr) {
        return;
    }
    if (size->is_number()) {
        const std::int32_t pixels = side(settings, "crop_size");
        config.cropSize = {pixels, pixels};
    } else {
        config.cropSize = heightAndWidth(settings.object("crop_size"));
    }
}

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
                fmt::format("{} = {} must be three numbers.", settings.where(key), list->dump()));
        }
        values[i] = (*list)[i].get<double>();
    }
    return values;
}

Resample readResample(const JsonObject& settings) {
    const std::int64_t number = settings.integer("resample", 3);
    for (const Resample known : {Resample::Nearest, Resample::Bilinear, Resample::Bicubic}) {
        if (number == static_cast<std::int64_t>(known)) {
            return known;
        }
    }
    throwBadInput(fmt::format("{} = {} is not supported yet.", settings.where("resample"), number),
                  "Supported are 0 (nearest), 2 (bilinear) and 3 (bicubic).");
}

std::string readType(const JsonObject& settings) {
    const char* key =
        settings.has("image_processor_type") ? "image_processor_type" : "feature_extractor_type";
    const std::string type = settings.string(key, "");
    if (type.empty()) {
        throwBadInput(fmt::format("{} is missing.", settings.where("image_processor_type")),
                      "Without it the rules for resizing would be a guess.");
    }
    for (const char* known :
         {"CLIPImageProcessor", "CLIPImageProcessorFast", "CLIPFeatureExtractor"}) {
        if (type == known) {
            return type;
        }
    }
    throwBadInput(fmt::format("{} = \"{}\" is not supported yet.", settings.where(key), type),
                  "Supported is CLIPImageProcessor.");
}

ImageProcessorConfig parseSettings(const JsonObject& settings) {
    ImageProcessorConfig config;
    config.type = readType(settings);
    config.source = settings.origin();
    config.resizes = settings.boolean("do_resize", true);
    config.crops = settings.boolean("do_center_crop", true);
    config.rescales = settings.boolean("do_rescale", true);
    config.normalizes = settings.boolean("do_normalize", true);
    config.resample = readResample(settings);
    config.rescaleFactor = settings.number("rescale_factor", 1.0 / 255.0);
    config.mean = readTriple(settings, "image_mean", kClipMean);
    config.std = readTriple(settings, "image_std", kClipStd);
    for (const double value : config.std) {
        if (!(value > 0.0)) {
            throwBadInput(fmt::format("{} must be positive.", settings.where("image_std")));
        }
    }
    if (settings.boolean("do_pad", false)) {
        throwBadInput(fmt::format("{}: padding is not supported yet.", settings.where("do_pad")));
    }
    readSize(settings, config);
    readCropSize(settings, config);
    return config;
}

} // namespace

ImageProcessorConfig readImageProcessorConfig(const fs::path& folder) {
    const fs::path newer = folder / "processor_config.json";
    if (fs::exists(newer)) { // nested settings go first, as in transformers
        const Json json = readJsonFile(newer);
        const JsonObject root(json, newer.string());
        if (const auto nested = root.findObject("image_processor")) {
            return parseSettings(*nested);
        }
    }
    const fs::path older = folder / "preprocessor_config.json";
    if (!fs::exists(older)) {
        throwBadInput(fmt::format("{} says nothing about how pictures are prepared: neither "
                                  "processor_config.json nor preprocessor_config.json is there.",
                                  folder.string()),
                      "Download these files as well.");
    }
    const Json json = readJsonFile(older);
    return parseSettings(JsonObject(json, older.string()));
}

} // namespace ecokv::model

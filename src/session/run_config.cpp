// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/run_config.h"

#include "base/choice_table.h"
#include "base/error.h"
#include "policy/choice_names.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <optional>
#include <type_traits>
#include <utility>

namespace ecokv::session {

namespace {

using Json = nlohmann::json;

constexpr ChoiceTable<DeviceChoice, 3> kDevices{
    {{"auto", DeviceChoice::Auto}, {"cpu", DeviceChoice::Cpu}, {"cuda", DeviceChoice::Cuda}}};
constexpr ChoiceTable<DTypeChoice, 3> kDTypes{
    {{"auto", DTypeChoice::Auto}, {"f32", DTypeChoice::F32}, {"bf16", DTypeChoice::BF16}}};

template <class Choice, std::size_t N>
Choice valueOf(const ChoiceTable<Choice, N>& choices, const std::string& text, const char* field) {
    if (const std::optional<Choice> choice = valueNamed(choices, text)) {
        return *choice;
    }
    throwBadInput(fmt::format("The run setting \"{}\" is \"{}\".", field, text),
                  fmt::format("Use one of {}.", joinedNames(choices)));
}

/// Takes fields out of a JSON object one by one, so that what is left over can be refused.
class FieldReader {
public:
    FieldReader(Json object, std::string where)
        : m_object(std::move(object)), m_where(std::move(where)) {
        if (!m_object.is_object()) {
            throwBadInput(fmt::format("{} is not a JSON object.", m_where),
                          "Write the settings as {\"model\": ..., \"prompt\": ...}.");
        }
    }

    template <class T> void read(const char* name, T& target) {
        const auto found = m_object.find(name);
        if (found == m_object.end()) {
            return;
        }
        try {
            checkWhole<T>(*found);
            target = found->get<T>();
        } catch (const Json::exception&) {
            throwBadInput(
                fmt::format("{} has \"{}\" = {}, which is of the wrong type or beyond its range.",
                            m_where, name, found->dump()),
                "A run that was saved by this program shows every field with its type.");
        }
        m_object.erase(found);
    }

    template <class T> void readOptional(const char* name, std::optional<T>& target) {
        const auto found = m_object.find(name);
        if (found == m_object.end()) {
            return;
        }
        if (found->is_null()) {
            target.reset();
            m_object.erase(found);
            return;
        }
        T value{};
        read(name, value);
        target = value;
    }

    void refuseLeftovers() const {
        if (!m_object.empty()) {
            throwBadInput(
                fmt::format("{} has an unknown field \"{}\".", m_where, m_object.begin().key()),
                "It may come from a newer version of this program: update it, or remove the "
                "field.");
        }
    }

private:
    /// Without this a number with a fraction or beyond 64 bits would quietly become another one.
    template <class T> static void checkWhole(const Json& value) {
        if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
            const bool fits = value.is_number_unsigned()
                                  ? std::in_range<T>(value.template get<std::uint64_t>())
                                  : value.is_number_integer() &&
                                        std::in_range<T>(value.template get<std::int64_t>());
            if (!fits) {
                throw Json::out_of_range::create(401, "not a whole number of its range", nullptr);
            }
        }
    }

    Json m_object;
    std::string m_where;
};

Json policyToJson(const policy::PolicyConfig& policy) {
    Json json{{"scorer", policy.scorer},
              {"allocator", policy.allocator},
              {"budget", policy.budget},
              {"sink", policy.sink},
              {"alpha", policy.alpha},
              {"beta", policy.beta},
              {"pool", policy.pool},
              {"geometry", nameOf(policy::kGeometries, policy.geometry)},
              {"seed", policy.seed},
              {"redundancy", policy::redundancyText(policy.redundancy)},
              {"lambda", policy.lambda},
              {"floor", policy.floor},
              {"pyramid_beta", policy.pyramidBeta},
              {"head_weights", policy.headWeights}};
    if (policy.ratio) {
        json["ratio"] = *policy.ratio;
    }
    if (policy.window) {
        json["window"] = *policy.window;
    }
    if (policy.recent) {
        json["recent"] = *policy.recent;
    }
    if (policy.poolMode) {
        json["pool_mode"] = nameOf(policy::kPoolModes, *policy.poolMode);
    }
    if (policy.valueNorm) {
        json["value_norm"] = *policy.valueNorm;
    }
    return json;
}

policy::PolicyConfig policyFromJson(const Json& json) {
    policy::PolicyConfig policy;
    FieldReader fields(json, "The policy of the run settings");
    fields.read("scorer", policy.scorer);
    fields.read("allocator", policy.allocator);
    fields.read("budget", policy.budget);
    fields.read("sink", policy.sink);
    fields.read("alpha", policy.alpha);
    fields.read("beta", policy.beta);
    fields.read("pool", policy.pool);
    fields.read("seed", policy.seed);
    fields.read("lambda", policy.lambda);
    fields.read("floor", policy.floor);
    fields.read("pyramid_beta", policy.pyramidBeta);
    fields.read("head_weights", policy.headWeights);
    fields.readOptional("ratio", policy.ratio);
    std::string redundancy = policy::redundancyText(policy.redundancy);
    fields.read("redundancy", redundancy);
    policy.redundancy = policy::parseRedundancy(redundancy);
    fields.readOptional("window", policy.window);
    fields.readOptional("recent", policy.recent);
    fields.readOptional("value_norm", policy.valueNorm);
    std::string geometry = nameOf(policy::kGeometries, policy.geometry);
    fields.read("geometry", geometry);
    policy.geometry = valueOf(policy::kGeometries, geometry, "geometry");
    std::optional<std::string> poolMode;
    fields.readOptional("pool_mode", poolMode);
    if (poolMode) {
        policy.poolMode = valueOf(policy::kPoolModes, *poolMode, "pool_mode");
    }
    fields.refuseLeftovers();
    return policy;
}

} // namespace

DeviceChoice parseDeviceChoice(const std::string& text) {
    return valueOf(kDevices, text, "device");
}

DTypeChoice parseDTypeChoice(const std::string& text) {
    return valueOf(kDTypes, text, "dtype");
}

std::string toJson(const RunConfig& config) {
    Json images = Json::array();
    for (const auto& image : config.images) {
        images.push_back(image.string());
    }
    Json compare = Json::array();
    for (const policy::PolicyConfig& policy : config.compare) {
        compare.push_back(policyToJson(policy));
    }
    const auto& blend = config.pictureReading.blendAlpha;
    const Json json{{"model", config.model.string()},
                    {"images", images},
                    {"prompt", config.prompt},
                    {"apply_template", config.applyTemplate},
                    {"apply_orientation", config.pictureReading.applyOrientation},
                    {"blend_alpha", blend ? colourText(*blend) : ""},
                    {"asks", config.asks},
                    {"save_cache", config.saveCache.string()},
                    {"load_cache", config.loadCache.string()},
                    {"policy", policyToJson(config.policy)},
                    {"decode_budget", config.decodeBudget},
                    {"decode_every", config.decodeEvery},
                    {"max_new_tokens", config.maxNewTokens},
                    {"temperature", config.temperature},
                    {"top_k", config.topK},
                    {"top_p", config.topP},
                    {"compare_full", config.compareFull},
                    {"compare", compare},
                    {"device", nameOf(kDevices, config.device)},
                    {"dtype", nameOf(kDTypes, config.dtype)},
                    {"threads", config.threads},
                    {"prefill_chunk", config.prefillChunk},
                    {"trace", config.trace.string()},
                    {"record_window", config.recordWindow},
                    {"record_values", config.recordValues},
                    {"record_geometry", config.recordGeometry},
                    {"compact_trace", config.compactTrace}};
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

RunConfig runConfigFromJson(const std::string& text) {
    Json parsed;
    try {
        parsed = Json::parse(text);
    } catch (const Json::parse_error& error) {
        throwBadInput(fmt::format("The run settings are not valid JSON (byte {}).", error.byte),
                      "Correct the file there, or save the run again.");
    }
    RunConfig config;
    FieldReader fields(std::move(parsed), "The run settings");
    std::string model, trace, saveCache, loadCache, blendAlpha;
    std::string device = nameOf(kDevices, config.device);
    std::string dtype = nameOf(kDTypes, config.dtype);
    std::vector<std::string> images;
    Json policyJson = Json::object();
    std::vector<Json> compare;
    fields.read("model", model);
    fields.read("images", images);
    fields.read("prompt", config.prompt);
    fields.read("apply_template", config.applyTemplate);
    fields.read("apply_orientation", config.pictureReading.applyOrientation);
    fields.read("blend_alpha", blendAlpha);
    fields.read("asks", config.asks);
    fields.read("save_cache", saveCache);
    fields.read("load_cache", loadCache);
    fields.read("policy", policyJson);
    fields.read("decode_budget", config.decodeBudget);
    fields.read("decode_every", config.decodeEvery);
    fields.read("max_new_tokens", config.maxNewTokens);
    fields.read("temperature", config.temperature);
    fields.read("top_k", config.topK);
    fields.read("top_p", config.topP);
    fields.read("compare_full", config.compareFull);
    fields.read("compare", compare);
    fields.read("device", device);
    fields.read("dtype", dtype);
    fields.read("threads", config.threads);
    fields.read("prefill_chunk", config.prefillChunk);
    fields.read("trace", trace);
    fields.read("record_window", config.recordWindow);
    fields.read("record_values", config.recordValues);
    fields.read("record_geometry", config.recordGeometry);
    fields.read("compact_trace", config.compactTrace);
    fields.refuseLeftovers();
    config.model = model;
    if (!blendAlpha.empty()) {
        config.pictureReading.blendAlpha = parseColour(blendAlpha);
    }
    config.images.assign(images.begin(), images.end());
    config.policy = policyFromJson(policyJson);
    std::transform(compare.begin(), compare.end(), std::back_inserter(config.compare),
                   policyFromJson);
    config.device = parseDeviceChoice(device);
    config.dtype = parseDTypeChoice(dtype);
    config.trace = trace;
    config.saveCache = saveCache;
    config.loadCache = loadCache;
    return config;
}

} // namespace ecokv::session

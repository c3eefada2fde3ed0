// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/policy_settings.h"

#include "base/error.h"
#include "policy/choice_names.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>

namespace ecokv::policy {

namespace {

constexpr const char* kText = "settings";

std::string textOf(const Setting& setting) {
    return std::visit([](const auto& value) { return fmt::format("{}", value); }, setting);
}

/// The settings that older traces hold one by one, as parsePolicy calls them.
std::string textFromNumbers(const Settings& settings, const std::string& scorer) {
    constexpr std::array kNames{"budget", "window",    "recent",   "sink", "alpha",    "beta",
                                "pool",   "pool_mode", "geometry", "seed", "allocator"};
    std::string text = scorer + ":";
    for (const char* name : kNames) {
        if (const auto found = settings.find(name); found != settings.end()) {
            text += fmt::format("{}={},", name, textOf(found->second));
        }
    }
    if (const auto found = settings.find("value_norm"); found != settings.end()) {
        text += textOf(found->second) == "0" ? "vnorm=off" : "vnorm=on";
    }
    return text;
}

/// Where the head weights came from (measured here, a constant, a table), and what the allocator
/// and the scorer read beside the general numbers. Files by their names alone.
void addSpecial(const PolicyConfig& config, Settings& settings) {
    const auto fileName = [](const std::string& path) {
        return std::filesystem::path(path).filename().string();
    };
    const RedundancyChoice& redundancy = config.redundancy;
    settings["redundancy_source"] = std::string(nameOf(kRedundancySources, redundancy.source));
    if (redundancy.source == RedundancySource::Constant) {
        settings["redundancy_constant"] = redundancy.constant;
    } else if (redundancy.source == RedundancySource::Table) {
        settings["redundancy_table"] = fileName(redundancy.file);
    }
    if (config.ratio) {
        settings["ratio"] = *config.ratio;
    }
    if (config.scorer == "rkv") {
        settings["lambda"] = config.lambda;
    }
    if (config.allocator == "pyramid") {
        settings["pyramid_beta"] = config.pyramidBeta;
    } else if (config.allocator == "adaptive") {
        settings["floor"] = config.floor;
    } else if (config.allocator == "static") {
        settings["head_weights"] = fileName(config.headWeights);
    }
}

} // namespace

Settings settingsOf(const ResolvedPolicy& policy) {
    const PolicyConfig& config = policy.config;
    Settings settings = {
        {"policy", config.scorer},
        {"allocator", config.allocator},
        {"definition", std::string("ecokv-1")},
        {"budget", policy.budget},
        {"window", std::int64_t{policy.window}},
        {"recent", policy.recent},
        {"sink", policy.sink},
        {"alpha", config.alpha},
        {"beta", config.beta},
        {"pool", std::int64_t{config.pool}},
        {"pool_mode", std::string(nameOf(kPoolModes, policy.poolMode))},
        {"value_norm", std::int64_t{policy.valueNorm}},
        {"geometry", std::string(nameOf(kGeometries, config.geometry))},
        {"seed", static_cast<std::int64_t>(config.seed)},
        {"compressed", std::int64_t{policy.compresses}},
        {"note", policy.note},
        {kText, policyText(config)},
    };
    addSpecial(config, settings);
    return settings;
}

PolicyConfig configOf(const Settings& settings) {
    if (const auto text = settings.find(kText); text != settings.end()) {
        return parsePolicy(textOf(text->second));
    }
    const auto scorer = settings.find("policy");
    if (scorer == settings.end()) {
        throwBadInput("The trace does not name the policy it was made with.",
                      "Name one with --policy.");
    }
    return parsePolicy(textFromNumbers(settings, textOf(scorer->second)));
}

} // namespace ecokv::policy

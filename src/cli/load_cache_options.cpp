// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/load_cache_options.h"

#include "analysis/replay.h" // and how policies are written
#include "base/error.h"
#include "trace/cache_file.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <system_error>

namespace ecokv::cli {

namespace {

constexpr std::array kOfReading{"--plain-prompt", "--ignore-orientation", "--blend-alpha",
                                "--prefill-chunk"};

/// What decides which tokens stay, without how many.
policy::PolicyConfig withoutBudget(policy::PolicyConfig policy) {
    policy.budget = 0;
    policy.ratio.reset();
    return policy;
}

} // namespace

void adoptSavedContext(const CLI::App& run, session::RunConfig& config) {
    for (const char* option : kOfReading) {
        if (run.count(option) > 0) {
            throwUsage(fmt::format("{} comes too late: the context of --load-cache was read and "
                                   "compressed before.",
                                   option),
                       fmt::format("Leave {} out, or --load-cache.", option));
        }
    }
    const policy::PolicyConfig typed = config.policy;
    std::error_code unreadable; // counts as missing
    if (typed.budget != 0 || typed.ratio ||
        !std::filesystem::exists(config.loadCache, unreadable)) {
        return; // refused by the session, after what it checks first
    }
    const auto record = trace::CacheFileReader(config.loadCache).record();
    const auto settings = trace::attributeOr<std::string>(record.policy, "settings", "full");
    policy::PolicyConfig saved = withoutBudget(policy::parsePolicy(settings));
    if (saved.scorer == "full") {
        return; // nothing left the context yet: --policy says what leaves while it answers
    }
    saved.seed = run.count("--seed") > 0 ? typed.seed : saved.seed; // of sampling too
    policy::PolicyConfig wanted = typed, unsaid;
    wanted.seed = unsaid.seed = saved.seed;
    const bool isTyped = run.count("--policy") > 0 || wanted != unsaid;
    if (isTyped && wanted != saved) {
        throwUsage(
            fmt::format("{} was compressed by {} and goes on with it; no other policy and no other "
                        "options can take its place.",
                        config.loadCache.string(), settings),
            "Leave --policy and its options out, or compress the context again.");
    }
    config.policy = saved;
}

} // namespace ecokv::cli

// SPDX-License-Identifier: GPL-3.0-or-later
// What can be refused before a model is loaded: impossible numbers, contradicting settings, missing
// files.
#include "base/error.h"
#include "session/decode_evictor.h"
#include "session/runner.h"
#include "session/token_budget.h"
#include "trace/cache_file.h"
#include "trace/write_target.h"

#include <fmt/format.h>

#include <filesystem>

namespace ecokv::session {

namespace {

/// Longer than any prompt: what is impossible here is impossible for every prompt.
constexpr std::int64_t kAnyPrompt = std::int64_t{1} << 40;
/// Longer than any answer; sizes in bytes stay far below 64 bits.
constexpr std::int64_t kMostTokens = 1'000'000'000;

/// Refused before a model is loaded rather than after the prefill.
void checkOutputFolder(const std::filesystem::path& file, const char* what) {
    const auto folder = file.parent_path();
    std::error_code unreadable; // counts as missing
    if (!folder.empty() && !std::filesystem::is_directory(folder, unreadable)) {
        throwBadInput(
            fmt::format("The folder {} for the {} does not exist.", folder.string(), what),
            "Make it first, or name another file.");
    }
}

void checkOutputs(const RunConfig& config) {
    if (!config.trace.empty()) {
        checkOutputFolder(config.trace, "trace");
        trace::checkedTraceTarget(config.trace);
    }
    if (config.saveCache.empty()) {
        return;
    }
    checkOutputFolder(config.saveCache, "saved cache");
    const auto cache = trace::checkedCacheTarget(config.saveCache);
    std::error_code error;
    if (!config.trace.empty() &&
        std::filesystem::weakly_canonical(cache, error) ==
            std::filesystem::weakly_canonical(trace::checkedTraceTarget(config.trace), error)) {
        throwUsage(
            fmt::format("{} cannot be both the trace and the saved cache.", config.trace.string()),
            "Name two files.");
    }
}

void checkPicture(const std::filesystem::path& image) {
    std::error_code unreadable; // counts as missing
    if (std::filesystem::is_directory(image, unreadable)) {
        throwBadInput(fmt::format("The picture {} is a folder.", image.string()),
                      "Name a JPEG, PNG or WebP file.");
    }
    if (!std::filesystem::is_regular_file(image, unreadable)) {
        throwBadInput(fmt::format("The picture \"{}\" was not found.", image.string()),
                      "Check the path.");
    }
}

void checkSavedCaches(const RunConfig& config) {
    if (config.loadCache.empty()) {
        return;
    }
    if (config.asks.empty()) {
        throwUsage("A saved cache was given, but no question.", "Add --ask \"...\".");
    }
    if (!config.images.empty() || !config.prompt.empty() || config.policy.budget > 0 ||
        config.policy.ratio) {
        throwUsage("A saved cache holds the pictures and the prompt, compressed already; none "
                   "can be given beside it, nor a budget.",
                   "Leave --image, --prompt, --budget and --ratio out, or --load-cache.");
    }
    if (!config.trace.empty() || config.compareFull || !config.saveCache.empty()) {
        throwUsage("A saved cache holds only what the eviction kept: it gives no trace, no full "
                   "cache and nothing to save again.",
                   "Leave --trace, --with-full and --save-cache out, or --load-cache.");
    }
    trace::CacheFileReader(config.loadCache); // unreadable files are told before weights are read
}

void checkDecode(const RunConfig& config) {
    const bool isPossible = config.decodeBudget >= 0 && config.decodeBudget <= kMostTokens &&
                            config.decodeEvery >= 1 && config.decodeEvery <= kMostTokens;
    if (!isPossible) {
        throwUsage(fmt::format("A decode budget of {} tokens every {} tokens was asked for.",
                               config.decodeBudget, config.decodeEvery),
                   fmt::format("Give --decode-budget at least 1 (0 = the cache grows) and "
                               "--decode-every at least 1, both at most {}.",
                               kMostTokens));
    }
    if (config.decodeBudget > 0) {
        resolveDecode(decodeSetup(config));
    }
}

void checkComparison(const RunConfig& config) {
    if (config.temperature > 0) {
        throwUsage("A comparison follows the greedy continuation of the full cache; a temperature "
                   "does not go with it.",
                   "Leave --temperature out.");
    }
    if (!config.asks.empty() || !config.saveCache.empty() || !config.loadCache.empty() ||
        config.decodeBudget > 0) {
        throwUsage("A comparison answers one prompt, and only the prompt is evicted.",
                   "Leave --ask, --save-cache, --load-cache and --decode-budget out.");
    }
}

} // namespace

void checkRunConfig(const RunConfig& config) {
    if (config.model.empty()) {
        throwUsage("No model folder was given.", "Name a Hugging Face folder.");
    }
    if (config.maxNewTokens < 1 || config.maxNewTokens > kMostTokens) {
        throwUsage(fmt::format("{} new tokens were asked for.", config.maxNewTokens),
                   fmt::format("Ask for at least 1 and at most {}.", kMostTokens));
    }
    checkBudget(config.policy.budget);
    const bool sampling = config.temperature >= 0 && config.topP > 0 && config.topP <= 1 &&
                          config.topK >= 0; // written so that NaN fails
    if (!sampling) {
        throwUsage(fmt::format("The sampling settings are temperature {}, top-k {}, top-p {}.",
                               config.temperature, config.topK, config.topP),
                   "Use temperature >= 0, top-k >= 0 and 0 < top-p <= 1.");
    }
    if (config.threads < 0 || config.recordWindow < 0) {
        throwUsage(fmt::format("Threads ({}) and recorded window ({}) cannot be negative.",
                               config.threads, config.recordWindow),
                   "Give 0 or more: --threads 0 chooses by the size of the model.");
    }
    if (config.prefillChunk < 0) {
        throwUsage(
            fmt::format("A prefill in chunks of {} tokens was asked for.", config.prefillChunk),
            "Give at least 1, or 0 to take the whole prompt at once.");
    }
    if (config.compare.empty()) {
        policy::resolve(config.policy, kAnyPrompt);
    } else {
        checkComparison(config);
    }
    checkOutputs(config);
    checkSavedCaches(config);
    checkDecode(config);
    for (const auto& image : config.images) {
        checkPicture(image);
    }
}

} // namespace ecokv::session

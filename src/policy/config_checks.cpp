// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/config_checks.h"

#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::policy {

namespace {

void checkRange(const char* name, double value) {
    if (!(value >= 0.0 && value <= 1.0)) { // written so that NaN is refused too
        throwUsage(
            fmt::format("{} is {}; it is a share and must lie between 0 and 1.", name, value));
    }
}

void checkNotNegative(const char* name, std::int64_t value) {
    if (value < 0) {
        throwUsage(fmt::format("{} is {}; it counts tokens and cannot be negative.", name, value));
    }
}

void checkRatio(const PolicyConfig& config) {
    if (!config.ratio) {
        return;
    }
    if (!(*config.ratio >= 0.0 && *config.ratio < 1.0)) { // F001
        throwUsage(fmt::format("The ratio is {}; it is the share of tokens evicted and must be at "
                               "least 0 and below 1.",
                               *config.ratio),
                   "Use 0.5 to evict half of the prompt.");
    }
    if (config.budget > 0) {
        throwUsage(fmt::format("Both a budget of {} and a ratio of {} were given.", config.budget,
                               *config.ratio),
                   "Give one of them.");
    }
}

} // namespace

void checkConfig(const PolicyConfig& config, std::int64_t tokens) {
    if (tokens < 1) {
        throwBadInput("The prompt has no tokens, so there is nothing to score.");
    }
    checkNotNegative("The budget", config.budget);
    checkNotNegative("The window", config.window.value_or(0));
    checkNotNegative("The number of recent tokens", config.recent.value_or(0));
    checkNotNegative("The number of sinks", config.sink);
    checkRange("alpha", config.alpha);
    checkRange("beta", config.beta);
    checkRange("lambda", config.lambda);
    checkRange("floor", config.floor);
    checkRatio(config);
    if (config.redundancy.source == RedundancySource::Constant) {
        checkRange("redundancy", config.redundancy.constant);
    }
    if (!(config.pyramidBeta >= 1.0)) {
        throwUsage(fmt::format("pyramid_beta is {}; the last layer gets 1 / pyramid_beta of the "
                               "mean, so it must be at least 1.",
                               config.pyramidBeta),
                   "Use 1 for the same budget in every layer, 20 for the default.");
    }
    if (config.pool < 1 || config.pool % 2 == 0) { // F029
        throwUsage(fmt::format("The pooling width is {}; it must be odd and at least 1, so that "
                               "every token has as many neighbours on either side.",
                               config.pool),
                   "Use 1 for no pooling, 5 for the default.");
    }
}

} // namespace ecokv::policy

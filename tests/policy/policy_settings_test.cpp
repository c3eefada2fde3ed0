// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "policy/policy.h"
#include "policy/policy_settings.h"

#include <gtest/gtest.h>

namespace ecokv::policy {

TEST(PolicySettings, leadBackToThePolicyTheyCameFrom) {
    for (const PolicyInfo& info : policies()) {
        PolicyConfig config = parsePolicy(info.name);
        config.budget = 48;
        config.alpha = 0.3;
        config.pool = 7;
        config.seed = 11;
        const ResolvedPolicy before = resolve(config, 300);
        const ResolvedPolicy after = resolve(configOf(settingsOf(before)), 300);
        EXPECT_EQ(settingsOf(after), settingsOf(before)) << info.name;
        EXPECT_EQ(after.budget, before.budget);
        EXPECT_EQ(after.recent, before.recent);
    }
}

TEST(PolicySettings, ofTracesWithoutTheTextAreReadNumberByNumber) {
    for (const std::string name : {"ecokv", "snapkv", "mixkv", "streaming"}) {
        const ResolvedPolicy before =
            resolve(parsePolicy(name + ":budget=40,window=12,recent=6,sink=2,beta=0.25"), 500);
        Settings settings = settingsOf(before);
        settings.erase("settings");
        const PolicyConfig config = configOf(settings);
        EXPECT_EQ(config.scorer, name);
        EXPECT_EQ(config.budget, 40);
        EXPECT_EQ(config.window, 12);
        EXPECT_EQ(config.recent, 6);
        EXPECT_EQ(config.sink, 2);
        EXPECT_EQ(config.beta, 0.25);
        EXPECT_EQ(config.valueNorm, name == "mixkv");
        EXPECT_EQ(resolve(config, 500).poolMode, before.poolMode);
    }
}

TEST(PolicySettings, withoutAPolicyAreRefused) {
    try {
        configOf({{"budget", std::int64_t{3}}});
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("does not name the policy"), std::string::npos);
    }
}

} // namespace ecokv::policy

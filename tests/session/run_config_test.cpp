// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/run_config.h"

#include "base/error.h"

#include <gtest/gtest.h>

#include <string>

namespace ecokv::session {

namespace {

RunConfig everythingSet() {
    RunConfig config;
    config.model = "models/demo";
    config.images = {"a.png", "b c.jpg"};
    config.prompt = "What is \"x\"?\nÜ 測試";
    config.applyTemplate = false;
    config.pictureReading = {.applyOrientation = false, .blendAlpha = RgbColour{1, 171, 255}};
    config.policy.scorer = "mixkv";
    config.policy.allocator = "static";
    config.policy.headWeights = "weights.json";
    config.policy.redundancy = {policy::RedundancySource::Table, 0, "table.json"};
    config.policy.ratio = 0.75;
    config.policy.lambda = 0.3;
    config.policy.floor = 0.1;
    config.policy.pyramidBeta = 7;
    config.policy.budget = 48;
    config.policy.window = 16;
    config.policy.recent = 12;
    config.policy.sink = 4;
    config.policy.alpha = 0.7;
    config.policy.beta = 0.25;
    config.policy.pool = 13;
    config.policy.poolMode = kernels::PoolMode::Max;
    config.policy.valueNorm = true;
    config.policy.geometry = policy::Geometry::Pre;
    config.policy.seed = 18446744073709551615ULL;
    config.asks = {"first?", "zweite \"Frage\"?"};
    config.saveCache = "out.cache.h5";
    config.loadCache = "in.cache.h5";
    config.decodeBudget = 96;
    config.decodeEvery = 5;
    config.maxNewTokens = 7;
    config.temperature = 0.5;
    config.topK = 40;
    config.topP = 0.9;
    config.compareFull = true;
    config.compare = {policy::parsePolicy("full"),
                      policy::parsePolicy("ecokv:budget=24,window=16,geometry=pre,vnorm=on")};
    config.device = DeviceChoice::Cpu;
    config.dtype = DTypeChoice::BF16;
    config.threads = 2;
    config.prefillChunk = 512;
    config.trace = "out.ecokv.h5";
    config.recordWindow = 32;
    config.recordValues = false;
    config.recordGeometry = false;
    config.compactTrace = true;
    return config;
}

std::string messageOf(const std::string& json) {
    try {
        runConfigFromJson(json);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        return error.what();
    }
    return {};
}

} // namespace

TEST(RunConfig, everyFieldSurvivesTheRoundTrip) {
    const RunConfig before = everythingSet();
    const RunConfig after = runConfigFromJson(toJson(before));
    EXPECT_EQ(after.model, before.model);
    EXPECT_EQ(after.images, before.images);
    EXPECT_EQ(after.prompt, before.prompt);
    EXPECT_FALSE(after.applyTemplate);
    EXPECT_EQ(after.pictureReading, before.pictureReading);
    EXPECT_EQ(after.policy, before.policy);
    EXPECT_EQ(after.policy.scorer, "mixkv");
    EXPECT_EQ(after.policy.budget, 48);
    EXPECT_EQ(after.policy.window, 16);
    EXPECT_EQ(after.policy.recent, 12);
    EXPECT_EQ(after.policy.sink, 4);
    EXPECT_EQ(after.policy.alpha, 0.7);
    EXPECT_EQ(after.policy.beta, 0.25);
    EXPECT_EQ(after.policy.pool, 13);
    EXPECT_EQ(after.policy.poolMode, kernels::PoolMode::Max);
    EXPECT_EQ(after.policy.valueNorm, true);
    EXPECT_EQ(after.policy.geometry, policy::Geometry::Pre);
    EXPECT_EQ(after.policy.seed, before.policy.seed);
    EXPECT_EQ(after.asks, before.asks);
    EXPECT_EQ(after.saveCache, before.saveCache);
    EXPECT_EQ(after.loadCache, before.loadCache);
    EXPECT_EQ(after.decodeBudget, 96);
    EXPECT_EQ(after.decodeEvery, 5);
    EXPECT_EQ(after.maxNewTokens, 7);
    EXPECT_EQ(after.temperature, 0.5);
    EXPECT_EQ(after.topK, 40);
    EXPECT_EQ(after.topP, 0.9);
    EXPECT_TRUE(after.compareFull);
    EXPECT_EQ(after.compare, before.compare);
    EXPECT_EQ(after.device, DeviceChoice::Cpu);
    EXPECT_EQ(after.dtype, DTypeChoice::BF16);
    EXPECT_EQ(after.threads, 2);
    EXPECT_EQ(after.prefillChunk, 512);
    EXPECT_EQ(after.trace, before.trace);
    EXPECT_EQ(after.recordWindow, 32);
    EXPECT_FALSE(after.recordValues);
    EXPECT_FALSE(after.recordGeometry);
    EXPECT_TRUE(after.compactTrace);
    EXPECT_EQ(toJson(after), toJson(before)); // nothing of the text is lost either
}

TEST(RunConfig, unsetOptionsStayUnset) {
    const RunConfig after = runConfigFromJson(toJson(RunConfig{}));
    EXPECT_FALSE(after.policy.window.has_value());
    EXPECT_FALSE(after.policy.recent.has_value());
    EXPECT_FALSE(after.policy.poolMode.has_value());
    EXPECT_FALSE(after.policy.valueNorm.has_value());
}

TEST(RunConfig, mistakesAreNamed) {
    EXPECT_NE(messageOf("{").find("not valid JSON"), std::string::npos);
    EXPECT_NE(messageOf("[]").find("not a JSON object"), std::string::npos);
    EXPECT_NE(messageOf(R"({"colour": 1})").find("\"colour\""), std::string::npos);
    EXPECT_NE(messageOf(R"({"threads": "two"})").find("\"threads\" = \"two\""), std::string::npos);
    EXPECT_NE(messageOf(R"({"policy": {"bugdet": 4}})").find("\"bugdet\""), std::string::npos);
    // Never a quietly different number: beyond 64 bits, a fraction, a sign that does not fit.
    for (const char* number : {"99999999999999999999", "1e30", "4.5", "9223372036854775808"}) {
        const std::string json = std::string(R"({"policy": {"budget": )") + number + "}}";
        EXPECT_NE(messageOf(json).find("\"budget\""), std::string::npos) << number;
    }
    EXPECT_NE(messageOf(R"({"policy": {"seed": -1}})").find("\"seed\" = -1"), std::string::npos);
    EXPECT_NE(messageOf(R"({"threads": 3000000000})").find("\"threads\""), std::string::npos);
    const std::string device = messageOf(R"({"device": "tpu"})");
    EXPECT_NE(device.find("\"tpu\""), std::string::npos) << device;
    EXPECT_NE(device.find("auto, cpu, cuda"), std::string::npos) << device;
}

} // namespace ecokv::session

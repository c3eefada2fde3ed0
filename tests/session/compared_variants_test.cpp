// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/compared_variants.h"

#include "session/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ecokv::session {

namespace {

std::vector<std::string> textsOf(const std::vector<policy::PolicyConfig>& policies) {
    std::vector<std::string> texts;
    std::transform(policies.begin(), policies.end(), std::back_inserter(texts), policy::policyText);
    return texts;
}

std::vector<policy::PolicyConfig> parsed(const std::vector<std::string>& texts) {
    std::vector<policy::PolicyConfig> policies;
    for (const std::string& text : texts) {
        policies.push_back(policy::parsePolicy(text));
    }
    return policies;
}

using Texts = std::vector<std::string>;

} // namespace

TEST(ComparedVariants, fullAndRandomAreAddedAndSaid) {
    std::vector<std::string> notes;
    const auto all = completeComparison(
        parsed({"snapkv:budget=32", "snapkv:budget=16", "random:budget=16"}), notes);
    EXPECT_EQ(textsOf(all), (Texts{"full", "snapkv:budget=32", "snapkv:budget=16",
                                   "random:budget=16", "random:budget=32"}));
    ASSERT_EQ(notes.size(), 2U);
    EXPECT_NE(notes[0].find("full was added"), std::string::npos);
    EXPECT_NE(notes[1].find("random was added at budget 32:"), std::string::npos) << notes[1];
}

TEST(ComparedVariants, randomFollowsShares) {
    std::vector<std::string> notes;
    const auto all = completeComparison(parsed({"full", "ecokv:ratio=0.25"}), notes);
    EXPECT_EQ(textsOf(all), (Texts{"full", "ecokv:ratio=0.25", "random:ratio=0.25"}));
    EXPECT_NE(notes.at(0).find("random was added at ratio 0.25"), std::string::npos) << notes[0];
}

TEST(ComparedVariants, aCompleteListStaysAsItIs) {
    std::vector<std::string> notes;
    const auto policies = parsed({"random:budget=16,seed=3", "full", "ecokv:budget=16"});
    EXPECT_EQ(completeComparison(policies, notes), policies);
    EXPECT_TRUE(notes.empty());
}

// F031: the row says why, the others go on.
TEST(ComparedVariants, aBudgetBelowTheProtectedTokensIsARefusedRow) {
    const auto variants =
        resolveVariants(parsed({"ecokv:budget=16,sink=10,recent=8", "ecokv:budget=16"}), 100, {});
    ASSERT_EQ(variants.size(), 2U);
    EXPECT_FALSE(variants[0].measured());
    for (const char* number : {"16", "10", "8"}) {
        EXPECT_NE(variants[0].refused.find(number), std::string::npos) << variants[0].refused;
    }
    EXPECT_EQ(variants[0].policy.budget, 16);
    EXPECT_TRUE(variants[1].measured());
    EXPECT_EQ(recordedVariant(variants), 1U);
}

TEST(ComparedVariants, scoresAreRecordedOfEcokvThenOfWhatCompresses) {
    const auto recorded = [](const Texts& texts) {
        return recordedVariant(resolveVariants(parsed(texts), 100, {}));
    };
    EXPECT_EQ(recorded({"full", "snapkv:budget=16", "ecokv:budget=200", "ecokv:budget=16"}), 3U);
    EXPECT_EQ(recorded({"full", "random:budget=16", "snapkv:budget=16"}), 1U);
    EXPECT_EQ(recorded({"full", "snapkv:budget=200"}), 0U);
}

TEST(ComparedVariants, memoryIsSaidInBytesOfTheCaches) {
    const auto variants = resolveVariants(
        parsed({"full", "snapkv:budget=16", "ecokv:budget=32", "ecokv:budget=8,recent=9"}), 1000,
        {});
    const cache::CacheShape shape{10, 4, 50, DType::F32, {}}; // 16 000 bytes a token, K and V
    const std::string note = memoryNote(variants, shape, 4, 100000);
    EXPECT_NE(note.find("full cache (16.1 MB)"), std::string::npos) << note; // 1004 tokens
    // 20 + 36 tokens and once more the larger of the two
    EXPECT_NE(note.find("2 compressed copies (1.5 MB"), std::string::npos) << note;
    EXPECT_NE(note.find("4 steps (1.6 MB)"), std::string::npos) << note;
}

// F034: 2 of 10 layers slide and hold all 1004 tokens in every copy, 3 have no cache.
TEST(ComparedVariants, memoryKnowsTheKindsOfLayers) {
    const policy::ModelShape shape{
        10, 4, "m", {8, 8, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 1, 1, 1, 0, 0, 0, 0, 0}};
    const auto variants = resolveVariants(parsed({"full", "snapkv:budget=16"}), 1000, shape);
    const std::string note = memoryNote(variants, {10, 4, 50, DType::F32, {}}, 4, 100000);
    // 1 600 bytes a token and layer: 7 x 1004; (2 x 1004 + 5 x 20), twice
    EXPECT_NE(note.find("full cache (11.2 MB)"), std::string::npos) << note;
    EXPECT_NE(note.find("1 compressed copies (6.7 MB"), std::string::npos) << note;
}

TEST(Divergence, isTheFirstTokenInWhichTheAnswersDiffer) {
    const Answer full{"12", {49, 50, 256}, {"1", "2", ""}, {}, true};
    const auto other = divergenceOf(full, {"13", {49, 51, 256}, {"1", "3", ""}, {}, true});
    ASSERT_TRUE(other);
    EXPECT_EQ(other->step, 1);
    EXPECT_EQ(other->full, "2");
    EXPECT_EQ(other->kept, "3");
    EXPECT_FALSE(divergenceOf(full, full));
    const auto cut = divergenceOf(full, {"12", {49, 50}, {"1", "2"}, {}, false});
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->step, 2);
    EXPECT_EQ(cut->kept, "");
}

} // namespace ecokv::session

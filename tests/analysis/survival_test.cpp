// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/survival.h"
#include "base/error.h"
#include "support/sample_trace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace ecokv::analysis {

namespace {

/// Two layers, two KV heads, five tokens, by hand; tokens 1 and 2 are of an image.
TraceDocument handMade() {
    TraceDocument document;
    document.path = "hand.ecokv.h5";
    document.dimensions = {2, 2, 2, 5, 4, 1};
    document.prompt.emplace();
    document.prompt->tokenKind = {1, 2, 2, 0, 0};
    PolicyView policy;
    policy.id = "0";
    policy.record.kept = {1, 0, 0, 0, 1,  // layer 0 head 0
                          1, 1, 0, 0, 1,  // layer 0 head 1
                          1, 0, 0, 1, 1,  // layer 1 head 0
                          0, 1, 0, 0, 1}; // layer 1 head 1
    document.policies.push_back(policy);
    return document;
}

std::string messageOf(const TraceDocument& document, const SurvivalQuery& query) {
    try {
        survival(document, query);
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::Usage);
        return error.message();
    }
    return {};
}

} // namespace

TEST(Survival, ofOneHeadIsItsMask) {
    const auto result = survival(handMade(), {"0", SurvivalMode::Head, 1, 0});
    EXPECT_EQ(result.share, (std::vector<float>{1, 0, 0, 1, 1}));
    EXPECT_EQ(result.heads, 1);
    EXPECT_EQ(result.kept, 3);
    EXPECT_EQ(result.keptImage, 0);
    EXPECT_EQ(result.keptText, 3);
    EXPECT_EQ(result.imageTokens, 2);
    EXPECT_EQ(result.textTokens, 3);
}

TEST(Survival, layersWithoutACacheTakeNoPart) {
    TraceDocument document = handMade();
    document.model.emplace();
    document.model->linearLayers = {0, 1};
    const auto share = survival(document, {"0", SurvivalMode::Count, -1, 0});
    EXPECT_EQ(share.heads, 2); // of layer 0
    EXPECT_EQ(share.share, (std::vector<float>{1, 0.5F, 0, 0, 1}));
    const auto every = survival(document, {"0", SurvivalMode::Intersection, -1, 0});
    EXPECT_EQ(every.share, (std::vector<float>{1, 0, 0, 0, 1}));
    const auto none = survival(document, {"0", SurvivalMode::Intersection, 1, 0});
    EXPECT_EQ(none.heads, 0);
    EXPECT_EQ(none.kept, 0);
}

// F034: a sliding layer keeps everything; asked by name it says so, of all layers it is none.
TEST(Survival, overAllLayersIsOverThoseThatAreEvicted) {
    TraceDocument document = handMade();
    document.model.emplace();
    document.model->slidingWindows = {0, 64};
    const auto share = survival(document, {"0", SurvivalMode::Count, -1, 0});
    EXPECT_EQ(share.heads, 2); // of layer 0
    EXPECT_EQ(share.slidingLayers, 1);
    EXPECT_EQ(share.share, (std::vector<float>{1, 0.5F, 0, 0, 1}));
    const auto any = survival(document, {"0", SurvivalMode::Union, -1, 0});
    EXPECT_EQ(any.share, (std::vector<float>{1, 1, 0, 0, 1})); // not token 3 of layer 1
    const auto named = survival(document, {"0", SurvivalMode::Count, 1, 0});
    EXPECT_EQ(named.heads, 2);
    EXPECT_EQ(named.slidingLayers, 0);
    EXPECT_EQ(named.share, (std::vector<float>{0.5F, 0.5F, 0, 0.5F, 1}));
}

TEST(Survival, unionAndIntersectionOfALayerSpanItsHeadsOnly) {
    const auto either = survival(handMade(), {"0", SurvivalMode::Union, 0, 0});
    EXPECT_EQ(either.share, (std::vector<float>{1, 1, 0, 0, 1}));
    EXPECT_EQ(either.keptImage, 1);
    const auto both = survival(handMade(), {"0", SurvivalMode::Intersection, 0, 0});
    EXPECT_EQ(both.share, (std::vector<float>{1, 0, 0, 0, 1}));
    EXPECT_EQ(both.heads, 2);
}

TEST(Survival, minusOneMeansAllLayers) {
    const auto all = survival(handMade(), {"0", SurvivalMode::Intersection, -1, 0});
    EXPECT_EQ(all.share, (std::vector<float>{0, 0, 0, 0, 1}));
    EXPECT_EQ(all.heads, 4);
    const auto any = survival(handMade(), {"0", SurvivalMode::Union, -1, 0});
    EXPECT_EQ(any.share, (std::vector<float>{1, 1, 0, 1, 1}));
}

TEST(Survival, countIsTheShareOfHeadsThatKeepAToken) {
    const auto count = survival(handMade(), {"0", SurvivalMode::Count, -1, 0});
    EXPECT_EQ(count.share, (std::vector<float>{0.75F, 0.5F, 0, 0.25F, 1}));
    EXPECT_EQ(count.kept, 4);
    const auto layer = survival(handMade(), {"0", SurvivalMode::Count, 1, 0});
    EXPECT_EQ(layer.share, (std::vector<float>{0.5F, 0.5F, 0, 0.5F, 1}));
}

TEST(Survival, refusesWhatIsNotThereByName) {
    const auto document = handMade();
    EXPECT_EQ(messageOf(document, {"7", SurvivalMode::Union, 0, 0}),
              "hand.ecokv.h5 has no policy \"7\".");
    EXPECT_EQ(messageOf(document, {"0", SurvivalMode::Head, 2, 0}),
              "There is no layer 2; hand.ecokv.h5 has 2 layers.");
    EXPECT_EQ(messageOf(document, {"0", SurvivalMode::Head, 0, 2}),
              "There is no KV head 2; hand.ecokv.h5 has 2 per layer.");
    EXPECT_NE(messageOf(document, {"0", SurvivalMode::Head, -1, 0}), ""); // one head has a layer
    EXPECT_NE(messageOf(document, {"0", SurvivalMode::Count, -2, 0}), "");
}

TEST(Survival, withoutAPromptEveryTokenCountsAsText) {
    auto document = handMade();
    document.prompt.reset();
    const auto result = survival(document, {"0", SurvivalMode::Union, -1, 0});
    EXPECT_EQ(result.imageTokens, 0);
    EXPECT_EQ(result.textTokens, 5);
    EXPECT_EQ(result.keptText, 4);
}

TEST(Survival, ofAWrittenTraceFollowsItsMasks) {
    const test::TemporaryFolder folder;
    const auto document = openTrace(test::writeSampleTrace(folder / "a.ecokv.h5"));
    for (int layer = 0; layer < 4; ++layer) {
        const auto result = survival(*document, {"1", SurvivalMode::Head, layer, 1});
        EXPECT_EQ(result.kept, 9);      // the first five and the last four
        EXPECT_EQ(result.keptImage, 1); // token 4 is the first patch
        EXPECT_EQ(result.imageTokens, 12);
    }
    // (token + layer + head) % 3 runs over all residues: every token is kept somewhere.
    const auto any = survival(*document, {"0", SurvivalMode::Union, -1, 0});
    EXPECT_EQ(any.kept, 30);
    const auto all = survival(*document, {"0", SurvivalMode::Intersection, -1, 0});
    EXPECT_EQ(all.kept, 4);
}

} // namespace ecokv::analysis

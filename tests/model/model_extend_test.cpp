// SPDX-License-Identifier: GPL-3.0-or-later
// More tokens behind a prompt, and decoding steps that are watched, on the demo model. What the
// numbers are is tests/python/test_extend.py.

#include "model_fixture.h"
#include "refusal.h"

#include <span>

namespace ecokv::model {
namespace {

using ModelExtend = ModelRun;

/// A question behind a prompt: what an observer sees of it is the question alone.
TEST_F(ModelExtend, extendingDeliversTheNewRowsOnlyAndGoesOnAtTheTruePosition) {
    Watcher prompt(m_cache, 3);
    prompt.keep = 13;
    s_model->prefill(words(40), m_cache, &prompt, {}, {});
    Watcher question(m_cache, 3);
    const std::vector<TokenId> tokens{65, 66, 67, 68, 69};
    s_model->extend(tokens, m_cache, &question, {}, {});
    ASSERT_EQ(question.calls.size(), kLayers);
    for (const LayerCall& call : question.calls) {
        EXPECT_EQ(call.keys, "float32 [4, 5, 32] on cpu");
        EXPECT_EQ(call.queries, "float32 [8, 3, 32] on cpu");
        EXPECT_EQ(call.positions, (std::vector<std::int64_t>{40, 41, 42, 43, 44}));
        EXPECT_EQ(call.windowPositions, (std::vector<std::int64_t>{42, 43, 44}));
        EXPECT_EQ(call.cached, 18);
    }
    EXPECT_EQ(m_cache.tokensSeen(), 45);
}

TEST_F(ModelExtend, aDecodingStepDeliversOneRowAndMayBeEvicted) {
    s_model->prefill(words(20), m_cache, nullptr, {}, {});
    Watcher watcher(m_cache, 8);
    watcher.keep = 16;
    s_model->decode(65, m_cache, {}, &watcher);
    s_model->decode(66, m_cache, {}, &watcher);
    ASSERT_EQ(watcher.calls.size(), 2U * kLayers);
    const LayerCall& second = watcher.calls.back();
    EXPECT_EQ(second.keys, "float32 [4, 1, 32] on cpu");
    EXPECT_EQ(second.queries, "float32 [8, 1, 32] on cpu");
    EXPECT_EQ(second.windowPositions, (std::vector<std::int64_t>{21}));
    EXPECT_EQ(second.cached, 17); // 16 kept of the first step, and this one
    EXPECT_EQ(m_cache.length(LayerId{0}, HeadId{0}), 16);
    EXPECT_EQ(m_cache.tokensSeen(), 22);
}

/// The same tokens in one prefill, and cut anywhere into a prefill and an extension.
TEST_F(ModelExtend, anExtensionEqualsTheRestOfThePrefill) {
    const Prompt whole = words(40);
    const std::vector<float> wanted = s_model->prefill(whole, m_cache, nullptr, {}, {});
    for (const std::int64_t cut : {0, 1, 17, 39}) {
        m_cache.clear();
        if (cut > 0) {
            s_model->prefill(words(cut), m_cache, nullptr, {}, {});
        }
        const std::vector<float> got =
            s_model->extend(std::span(whole.tokenIds).subspan(static_cast<std::size_t>(cut)),
                            m_cache, nullptr, {}, {});
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            ASSERT_NEAR(got[i], wanted[i], 1e-4F) << "cut at " << cut << ", logit " << i;
        }
    }
}

TEST_F(ModelExtend, refusesToGoOnWithNoTokens) {
    EXPECT_SAYS(refusal([this] { s_model->extend({}, m_cache, nullptr, {}, {}); }),
                "There are no tokens");
}

} // namespace
} // namespace ecokv::model

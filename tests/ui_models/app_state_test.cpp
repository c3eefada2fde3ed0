// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/app_state.h"

#include "sample_document.h"

#include <gtest/gtest.h>

#include <QSignalSpy>

namespace ecokv::ui {

using test::sampleDocument;

TEST(AppState, selectsTheFirstPolicyOfATrace) {
    AppState state;
    EXPECT_EQ(state.policy(), nullptr);
    state.setDocument(sampleDocument());
    ASSERT_NE(state.policy(), nullptr);
    EXPECT_EQ(state.policy()->id, "0");
}

TEST(AppState, keepsAPolicyTheNewTraceAlsoHas) {
    AppState state;
    state.setDocument(sampleDocument());
    state.selectPolicy(u"1"_qs);
    state.setDocument(sampleDocument());
    EXPECT_EQ(state.selection().policyId, u"1"_qs);
}

TEST(AppState, clampsTheSelectedHeadToTheTrace) {
    AppState state;
    state.selectHead(40, 40); // restored from an earlier, larger model
    state.setDocument(sampleDocument());
    EXPECT_EQ(state.selection().layer, 3);
    EXPECT_EQ(state.selection().kvHead, 1);
    state.stepLayer(1);
    EXPECT_EQ(state.selection().layer, 3);
    state.stepLayer(-1);
    EXPECT_EQ(state.selection().layer, 2);
}

TEST(AppState, tellsAboutAHeadOnce) {
    AppState state;
    state.setDocument(sampleDocument());
    const QSignalSpy spy(&state, &AppState::headChanged);
    state.selectHead(2, 1);
    state.selectHead(2, 1);
    ASSERT_EQ(spy.count(), 1);
    EXPECT_EQ(spy.at(0).at(0).toInt(), 2);
    EXPECT_EQ(spy.at(0).at(1).toInt(), 1);
}

TEST(AppState, hoveredTokenWinsOverSelectedOne) {
    AppState state;
    state.setDocument(sampleDocument());
    state.selectToken(7);
    EXPECT_EQ(state.currentToken(), 7);
    state.hoverToken(9);
    EXPECT_EQ(state.currentToken(), 9);
    state.hoverToken(-1);
    EXPECT_EQ(state.currentToken(), 7);
}

TEST(AppState, refusesTokensOutsideThePrompt) {
    AppState state;
    state.hoverToken(0);
    EXPECT_EQ(state.hoveredToken(), -1); // no trace, no tokens
    state.setDocument(sampleDocument());
    state.selectToken(30);
    EXPECT_EQ(state.selectedToken(), -1);
    state.selectToken(29);
    EXPECT_EQ(state.selectedToken(), 29);
}

TEST(AppState, aNewTraceForgetsTokens) {
    AppState state;
    state.setDocument(sampleDocument());
    state.selectToken(5);
    state.setDocument(sampleDocument());
    EXPECT_EQ(state.selectedToken(), -1);
}

} // namespace ecokv::ui

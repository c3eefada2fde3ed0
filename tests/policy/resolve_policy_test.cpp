// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/policy.h"
#include "sentence.h"

#include <limits>

namespace ecokv::policy {
namespace {

using test::expectRefusal;

PolicyConfig with(const std::string& text) {
    return parsePolicy(text);
}

bool says(const ResolvedPolicy& policy, const std::string& words) {
    return policy.note.find(words) != std::string::npos;
}

TEST(ResolvePolicy, ecokvDefaultsAreThoseOfTheDefinition) {
    const ResolvedPolicy policy = resolve(with("ecokv:budget=48"), 269);
    EXPECT_TRUE(policy.compresses);
    EXPECT_EQ(policy.window, 8);
    EXPECT_EQ(policy.recent, 12); // min(32, floor(48 / 4))
    EXPECT_EQ(policy.sink, 0);
    EXPECT_EQ(policy.config.alpha, 0.5);
    EXPECT_EQ(policy.config.beta, 0.5);
    EXPECT_EQ(policy.config.pool, 5);
    EXPECT_EQ(policy.poolMode, kernels::PoolMode::Average);
    EXPECT_FALSE(policy.valueNorm);
    EXPECT_EQ(policy.note, "");
    EXPECT_EQ(resolve(with("ecokv:budget=50"), 269).recent, 12);
    EXPECT_EQ(resolve(with("ecokv:budget=400"), 1000).recent, 32);
}

TEST(ResolvePolicy, snapkvAndMixkvTieTheirRecentTokensToTheWindow) {
    const ResolvedPolicy snapkv = resolve(with("snapkv:budget=48"), 269);
    EXPECT_EQ(snapkv.window, 32);
    EXPECT_EQ(snapkv.recent, 32);
    EXPECT_EQ(snapkv.poolMode, kernels::PoolMode::AveragePadded);
    EXPECT_FALSE(snapkv.valueNorm);
    const ResolvedPolicy mixkv = resolve(with("mixkv:budget=48,window=8"), 269);
    EXPECT_EQ(mixkv.window, 8);
    EXPECT_EQ(mixkv.recent, 8);
    EXPECT_TRUE(mixkv.valueNorm);
    EXPECT_EQ(resolve(with("snapkv:budget=48,recent=6"), 269).window, 6);
    const ResolvedPolicy both = resolve(with("snapkv:budget=48,window=16,recent=4"), 269);
    EXPECT_EQ(both.window, 16);
    EXPECT_EQ(both.recent, 4);
}

TEST(ResolvePolicy, snapkvHalvesABudgetThatItsDefaultWindowWouldFill) {
    const ResolvedPolicy policy = resolve(with("snapkv:budget=32"), 269);
    EXPECT_EQ(policy.window, 16);
    EXPECT_EQ(policy.recent, 16);
    EXPECT_TRUE(says(policy, "set to 16")) << policy.note;
    EXPECT_EQ(resolve(with("mixkv:budget=33"), 269).recent, 32);
    EXPECT_EQ(resolve(with("mixkv:budget=33,sink=4"), 269).recent, 14);
}

// F001: a tiny budget still keeps a token, for every policy.
TEST(ResolvePolicy, aBudgetOfOneKeepsOneToken) {
    for (const PolicyInfo& info : policies()) {
        const ResolvedPolicy policy = resolve(with(info.name + ":budget=1"), 40);
        EXPECT_GE(policy.budget, 1) << info.name;
        EXPECT_GE(policy.window, 1) << info.name;
        EXPECT_LE(policy.sink + policy.recent, policy.budget) << info.name;
    }
    EXPECT_EQ(resolve(with("ecokv:budget=1,window=1"), 2).budget, 1);
}

// F003: prompts not longer than the observation window are left alone, and say so.
TEST(ResolvePolicy, promptsUpToTheWindowAreNotCompressed) {
    const PolicyConfig config = with("snapkv:budget=4,window=8,recent=2");
    for (const std::int64_t tokens : {5, 8}) {
        const ResolvedPolicy policy = resolve(config, tokens);
        EXPECT_FALSE(policy.compresses);
        EXPECT_TRUE(says(policy, "not compressed: prompt")) << policy.note;
        EXPECT_TRUE(says(policy, "<= window (8)")) << policy.note;
        EXPECT_EQ(policy.budget, tokens);
        EXPECT_LE(policy.window, tokens);
    }
    const ResolvedPolicy longer = resolve(config, 9);
    EXPECT_TRUE(longer.compresses);
    EXPECT_EQ(longer.budget, 4);
}

// F013: zero protects nothing; it never wraps around to everything.
TEST(ResolvePolicy, windowAndRecentOfZeroProtectNothing) {
    const ResolvedPolicy recent = resolve(with("ecokv:budget=8,recent=0"), 40);
    EXPECT_EQ(recent.candidateBegin(), 0);
    EXPECT_EQ(recent.candidateEnd(), 40);
    const ResolvedPolicy window = resolve(with("snapkv:budget=8,window=0"), 40);
    EXPECT_EQ(window.recent, 0);
    EXPECT_EQ(window.candidateEnd(), 40);
    EXPECT_EQ(window.window, 1); // something must be observed
    EXPECT_TRUE(says(window, "window 0 protects nothing")) << window.note;
    // A share of 0.02 of 40 tokens, rounded down, is a window of 0.
    const int share = static_cast<int>(0.02 * 40);
    PolicyConfig tiny = with("mixkv:budget=8");
    tiny.window = share;
    EXPECT_EQ(resolve(tiny, 40).recent, 0);
}

TEST(ResolvePolicy, budgetsThatCoverThePromptAreNotCompressed) {
    for (const std::int64_t budget : {40, 41, 1000}) {
        PolicyConfig config;
        config.budget = budget;
        const ResolvedPolicy policy = resolve(config, 40);
        EXPECT_FALSE(policy.compresses);
        EXPECT_EQ(policy.budget, 40);
        EXPECT_TRUE(says(policy, "not compressed: the budget of")) << policy.note;
    }
    EXPECT_TRUE(says(resolve(with("ecokv"), 40), "no budget was set"));
    EXPECT_TRUE(resolve(with("ecokv:budget=39"), 40).compresses);
}

TEST(ResolvePolicy, fullKeepsEverythingWhateverTheBudget) {
    const ResolvedPolicy policy = resolve(with("full:budget=4,sink=4"), 40);
    EXPECT_FALSE(policy.compresses);
    EXPECT_EQ(policy.budget, 40);
    EXPECT_TRUE(says(policy, "full keeps everything")) << policy.note;
}

// F031: refused before the run, with the three numbers, never a negative count.
TEST(ResolvePolicy, protectedTokensBeyondTheBudgetAreRefusedWithTheNumbers) {
    expectRefusal(ErrorKind::Usage, {"budget of 16", "4 sinks", "32 recent"},
                  [] { resolve(with("snapkv:budget=16,sink=4,window=32"), 269); });
    expectRefusal(ErrorKind::Usage, {"budget of 3", "4 sinks"},
                  [] { resolve(with("streaming:budget=3,sink=4"), 269); });
    // Impossible wishes are refused even where this prompt would have been left alone.
    expectRefusal(ErrorKind::Usage, {"budget of 16"},
                  [] { resolve(with("snapkv:budget=16,sink=4,window=32"), 10); });
    const ResolvedPolicy exact = resolve(with("ecokv:budget=16,sink=4,recent=12"), 269);
    EXPECT_EQ(exact.sink + exact.recent, exact.budget);
    PolicyConfig huge = with("ecokv:budget=16");
    huge.sink = huge.recent.emplace(std::numeric_limits<std::int64_t>::max());
    expectRefusal(ErrorKind::Usage, {"budget of 16"}, [&] { resolve(huge, 269); });
}

// F029: an even pooling width has no middle.
TEST(ResolvePolicy, evenPoolingIsRefused) {
    for (const char* pool : {"0", "2", "4", "-3"}) {
        expectRefusal(ErrorKind::Usage, {"odd", pool},
                      [&] { resolve(with(std::string("ecokv:budget=8,pool=") + pool), 40); });
    }
    EXPECT_NO_THROW(resolve(with("ecokv:budget=8,pool=99"), 40));
}

TEST(ResolvePolicy, sharesOutsideZeroToOneAndNegativeCountsAreRefused) {
    for (const char* text : {"ecokv:alpha=1.5", "ecokv:alpha=-0.1", "ecokv:beta=nan"}) {
        expectRefusal(ErrorKind::Usage, {"between 0 and 1"}, [&] { resolve(with(text), 40); });
    }
    for (const char* text :
         {"ecokv:budget=-1", "ecokv:window=-1", "ecokv:recent=-2", "ecokv:sink=-3"}) {
        expectRefusal(ErrorKind::Usage, {"cannot be negative"}, [&] { resolve(with(text), 40); });
    }
    expectRefusal(ErrorKind::BadInput, {"no tokens"}, [] { resolve(with("ecokv:budget=4"), 0); });
}

TEST(ResolvePolicy, protectedCountsNeverExceedAPromptThatIsKeptWhole) {
    const ResolvedPolicy policy = resolve(with("ecokv:budget=64,sink=10,recent=32"), 12);
    EXPECT_FALSE(policy.compresses);
    EXPECT_EQ(policy.sink, 10);
    EXPECT_EQ(policy.recent, 2);
    EXPECT_LE(policy.candidateBegin(), policy.candidateEnd());
}

// F001: kvpress' ratio; a share that reaches 0 still keeps a token and the note says so.
TEST(ResolvePolicy, aRatioKeepsItsShareOfThePromptAndNeverNothing) {
    EXPECT_EQ(resolve(with("knorm:ratio=0.5"), 101).budget, 50);
    EXPECT_EQ(resolve(with("knorm:ratio=0.9"), 100).budget, 9); // 100 x (1 - 0.9) < 10 in doubles
    const ResolvedPolicy two = resolve(with("knorm:ratio=0.6"), 2);
    EXPECT_EQ(two.budget, 1);
    EXPECT_TRUE(two.compresses);
    EXPECT_TRUE(says(two, "ratio 0.6 of 2 tokens leaves 0; 1 are kept")) << two.note;
    const ResolvedPolicy one = resolve(with("knorm:ratio=0.1"), 1);
    EXPECT_EQ(one.budget, 1);
    EXPECT_FALSE(one.compresses);
    const ResolvedPolicy raised = resolve(with("snapkv:ratio=0.9,window=16,sink=2"), 100);
    EXPECT_EQ(raised.budget, 18);
    EXPECT_TRUE(says(raised, "leaves 9; 18 are kept")) << raised.note;
    EXPECT_TRUE(says(resolve(with("knorm:ratio=0"), 30), "not compressed"));
    EXPECT_EQ(resolve(with("ecokv:ratio=0.5"), 200).recent, 25); // min(32, floor(100 / 4))
}

TEST(ResolvePolicy, ratiosThatLeaveNothingAndBothKindsOfBudgetAreRefused) {
    for (const char* text :
         {"knorm:ratio=1", "knorm:ratio=1.5", "knorm:ratio=-0.1", "knorm:ratio=nan"}) {
        expectRefusal(ErrorKind::Usage, {"The ratio is", "below 1"},
                      [&] { resolve(with(text), 40); });
    }
    PolicyConfig both = with("knorm:ratio=0.5");
    both.budget = 8;
    expectRefusal(ErrorKind::Usage, {"budget of 8", "ratio of 0.5"}, [&] { resolve(both, 40); });
}

// F003 is about policies that observe a window; the others evict from prompts of any length.
TEST(ResolvePolicy, policiesWithoutAWindowEvictFromShortPrompts) {
    for (const char* name : {"knorm", "vnorm", "keydiff", "manifoldkv", "random", "streaming"}) {
        const ResolvedPolicy policy = resolve(with(std::string(name) + ":budget=2"), 5);
        EXPECT_TRUE(policy.compresses) << name;
        EXPECT_EQ(policy.budget, 2) << name;
        EXPECT_LE(policy.window, 5) << name;
    }
    EXPECT_TRUE(resolve(with("h2o:budget=4"), 5).compresses);
    EXPECT_TRUE(resolve(with("tova:budget=4"), 5).compresses);
}

TEST(ResolvePolicy, tovaObservesOneRowAndH2oAll) {
    const ResolvedPolicy tova = resolve(with("tova:budget=9,window=16"), 100);
    EXPECT_EQ(tova.window, 1);
    EXPECT_EQ(tova.recent, 1);
    EXPECT_TRUE(says(tova, "the last row only; the window of 16 is not used")) << tova.note;
    EXPECT_EQ(tova.judgedRows(), 8);
    const ResolvedPolicy h2o = resolve(with("h2o:budget=9,sink=2"), 100);
    EXPECT_EQ(h2o.window, 100);
    EXPECT_EQ(h2o.recent, 3); // floor((9 - 2) / 2)
    EXPECT_EQ(h2o.judgedRows(), 8);
    EXPECT_EQ(h2o.note, "");
    EXPECT_EQ(resolve(with("snapkv:budget=48,window=16"), 100).judgedRows(), 16);
}

TEST(ResolvePolicy, onlyH2oCannotRunWhileDecoding) {
    for (const PolicyInfo& info : policies()) {
        EXPECT_EQ(info.runsAtDecode(), info.name != "h2o") << info.name;
    }
}

// F036: a budget beyond the tokens is clamped and told, for every allocator.
TEST(ResolvePolicy, budgetsBeyondThePromptAreClamped) {
    for (const char* allocator : {"uniform", "pyramid", "adaptive"}) {
        const ResolvedPolicy policy =
            resolve(with(std::string("ecokv:budget=640,allocator=") + allocator), 8, {4, 2, ""});
        EXPECT_EQ(policy.budget, 8);
        EXPECT_TRUE(says(policy, "budget of 640 covers the prompt of 8")) << policy.note;
    }
}

} // namespace
} // namespace ecokv::policy

// SPDX-License-Identifier: GPL-3.0-or-later
// The scorers beside ecokv, mixkv and snapkv on layers small enough to be worked by hand; the
// workings stand beside the numbers.
#include "layer_fixture.h"
#include "sentence.h"
#include "table_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace ecokv::policy {
namespace {

using test::expectRefusal;
using test::Layer;
using test::Outcome;
using test::Rows;
using test::run;
using test::TableFile;

constexpr float kTolerance = 1e-6F;

void expectScores(std::span<const float> actual, const std::vector<double>& expected) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(actual[i], expected[i], kTolerance) << "token " << i;
    }
}

/// Keys (2,0) (1,0) (1,0) (0,1), values of norm 3 1 2 1, two recent tokens; zero queries attend
/// evenly to what they see.
Layer fourCandidates(int rows = 2) {
    Layer layer({.kvHeads = 1, .group = 1, .tokens = 6, .rows = rows, .dim = 2});
    layer.keys = {2, 0, 1, 0, 1, 0, 0, 1, 9, 9, 9, 9};
    layer.values = {3, 0, 1, 0, 0, 2, 1, 0, 5, 0, 5, 0};
    return layer;
}

TEST(HandWorkedScorers, knormKeepsTheShortestKeys) {
    Layer layer = fourCandidates();
    const Outcome outcome = run(layer, "knorm:budget=4,recent=2,window=2");
    expectScores(outcome.scores.score, {-2, -1, -1, -1});
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{1, 2, 4, 5}));
    // kvpress protects nothing, and neither does this by default: the long recent keys go first.
    EXPECT_EQ(run(layer, "knorm:budget=3,window=2").plan.keptRows[0], (Rows{1, 2, 3}));
}

// F014: equal in bfloat16 (all round to 10), apart in float32.
TEST(HandWorkedScorers, knormTellsNormsApartThatBfloat16Rounds) {
    Layer layer({.kvHeads = 1, .group = 1, .tokens = 3, .rows = 1, .dim = 2});
    layer.keys = {10.03F, 0, 10.02F, 0, 10.01F, 0};
    EXPECT_EQ(run(layer, "knorm:budget=1,window=1").plan.keptRows[0], (Rows{2}));
    EXPECT_EQ(run(layer, "knorm:budget=2,window=1").plan.keptRows[0], (Rows{1, 2}));
}

TEST(HandWorkedScorers, vnormKeepsTheLongestValues) {
    Layer layer = fourCandidates();
    const Outcome outcome = run(layer, "vnorm:budget=4,recent=2,window=2");
    expectScores(outcome.scores.score, {3, 1, 2, 1});
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{0, 2, 4, 5}));
    LayerInput blind = layer.input();
    blind.values = {};
    const auto policy = resolve(parsePolicy("vnorm:budget=4,window=2"), 6);
    expectRefusal(ErrorKind::BadInput, {"Layer 0 has no values"},
                  [&] { scoreLayer(blind, policy, kernels::Backend::Cpu); });
}

// mu = (.75, .25): c = .75 .75 .75 .25.
TEST(HandWorkedScorers, keydiffKeepsWhatIsLeastLikeTheMeanDirection) {
    Layer layer = fourCandidates();
    const Outcome outcome = run(layer, "keydiff:budget=4,recent=2,window=2");
    expectScores(outcome.scores.score, {-0.75, -0.75, -0.75, -0.25});
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{0, 3, 4, 5}));
}

// mean(k) = (1, .25): e = sqrt(1.0625), .25, .25, 1.25.
TEST(HandWorkedScorers, manifoldkvKeepsWhatIsFarthestFromTheCentre) {
    Layer layer = fourCandidates();
    const Outcome outcome = run(layer, "manifoldkv:budget=4,recent=2,window=2");
    expectScores(outcome.scores.score, {std::sqrt(1.0625), 0.25, 0.25, 1.25});
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{0, 3, 4, 5}));
}

// Cosines to the three others: 2/3 2/3 2/3 0, softmax e^(2/3) / (3 e^(2/3) + 1); A = 11/60.
TEST(HandWorkedScorers, rkvSubtractsTheSimilarityToTheOtherKeys) {
    Layer layer = fourCandidates();
    const Outcome outcome = run(layer, "rkv:budget=3,window=2,pool=1,lambda=0.25");
    const double sum = 3 * std::exp(2.0 / 3) + 1;
    const double alike = 0.25 * 11 / 60 - 0.75 * std::exp(2.0 / 3) / sum;
    const double apart = 0.25 * 11 / 60 - 0.75 / sum;
    expectScores(outcome.scores.score, {alike, alike, alike, apart});
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{3, 4, 5}));
    // Attention alone: all equal, so the lower position.
    EXPECT_EQ(run(layer, "rkv:budget=3,window=2,pool=1,lambda=1").plan.keptRows[0],
              (Rows{0, 4, 5}));
}

/// Two KV heads of one query head each: head 0 attends in proportion to w, head 1 to v.
Layer twoAttentions() {
    Layer layer({.kvHeads = 2, .group = 1, .tokens = 6, .rows = 2, .dim = 4});
    const std::vector<double> w = {1, 2, 3, 4, 10, 20};
    const std::vector<double> v = {8, 1, 1, 1, 4, 5};
    for (std::size_t token = 0; token < 6; ++token) {
        layer.keys[token * 4] = static_cast<float>(std::log(w[token]));
        layer.keys[24 + token * 4] = static_cast<float>(std::log(v[token]));
    }
    for (const std::size_t row : {0U, 1U, 2U, 3U}) {
        layer.queries[row * 4] = 2; // scale 1/2
    }
    return layer;
}

// The last row: w / 40 and v / 20, their mean (w + 2 v) / 80 for both heads: 17 4 5 6 18.
TEST(HandWorkedScorers, tovaAveragesTheLastRowOverAllHeadsOfTheLayer) {
    Layer layer = twoAttentions();
    const Outcome outcome = run(layer, "tova:budget=3");
    for (const std::size_t head : {0U, 1U}) {
        expectScores(std::span(outcome.scores.score).subspan(6 * head, 5),
                     {17. / 80, 4. / 80, 5. / 80, 6. / 80, 18. / 80});
        EXPECT_TRUE(std::isnan(outcome.scores.score[6 * head + 5])); // the last token is kept
        EXPECT_EQ(outcome.plan.keptRows[head], (Rows{0, 4, 5}));
    }
}

// Row t spreads 1 / (t + 1) over what it sees: 1 + 1/2 + ... + 1/6, then from 1/2, 1/3, 1/4 on.
TEST(HandWorkedScorers, h2oSumsTheAttentionOfEveryRow) {
    Layer layer = fourCandidates(6);
    const Outcome outcome = run(layer, "h2o:budget=4");
    expectScores(outcome.scores.score, {2.45, 1.45, 0.95, 37. / 60});
    EXPECT_EQ(outcome.plan.keptRows[0], (Rows{0, 1, 4, 5})); // half of the budget is recent
    const Outcome free = run(layer, "h2o:budget=4,recent=0");
    EXPECT_EQ(free.plan.keptRows[0], (Rows{0, 1, 2, 3}));
    Layer few = fourCandidates(5);
    const auto policy = resolve(parsePolicy("h2o:budget=4"), 6);
    expectRefusal(ErrorKind::BadInput, {"5 query rows", "needs 6"},
                  [&] { scoreLayer(few.input(), policy, kernels::Backend::Cpu); });
}

// F037: the mean direction is that of the candidates. Over these four it is (.7, .4), which leaves
// token 2 the least similar; with the two window keys it would be (.47, .6) and token 0 would win.
TEST(HandWorkedScorers, theMeanDirectionLeavesTheWindowOut) {
    Layer layer({.kvHeads = 1, .group = 1, .tokens = 6, .rows = 2, .dim = 2});
    layer.keys = {1, 0, 1, 0, 0, 1, 0.8F, 0.6F, 0, 1, 0, 1};
    layer.values.assign(12, 1.0F);
    for (const char* policy :
         {"keydiff:budget=3,recent=2,window=2", "mixkv:budget=3,window=2,pool=1,redundancy=1",
          "ecokv:budget=3,recent=2,window=2,pool=1,redundancy=1,alpha=1"}) {
        EXPECT_EQ(run(layer, policy).plan.keptRows[0], (Rows{2, 4, 5})) << policy;
    }
    const Outcome all = run(layer, "keydiff:budget=1,window=2"); // nothing protected: all six
    EXPECT_EQ(all.plan.keptRows[0], (Rows{0}));
}

/// The share of one head's score that a table or a number gives to the diversity.
void expectWeight(const std::string& redundancy, int index, double r) {
    Layer layer({.kvHeads = 1, .group = 1, .tokens = 6, .rows = 2, .dim = 2}, index);
    layer.keys = fourCandidates().keys;
    layer.values = fourCandidates().values;
    const Outcome outcome =
        run(layer, "ecokv:budget=4,window=2,recent=2,pool=1,alpha=1,redundancy=" + redundancy);
    const double a = 11.0 / 60; // d_cos = 0 0 0 1, its mean 1/4
    expectScores(outcome.scores.score, {(1 - r) * a, (1 - r) * a, (1 - r) * a, (1 + 3 * r) * a});
    EXPECT_NEAR(outcome.scores.redundancy[0], r, kTolerance);
    EXPECT_NEAR(outcome.scores.redundancyCosine[0], 0.5, kTolerance); // measured all the same
}

// MixKV's public code reads r from a stored table; so does this when it is told to.
TEST(HandWorkedScorers, redundancyMayComeFromAConstantOrATable) {
    const TableFile file(R"({"format":"ecokv-head-table","kind":"redundancy","model":"m","layers":2,
        "kv_heads":1,"values":[[0.25],[0.75]]})");
    expectWeight("measured", 0, 41.0 / 84);
    expectWeight("0", 0, 0.0);
    expectWeight("0.4", 1, 0.4);
    expectWeight("table:" + file.path(), 0, 0.25);
    expectWeight("table:" + file.path(), 1, 0.75);

    Layer layer = fourCandidates();
    const Outcome mixkv =
        run(layer, "mixkv:budget=4,window=2,pool=1,redundancy=table:" + file.path());
    const double a = 11.0 / 60; // (1 - r) imp + r d_cos 2 a / (1/4) with imp = a (11/3 1 7/3 1)
    expectScores(mixkv.scores.score,
                 {0.75 * a * 11 / 3, 0.75 * a, 0.75 * a * 7 / 3, 0.75 * a + 0.25 * 8 * a});
}

TEST(HandWorkedScorers, redundancyTablesOfAnotherModelAreRefused) { // F028
    const TableFile file(R"({"format":"ecokv-head-table","kind":"redundancy","model":"m","layers":2,
        "kv_heads":1,"values":[[0.25],[0.75]]})");
    const PolicyConfig config = parsePolicy("ecokv:budget=4,redundancy=table:" + file.path());
    expectRefusal(ErrorKind::BadInput, {file.path(), "2 layers x 1 KV heads", "4 x 2"}, [&] {
        resolve(config, 40, {4, 2, "m"});
    });
    expectRefusal(ErrorKind::BadInput, {file.path(), "\"m\"", "\"other\""}, [&] {
        resolve(config, 40, {2, 1, "other"});
    });
    EXPECT_EQ(resolve(config, 40, {2, 1, "m"}).headRedundancy, (std::vector{0.25, 0.75}));
    expectRefusal(ErrorKind::Usage, {"redundancy is 1.5"},
                  [] { resolve(parsePolicy("ecokv:budget=4,redundancy=1.5"), 40); });
    // A layer that no table knows is named, never read beyond the end.
    Layer deep = Layer({.kvHeads = 1, .group = 1, .tokens = 6, .rows = 2, .dim = 2}, 2);
    expectRefusal(ErrorKind::BadInput, {file.path(), "layer 2"},
                  [&] { run(deep, "ecokv:budget=4,window=2,redundancy=table:" + file.path()); });
}

// F021, F011: a score that is the same everywhere keeps the lower positions and says so.
TEST(HandWorkedScorers, constantInputsAreNotedAndKeepTheLowerPositions) {
    Layer layer({.kvHeads = 1, .group = 1, .tokens = 12, .rows = 12, .dim = 2});
    layer.keys.assign(24, 1.0F);
    layer.values.assign(24, 2.0F);
    for (const char* name : {"knorm", "vnorm", "keydiff", "manifoldkv"}) {
        const Outcome outcome = run(layer, std::string(name) + ":budget=5,recent=2,window=4");
        EXPECT_EQ(outcome.plan.keptRows[0], (Rows{0, 1, 2, 10, 11})) << name;
        EXPECT_TRUE(std::ranges::any_of(outcome.scores.notes, [](const std::string& note) {
            return note.find("layer 0 head 0: all candidates score the same") == 0;
        })) << name;
    }
}

} // namespace
} // namespace ecokv::policy

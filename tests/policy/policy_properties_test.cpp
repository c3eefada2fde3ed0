// SPDX-License-Identifier: GPL-3.0-or-later
// What must hold for every policy on any input, drawn by rapidcheck: exact budgets, protected
// tokens, ties, repeats and thread counts, finite scores, nested kept sets.
#include "layer_fixture.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

namespace ecokv::policy {
namespace {

using test::Layer;
using test::LayerSize;
using test::Rows;

/// How the numbers of a layer are made up.
enum class Content : std::uint8_t { Normal, Redundant, Constant, Zero, Coarse, Damaged, Huge };

struct Sample {
    LayerSize size;
    Content content = Content::Normal;
    std::uint32_t seed = 0;
    PolicyConfig config;

    Layer layer() const {
        Layer made = Layer::random(size, seed, content == Content::Redundant ? 20.0F : 0.3F);
        for (auto* numbers : {&made.keys, &made.values, &made.queries}) {
            std::ranges::transform(*numbers, numbers->begin(), [this](float x) {
                switch (content) {
                case Content::Constant:
                    return 1.5F;
                case Content::Zero:
                    return 0.0F;
                case Content::Coarse: // many exact ties
                    return std::round(x);
                case Content::Huge:
                    return x * 1e30F;
                default:
                    return x;
                }
            });
        }
        if (content == Content::Damaged) {
            made.keys[seed % made.keys.size()] = std::numeric_limits<float>::quiet_NaN();
            made.values[seed % made.values.size()] = std::numeric_limits<float>::infinity();
            made.queries[seed % made.queries.size()] = -std::numeric_limits<float>::infinity();
        }
        return made;
    }
};

std::ostream& operator<<(std::ostream& out, const Sample& sample) {
    return out << sample.config.scorer << " kvHeads " << sample.size.kvHeads << " group "
               << sample.size.group << " tokens " << sample.size.tokens << " rows "
               << sample.size.rows << " dim " << sample.size.dim << " content "
               << static_cast<int>(sample.content) << " seed " << sample.seed << " budget "
               << sample.config.budget << " window " << sample.config.window.value_or(-1)
               << " recent " << sample.config.recent.value_or(-1) << " sink " << sample.config.sink
               << " pool " << sample.config.pool;
}

/// A layer and a configuration that `resolve` accepts; budgets from 1 to beyond the prompt.
Sample drawSample(const std::string& scorer) {
    Sample sample;
    sample.size.kvHeads = *rc::gen::inRange(1, 4);
    sample.size.group = *rc::gen::inRange(1, 4);
    sample.size.tokens = *rc::gen::inRange(1, 60);
    sample.size.rows = *rc::gen::inRange(1, sample.size.tokens + 1);
    sample.size.dim = *rc::gen::element(2, 3, 8, 17);
    sample.content =
        *rc::gen::element(Content::Normal, Content::Redundant, Content::Constant, Content::Zero,
                          Content::Coarse, Content::Damaged, Content::Huge);
    sample.seed = *rc::gen::arbitrary<std::uint32_t>();
    sample.config.scorer = scorer;
    sample.config.budget = *rc::gen::inRange(1, sample.size.tokens + 4);
    sample.config.window = *rc::gen::inRange(0, sample.size.rows + 1);
    sample.config.sink = *rc::gen::inRange<std::int64_t>(0, sample.config.budget + 1);
    sample.config.recent =
        *rc::gen::inRange<std::int64_t>(0, sample.config.budget - sample.config.sink + 1);
    sample.config.pool = *rc::gen::element(1, 3, 5, 9);
    sample.config.alpha = *rc::gen::element(0.0, 0.3, 0.5, 1.0);
    sample.config.poolMode = *rc::gen::element(
        kernels::PoolMode::Average, kernels::PoolMode::AveragePadded, kernels::PoolMode::Max);
    return sample;
}

struct Evaluated {
    ResolvedPolicy policy;
    LayerScores scores;
    cache::LayerPlan plan;
};

Evaluated evaluate(const Sample& sample) {
    Layer layer = sample.layer();
    Evaluated result;
    result.policy = resolve(sample.config, sample.size.tokens);
    result.scores = scoreLayer(layer.input(), result.policy, kernels::Backend::Cpu);
    result.plan = planLayer(result.scores, result.policy);
    return result;
}

class PolicyProperties : public ::testing::TestWithParam<const char*> {
protected:
    /// Runs `property` on drawn samples of this policy; the sample is shown when it fails.
    template <class Property> void holds(const char* what, Property&& property) {
        const std::string scorer = GetParam();
        EXPECT_TRUE(rc::check(std::string(what) + " (" + scorer + ")", [&] {
            const Sample sample = drawSample(scorer);
            RC_LOG() << sample << std::endl;
            property(sample);
        }));
    }
};

TEST_P(PolicyProperties, keepsExactlyTheBudgetWithEveryProtectedToken) {
    holds("budget and protection", [](const Sample& sample) {
        const Evaluated e = evaluate(sample);
        RC_ASSERT(e.plan.keptRows.size() == static_cast<std::size_t>(sample.size.kvHeads));
        const std::int64_t expected = e.plan.compressed ? sample.config.budget : sample.size.tokens;
        for (const Rows& rows : e.plan.keptRows) {
            RC_ASSERT(static_cast<std::int64_t>(rows.size()) == expected);
            RC_ASSERT(std::ranges::adjacent_find(rows, std::greater_equal<>()) == rows.end());
            for (std::int32_t token = 0; token < sample.size.tokens; ++token) {
                const bool isProtected = token < e.policy.sink || token >= e.policy.candidateEnd();
                RC_ASSERT(!isProtected || std::ranges::binary_search(rows, token));
            }
        }
    });
}

TEST_P(PolicyProperties, keepsTheBestCandidatesAndTheLowerOneOfATie) {
    holds("best candidates", [](const Sample& sample) {
        const Evaluated e = evaluate(sample);
        for (std::size_t head = 0; head < e.plan.keptRows.size(); ++head) {
            const float* score = e.scores.score.data() + head * e.scores.tokens;
            const Rows& rows = e.plan.keptRows[head];
            const auto isKept = [&](std::int64_t token) {
                return std::ranges::binary_search(rows, static_cast<std::int32_t>(token));
            };
            for (auto a = e.policy.candidateBegin(); a < e.policy.candidateEnd(); ++a) {
                for (auto b = e.policy.candidateBegin(); b < e.policy.candidateEnd(); ++b) {
                    const bool aFirst = score[a] > score[b] || (score[a] == score[b] && a < b);
                    RC_ASSERT(!(aFirst && isKept(b) && !isKept(a)));
                }
            }
        }
    });
}

TEST_P(PolicyProperties, scoresAreFiniteForCandidatesAndNanForProtectedTokens) {
    holds("finite", [](const Sample& sample) {
        const Evaluated e = evaluate(sample);
        for (const auto* array :
             {&e.scores.importance, &e.scores.diversityCosine, &e.scores.diversityEuclid,
              &e.scores.diversity, &e.scores.score}) {
            RC_ASSERT(array->size() ==
                      static_cast<std::size_t>(sample.size.kvHeads * sample.size.tokens));
            for (std::size_t i = 0; i < array->size(); ++i) {
                const auto token = static_cast<std::int64_t>(i) % e.scores.tokens;
                const bool candidate =
                    token >= e.policy.candidateBegin() && token < e.policy.candidateEnd();
                RC_ASSERT(std::isfinite((*array)[i]) == candidate);
                RC_ASSERT(std::isnan((*array)[i]) == !candidate);
            }
        }
        for (std::size_t head = 0; head < e.scores.redundancy.size(); ++head) {
            RC_ASSERT(e.scores.redundancy[head] >= 0 && e.scores.redundancy[head] <= 1);
            RC_ASSERT(std::isfinite(e.scores.anisotropy[head]));
        }
    });
}

TEST_P(PolicyProperties, repeatsAndThreadCountsChangeNothing) {
    holds("deterministic", [](const Sample& sample) {
        const int threads = omp_get_max_threads();
        omp_set_num_threads(1);
        const Evaluated one = evaluate(sample);
        omp_set_num_threads(3);
        const Evaluated three = evaluate(sample);
        omp_set_num_threads(threads);
        const Evaluated again = evaluate(sample);
        RC_ASSERT(one.plan.keptRows == three.plan.keptRows);
        RC_ASSERT(three.plan.keptRows == again.plan.keptRows);
        RC_ASSERT(std::ranges::equal(one.scores.score, again.scores.score, [](float a, float b) {
            return a == b || (std::isnan(a) && std::isnan(b));
        }));
    });
}

// With the protected tokens and the window fixed the scores do not see the budget, so a larger one
// only adds tokens.
TEST_P(PolicyProperties, aLargerBudgetOnlyAddsTokens) {
    holds("nested", [](Sample sample) {
        const Evaluated small = evaluate(sample);
        sample.config.budget += *rc::gen::inRange(0, 20);
        const Evaluated large = evaluate(sample);
        for (std::size_t head = 0; head < small.plan.keptRows.size(); ++head) {
            RC_ASSERT(!small.plan.compressed ||
                      std::ranges::includes(large.plan.keptRows[head], small.plan.keptRows[head]));
        }
    });
}

// F003: never an abort or an empty cache on prompts up to the window.
TEST_P(PolicyProperties, promptsUpToTheWindowAreKeptWhole) {
    holds("short prompts", [](Sample sample) {
        sample.size.rows = sample.size.tokens;
        sample.config.window = sample.size.tokens + *rc::gen::inRange(0, 9);
        const Evaluated e = evaluate(sample);
        RC_ASSERT(!e.plan.compressed);
        RC_ASSERT(e.policy.note.find("not compressed") != std::string::npos);
        for (const Rows& rows : e.plan.keptRows) {
            RC_ASSERT(rows.size() == static_cast<std::size_t>(sample.size.tokens));
        }
    });
}

// F009: nothing is kept between runs; B after A equals B alone.
TEST_P(PolicyProperties, anotherPromptBeforeChangesNothing) {
    holds("stateless", [](const Sample& sample) {
        const Evaluated alone = evaluate(sample);
        Sample other = sample;
        other.seed += 1;
        other.size.tokens += 7;
        evaluate(other);
        RC_ASSERT(evaluate(sample).plan.keptRows == alone.plan.keptRows);
    });
}

INSTANTIATE_TEST_SUITE_P(Every, PolicyProperties,
                         ::testing::Values("full", "random", "streaming", "snapkv", "mixkv",
                                           "ecokv"),
                         [](const auto& info) { return std::string(info.param); });

} // namespace
} // namespace ecokv::policy

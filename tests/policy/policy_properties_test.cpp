// SPDX-License-Identifier: GPL-3.0-or-later
// What must hold for every policy with every allocator on any input, drawn by rapidcheck: exact
// budgets, protected tokens, ties, repeats and thread counts, finite scores, nested kept sets.
#include "layer_fixture.h"
#include "policy/head_table.h"
#include "policy/measurement.h"
#include "policy/scorer.h"
#include "table_file.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <rapidcheck.h>

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <tuple>

namespace ecokv::policy {
namespace {

using test::Layer;
using test::LayerSize;
using test::Rows;

/// How the numbers of a layer are made up.
enum class Content : std::uint8_t { Normal, Redundant, Constant, Zero, Coarse, Damaged, Huge };

/// One line per policy: a new scorer is added here.
constexpr std::array kScorers = {
    "full",       "random", "streaming", "snapkv", "knorm", "vnorm", "keydiff",
    "manifoldkv", "tova",   "h2o",       "rkv",    "mixkv", "ecokv",
};
constexpr std::array kAllocators = {"uniform", "pyramid", "adaptive", "static"};

/// A weight for each of layers x kvHeads heads, some of them 0, for the allocator `static`.
std::string weightFile(std::int32_t layers, std::int32_t kvHeads) {
    static std::map<std::pair<std::int32_t, std::int32_t>, std::unique_ptr<test::TableFile>> files;
    std::unique_ptr<test::TableFile>& file = files[{layers, kvHeads}];
    if (!file) {
        HeadTable table{HeadTableKind::Weights, "matrix", layers, kvHeads, {}};
        for (std::int32_t i = 0; i < layers * kvHeads; ++i) {
            table.values.push_back((i * 7 + 3) % 5);
        }
        file = std::make_unique<test::TableFile>(headTableJson(table));
    }
    return file->path();
}

struct Sample {
    LayerSize size;
    std::int32_t layers = 1;
    Content content = Content::Normal;
    std::uint32_t seed = 0;
    PolicyConfig config;

    Layer layer(std::int32_t index) const {
        Layer made = Layer::random(size, seed + static_cast<std::uint32_t>(index),
                                   content == Content::Redundant ? 20.0F : 0.3F, index);
        if (config.geometry == Geometry::Pre) {
            made.rotate();
        }
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

    Observation observes() const { return findScorer(config.scorer).info.observes; }
};

std::ostream& operator<<(std::ostream& out, const Sample& sample) {
    return out << policyText(sample.config) << " on " << sample.layers << " layers, kvHeads "
               << sample.size.kvHeads << " group " << sample.size.group << " tokens "
               << sample.size.tokens << " rows " << sample.size.rows << " dim " << sample.size.dim
               << " content " << static_cast<int>(sample.content) << " seed " << sample.seed;
}

/// Layers and a configuration that `resolve` accepts; budgets from 1 to beyond the prompt.
Sample drawSample(const std::string& scorer, const std::string& allocator) {
    Sample sample;
    sample.size.kvHeads = *rc::gen::inRange(1, 4);
    sample.size.group = *rc::gen::inRange(1, 4);
    sample.size.tokens = *rc::gen::inRange(1, 60);
    sample.size.dim = *rc::gen::element(2, 3, 8, 17);
    sample.layers = *rc::gen::inRange(1, 4);
    sample.content =
        *rc::gen::element(Content::Normal, Content::Redundant, Content::Constant, Content::Zero,
                          Content::Coarse, Content::Damaged, Content::Huge);
    sample.seed = *rc::gen::arbitrary<std::uint32_t>();
    sample.config.scorer = scorer;
    sample.config.allocator = allocator;
    sample.size.rows = sample.observes() == Observation::AllRows
                           ? sample.size.tokens
                           : *rc::gen::inRange(1, sample.size.tokens + 1);
    sample.config.budget = *rc::gen::inRange(1, sample.size.tokens + 4);
    sample.config.window = *rc::gen::inRange(0, sample.size.rows + 1);
    sample.config.sink = *rc::gen::inRange<std::int64_t>(0, sample.config.budget + 1);
    sample.config.recent =
        *rc::gen::inRange<std::int64_t>(0, sample.config.budget - sample.config.sink + 1);
    sample.config.pool = *rc::gen::element(1, 3, 5, 31);
    sample.config.alpha = *rc::gen::element(0.0, 0.3, 0.5, 1.0);
    sample.config.beta = *rc::gen::element(0.0, 0.5, 1.0);
    sample.config.valueNorm = *rc::gen::arbitrary<bool>();
    if (sample.size.dim % 2 == 0) { // only such keys can have been rotated
        sample.config.geometry = *rc::gen::element(Geometry::Post, Geometry::Pre);
    }
    if (*rc::gen::arbitrary<bool>()) {
        sample.config.redundancy = {RedundancySource::Constant, *rc::gen::element(0.0, 0.4, 1.0),
                                    ""};
    }
    sample.config.lambda = *rc::gen::element(0.0, 0.1, 1.0);
    sample.config.floor = *rc::gen::element(0.0, 0.2, 1.0);
    sample.config.pyramidBeta = *rc::gen::element(1.0, 3.0, 20.0);
    sample.config.poolMode = *rc::gen::element(
        kernels::PoolMode::Average, kernels::PoolMode::AveragePadded, kernels::PoolMode::Max);
    if (allocator == "static") {
        sample.config.headWeights = weightFile(sample.layers, sample.size.kvHeads);
    }
    return sample;
}

struct Evaluated {
    ResolvedPolicy policy;
    std::vector<LayerScores> scores; ///< [layer]
    std::vector<cache::LayerPlan> plans;

    /// Calls `check` with the scores [token] and kept rows of every head.
    template <class Check> void everyHead(Check&& check) const {
        for (std::size_t layer = 0; layer < plans.size(); ++layer) {
            for (std::size_t head = 0; head < plans[layer].keptRows.size(); ++head) {
                check(scores[layer].score.data() + static_cast<std::int64_t>(head) * policy.tokens,
                      plans[layer].keptRows[head]);
            }
        }
    }
};

ResolvedPolicy resolved(const Sample& sample) {
    return resolve(sample.config, sample.size.tokens,
                   {sample.layers, sample.size.kvHeads, "matrix"});
}

Evaluated evaluate(const Sample& sample) {
    Evaluated result;
    result.policy = resolved(sample);
    for (std::int32_t index = 0; index < sample.layers; ++index) {
        Layer layer = sample.layer(index);
        result.scores.push_back(scoreLayer(layer.input(), result.policy, kernels::Backend::Cpu));
        result.plans.push_back(planLayer(result.scores.back(), result.policy));
    }
    return result;
}

bool sameScores(const std::vector<float>& a, const std::vector<float>& b) {
    return std::ranges::equal(
        a, b, [](float x, float y) { return x == y || (std::isnan(x) && std::isnan(y)); });
}

bool sameOutcome(const Evaluated& a, const Evaluated& b) {
    for (std::size_t layer = 0; layer < a.plans.size(); ++layer) {
        if (a.plans[layer].keptRows != b.plans[layer].keptRows ||
            !sameScores(a.scores[layer].score, b.scores[layer].score)) {
            return false;
        }
    }
    return true;
}

class PolicyProperties : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {
protected:
    std::string scorer() const { return std::get<0>(GetParam()); }
    std::string allocator() const { return std::get<1>(GetParam()); }

    /// Runs `property` on drawn samples of this policy; the sample is shown when it fails.
    template <class Property> void holds(const char* what, Property&& property) {
        EXPECT_TRUE(rc::check(std::string(what) + " (" + scorer() + ", " + allocator() + ")", [&] {
            const Sample sample = drawSample(scorer(), allocator());
            RC_LOG() << sample << std::endl;
            property(sample);
        }));
    }
};

TEST_P(PolicyProperties, keepsExactlyTheBudgetWithEveryProtectedToken) {
    holds("budget and protection", [this](const Sample& sample) {
        const Evaluated e = evaluate(sample);
        const std::int64_t heads = std::int64_t{sample.layers} * sample.size.kvHeads;
        std::int64_t kept = 0;
        e.everyHead([&](const float*, const Rows& rows) {
            kept += static_cast<std::int64_t>(rows.size());
            RC_ASSERT(!rows.empty());
            RC_ASSERT(std::ranges::adjacent_find(rows, std::greater_equal<>()) == rows.end());
            RC_ASSERT(rows.front() >= 0 && rows.back() < sample.size.tokens);
            for (std::int32_t token = 0; token < sample.size.tokens; ++token) {
                const bool isProtected = token < e.policy.sink || token >= e.policy.candidateEnd();
                RC_ASSERT(!isProtected || std::ranges::binary_search(rows, token));
            }
            if (allocator() == "uniform") {
                RC_ASSERT(static_cast<std::int64_t>(rows.size()) == e.policy.budget);
            }
        });
        const std::int64_t each =
            e.policy.compresses ? sample.config.budget : std::int64_t{sample.size.tokens};
        RC_ASSERT(kept == heads * each);
    });
}

// `adaptive` shares within a layer, so that every layer is exact by itself.
TEST_P(PolicyProperties, layersKeepTheirOwnShareExactly) {
    holds("layer totals", [](const Sample& sample) {
        const Evaluated e = evaluate(sample);
        for (std::size_t layer = 0; layer < e.plans.size(); ++layer) {
            std::int64_t planned = 0;
            std::int64_t kept = 0;
            for (std::int32_t head = 0; head < sample.size.kvHeads; ++head) {
                planned += e.policy.headBudget(static_cast<std::int32_t>(layer), head);
                kept += static_cast<std::int64_t>(
                    e.plans[layer].keptRows[static_cast<std::size_t>(head)].size());
            }
            RC_ASSERT(kept == planned);
        }
    });
}

TEST_P(PolicyProperties, keepsTheBestCandidatesAndTheLowerOneOfATie) {
    holds("best candidates", [](const Sample& sample) {
        const Evaluated e = evaluate(sample);
        e.everyHead([&](const float* score, const Rows& rows) {
            std::vector<std::int32_t> order;
            for (auto token = e.policy.candidateBegin(); token < e.policy.candidateEnd(); ++token) {
                order.push_back(static_cast<std::int32_t>(token));
            }
            std::ranges::stable_sort(order, std::greater<>(), [&](auto t) { return score[t]; });
            const std::size_t chosen = rows.size() - (e.policy.tokens - order.size());
            for (std::size_t i = 0; i < order.size(); ++i) {
                RC_ASSERT(std::ranges::binary_search(rows, order[i]) == (i < chosen));
            }
        });
    });
}

TEST_P(PolicyProperties, scoresAreFiniteForCandidatesAndNanForProtectedTokens) {
    holds("finite", [](const Sample& sample) {
        const Evaluated e = evaluate(sample);
        for (const LayerScores& scores : e.scores) {
            for (const auto* array : {&scores.importance, &scores.diversityCosine,
                                      &scores.diversityEuclid, &scores.diversity, &scores.score}) {
                RC_ASSERT(array->size() ==
                          static_cast<std::size_t>(sample.size.kvHeads * sample.size.tokens));
                for (std::size_t i = 0; i < array->size(); ++i) {
                    const auto token = static_cast<std::int64_t>(i) % scores.tokens;
                    const bool candidate =
                        token >= e.policy.candidateBegin() && token < e.policy.candidateEnd();
                    RC_ASSERT(std::isfinite((*array)[i]) == candidate);
                    RC_ASSERT(std::isnan((*array)[i]) == !candidate);
                }
            }
            for (std::size_t head = 0; head < scores.redundancy.size(); ++head) {
                RC_ASSERT(scores.redundancy[head] >= 0 && scores.redundancy[head] <= 1);
                RC_ASSERT(std::isfinite(scores.anisotropy[head]));
            }
        }
    });
}

// NaN, Inf and inputs that tell no candidate apart are said, not only survived (F021).
TEST_P(PolicyProperties, damagedAndConstantLayersAreNoted) {
    holds("notes", [](Sample sample) {
        sample.content = *rc::gen::element(Content::Damaged, Content::Zero);
        sample.config.sink = sample.config.recent.emplace(0);
        sample.size.tokens += 2; // two candidates at least
        sample.size.rows = sample.size.tokens;
        const Evaluated e = evaluate(sample);
        RC_ASSERT(!e.scores.front().notes.empty());
        RC_ASSERT(e.scores.front().notes.front().starts_with("layer 0 head "));
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
        RC_ASSERT(sameOutcome(one, three));
        RC_ASSERT(sameOutcome(three, evaluate(sample)));
    });
}

// Layers arrive as pieces of larger tensors, parts are measured apart and put together again; the
// numbers are those of one contiguous layer.
TEST_P(PolicyProperties, chunksAndStridesChangeNothing) {
    holds("strided", [](const Sample& sample) {
        const Evaluated whole = evaluate(sample);
        LayerSize wide = sample.size;
        wide.tokens += 5;
        Layer layer = sample.layer(0);
        Layer larger(wide);
        const auto row = static_cast<std::size_t>(wide.dim);
        for (int head = 0; head < wide.kvHeads; ++head) {
            const auto count = static_cast<std::size_t>(sample.size.tokens) * row;
            const auto from = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(head) * count);
            const auto to =
                static_cast<std::ptrdiff_t>(static_cast<std::size_t>(head * wide.tokens + 3) * row);
            std::copy_n(layer.keys.begin() + from, count, larger.keys.begin() + to);
            std::copy_n(layer.values.begin() + from, count, larger.values.begin() + to);
        }
        LayerInput input = layer.input();
        input.keys = larger.input().keys.slice(1, 3, 3 + sample.size.tokens);
        input.values = larger.input().values.slice(1, 3, 3 + sample.size.tokens);
        const LayerScores scores = scoreLayer(
            Measurement(measureParts(input, whole.policy, kernels::Backend::Cpu), whole.policy),
            whole.policy);
        RC_ASSERT(sameScores(scores.score, whole.scores.front().score));
        RC_ASSERT(planLayer(scores, whole.policy).keptRows == whole.plans.front().keptRows);
    });
}

// With the protected tokens and the window fixed the scores do not see the budget, so a larger one
// only adds tokens. The other allocators share by largest remainder, where a head may get one token
// less of a larger total (the Alabama paradox), so that only their sum is monotone.
TEST_P(PolicyProperties, aLargerBudgetOnlyAddsTokens) {
    holds("nested", [this](Sample sample) {
        const Evaluated small = evaluate(sample);
        sample.config.budget += *rc::gen::inRange(0, 20);
        const Evaluated large = evaluate(sample);
        if (!small.policy.compresses) {
            return;
        }
        for (std::size_t layer = 0; layer < small.plans.size(); ++layer) {
            for (std::size_t head = 0; head < small.plans[layer].keptRows.size(); ++head) {
                const Rows& few = small.plans[layer].keptRows[head];
                const Rows& many = large.plans[layer].keptRows[head];
                RC_ASSERT(allocator() != "uniform" || std::ranges::includes(many, few));
                RC_ASSERT(many.size() < few.size() || std::ranges::includes(many, few));
                RC_ASSERT(many.size() + 1 >= few.size() || allocator() == "adaptive");
            }
        }
    });
}

// F003: never an abort or an empty cache on prompts up to the window.
TEST_P(PolicyProperties, promptsUpToTheWindowAreKeptWhole) {
    holds("short prompts", [](Sample sample) {
        sample.size.rows = sample.size.tokens;
        sample.config.window = sample.size.tokens + *rc::gen::inRange(0, 9);
        const Evaluated e = evaluate(sample);
        const bool limited = sample.config.budget < sample.size.tokens;
        if (sample.observes() == Observation::Window) {
            RC_ASSERT(!e.policy.compresses);
        } else if (sample.config.scorer != "full") {
            RC_ASSERT(e.policy.compresses == limited); // no window to fill
        }
        RC_ASSERT(e.policy.compresses || e.policy.note.find("not compressed") != std::string::npos);
    });
}

// F009: nothing is kept between runs; B after A equals B alone.
TEST_P(PolicyProperties, anotherPromptBeforeChangesNothing) {
    holds("stateless", [](const Sample& sample) {
        const Evaluated alone = evaluate(sample);
        Sample other = sample;
        other.seed += 1;
        other.size.tokens += 7;
        other.size.rows = other.size.tokens;
        evaluate(other);
        RC_ASSERT(sameOutcome(evaluate(sample), alone));
    });
}

INSTANTIATE_TEST_SUITE_P(Every, PolicyProperties,
                         ::testing::Combine(::testing::ValuesIn(kScorers),
                                            ::testing::ValuesIn(kAllocators)),
                         [](const auto& info) {
                             return std::string(std::get<0>(info.param)) + "_" +
                                    std::get<1>(info.param);
                         });

TEST(PolicyMatrix, holdsEveryScorerAndAllocator) {
    std::vector<std::string> names;
    for (const PolicyInfo& info : policies()) {
        names.push_back(info.name);
    }
    EXPECT_EQ(names, std::vector<std::string>(kScorers.begin(), kScorers.end()));
    EXPECT_EQ(allocators(), std::vector<std::string>(kAllocators.begin(), kAllocators.end()));
}

} // namespace
} // namespace ecokv::policy

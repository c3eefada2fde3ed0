// SPDX-License-Identifier: GPL-3.0-or-later
// Eviction while an answer is generated: bounds, protection, what is recorded, what is freed.
#include "session/decode_evictor.h"

#include "base/error.h"
#include "session/generated.h"
#include "session/history_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>
#include <string>
#include <tuple>

namespace ecokv::session {

class DecodeBounds
    : public testing::TestWithParam<std::tuple<std::string, std::string, std::int64_t>> {};

TEST_P(DecodeBounds, theCacheStaysWithinBudgetPlusThePeriod) {
    const auto& [scorer, allocator, every] = GetParam();
    constexpr std::int64_t kBudget = 12, kPrompt = 40, kSteps = 60;
    DecodeEvictor evictor(setupOf(scorer, allocator, kBudget, every));
    const Generated run = generate(&evictor, kPrompt, kSteps);
    const CacheHistory& history = run.answer.cache;
    ASSERT_EQ(history.steps(), kSteps);
    for (std::int64_t step = 0; step < kSteps; ++step) {
        const double mean = meanLength(history, step);
        EXPECT_DOUBLE_EQ(mean, static_cast<double>(kBudget + step % every)) << "step " << step;
        if (allocator == "uniform") {
            EXPECT_EQ(longestHead(history, step), kBudget + step % every);
        }
        // Allocated before the token is stored: no more than the heads may grow to.
        EXPECT_LE(history.bytes[static_cast<std::size_t>(step)],
                  static_cast<std::uint64_t>(kHeadsInAll * (kBudget + every)) * kRowBytes);
    }
    EXPECT_EQ(run.cache.tokensSeen(), kPrompt + kSteps - 1); // F017: evicted ones are counted
    // Whatever was ever stored is either evicted or still there; the last token was not stored.
    EXPECT_EQ(static_cast<std::int64_t>(history.evictions.size()),
              kHeadsInAll * (kPrompt + kSteps - 1) -
                  static_cast<std::int64_t>(run.cache.usedBytes() / kRowBytes));
}

INSTANTIATE_TEST_SUITE_P(
    Policies, DecodeBounds,
    testing::Combine(testing::Values("ecokv", "snapkv", "mixkv", "streaming", "random"),
                     testing::Values("uniform", "adaptive", "pyramid"),
                     testing::Values(std::int64_t{1}, std::int64_t{7}, std::int64_t{100})),
    [](const auto& test) {
        return std::get<0>(test.param) + "_" + std::get<1>(test.param) + "_" +
               std::to_string(std::get<2>(test.param));
    });

TEST(DecodeEvictor, sinksAndRecentTokensStay) {
    DecodeEvictionSetup setup = setupOf("random", "uniform", 10, 4);
    setup.policy.sink = 3;
    setup.policy.recent = 5;
    DecodeEvictor evictor(setup);
    const Generated run = generate(&evictor, 30, 41); // step 40 evicts; 70 tokens were seen
    for (int layer = 0; layer < ToyModel::kLayers; ++layer) {
        const auto kept = positionsOf(run.cache, layer, 0);
        ASSERT_EQ(kept.size(), 9U); // and the token of step 40 that comes
        EXPECT_EQ((std::vector<std::int64_t>{kept.begin(), kept.begin() + 3}),
                  (std::vector<std::int64_t>{0, 1, 2}));
        // 5 recent tokens: the one that comes (position 70) and the four before it
        EXPECT_EQ((std::vector<std::int64_t>{kept.end() - 4, kept.end()}),
                  (std::vector<std::int64_t>{66, 67, 68, 69}));
    }
}

// Streaming keeps the last tokens by definition: a hand computation of the whole course.
TEST(DecodeEvictor, evictionsNameStepHeadAndTruePosition) {
    DecodeEvictionSetup setup = setupOf("streaming", "uniform", 4, 2);
    setup.policy.recent = 3;
    setup.policy.sink = 1;
    DecodeEvictor evictor(setup);
    const Generated run = generate(&evictor, 6, 4);
    std::vector<std::pair<std::int64_t, std::int64_t>> ofOneHead; // step, position
    for (const Eviction& eviction : run.answer.cache.evictions) {
        if (eviction.layer == 2 && eviction.kvHead == 1) {
            ofOneHead.emplace_back(eviction.step, eviction.position);
        }
    }
    // Step 0: {0..5} to {0, 4, 5} + 6. Step 2: {0, 4, 5, 6, 7} to {0, 6, 7} + 8.
    EXPECT_EQ(ofOneHead, (std::vector<std::pair<std::int64_t, std::int64_t>>{
                             {0, 1}, {0, 2}, {0, 3}, {2, 4}, {2, 5}}));
    EXPECT_EQ(positionsOf(run.cache, 2, 1), (std::vector<std::int64_t>{0, 6, 7, 8}));
    EXPECT_EQ(run.answer.cache.evictions.size(), 5U * kHeadsInAll);
}

// The oracle: a head scored by hand with the formula of `snapkv` for one query row and no pooling.
TEST(DecodeEvictor, theBestCandidatesByTheWindowsAttentionStay) {
    DecodeEvictionSetup setup = setupOf("snapkv", "uniform", 6, 100);
    setup.policy.window = 1;
    setup.policy.recent = 2;
    setup.policy.pool = 1;
    DecodeEvictor evictor(setup);
    constexpr std::int64_t kPrompt = 20;
    const Generated run = generate(&evictor, kPrompt, 1);
    for (int layer = 0; layer < ToyModel::kLayers; ++layer) {
        for (int head = 0; head < ToyModel::kKvHeads; ++head) {
            const auto keys = ToyModel::rows(layer, ToyModel::kKvHeads, 0, kPrompt, 0.1);
            const auto queries =
                ToyModel::rows(layer, ToyModel::kHeads, kPrompt - 1, 1, 1.3); // [head, 1, dim]
            std::vector<double> importance(kPrompt, 0.0);
            for (int q = 2 * head; q < 2 * head + 2; ++q) {
                std::vector<double> weight;
                double sum = 0;
                for (std::int64_t token = 0; token < kPrompt; ++token) {
                    double dot = 0;
                    for (std::int64_t dim = 0; dim < ToyModel::kDim; ++dim) {
                        dot += static_cast<double>(
                                   queries[static_cast<std::size_t>(q * ToyModel::kDim + dim)]) *
                               keys[static_cast<std::size_t>(
                                   (head * kPrompt + token) * ToyModel::kDim + dim)];
                    }
                    weight.push_back(std::exp(dot / std::sqrt(8.0)));
                    sum += weight.back();
                }
                for (std::size_t token = 0; token < weight.size(); ++token) {
                    importance[token] += weight[token] / sum / 2;
                }
            }
            // 6 with the token that comes: 1 recent row, 4 of the 19 candidates
            std::vector<std::int64_t> order(kPrompt - 1);
            std::iota(order.begin(), order.end(), 0);
            std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
                return importance[static_cast<std::size_t>(a)] >
                       importance[static_cast<std::size_t>(b)];
            });
            std::vector<std::int64_t> wanted(order.begin(), order.begin() + 4);
            wanted.push_back(kPrompt - 1);
            std::ranges::sort(wanted);
            EXPECT_EQ(positionsOf(run.cache, layer, head), wanted) << layer << " " << head;
        }
    }
}

/// Survivors of one eviction by keydiff on keys whose rotation is undone, by hand: the `keep` of
/// `positions` whose un-rotated keys are least like the mean direction; the last one always stays.
std::vector<std::int64_t> leastAlikeUnrotated(const std::vector<std::int64_t>& positions, int layer,
                                              int head, const std::vector<float>& frequencies,
                                              std::size_t keep) {
    constexpr std::size_t kPairs = ToyModel::kDim / 2;
    std::vector<std::array<double, ToyModel::kDim>> unit;
    std::array<double, ToyModel::kDim> mean{};
    for (auto position = positions.begin(); position != positions.end() - 1; ++position) {
        const auto rows = ToyModel::rows(layer, ToyModel::kKvHeads, *position, 1, 0.1);
        const float* key = rows.data() + static_cast<std::ptrdiff_t>(head) * ToyModel::kDim;
        std::array<double, ToyModel::kDim>& u = unit.emplace_back();
        double square = 0;
        for (std::size_t i = 0; i < kPairs; ++i) {
            const double angle = static_cast<double>(*position) * frequencies[i];
            u[i] = key[i] * std::cos(angle) + key[i + kPairs] * std::sin(angle);
            u[i + kPairs] = key[i + kPairs] * std::cos(angle) - key[i] * std::sin(angle);
            square += u[i] * u[i] + u[i + kPairs] * u[i + kPairs];
        }
        for (std::size_t i = 0; i < u.size(); ++i) {
            u[i] /= std::sqrt(square);
            mean[i] += u[i];
        }
    }
    std::vector<double> alike;
    for (const auto& u : unit) {
        alike.push_back(std::inner_product(u.begin(), u.end(), mean.begin(), 0.0));
    }
    std::vector<std::size_t> order(unit.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::less<>(), [&](std::size_t i) { return alike[i]; });
    std::vector<std::int64_t> kept{positions.back()};
    for (std::size_t i = 0; i + 1 < keep; ++i) {
        kept.push_back(positions[order[i]]);
    }
    std::ranges::sort(kept);
    return kept;
}

// Two evictions: the second one finds gaps, so that rows and true positions differ.
TEST(DecodeEvictor, unrotatedGeometryGoesByTruePositionsOfEveryHead) {
    const std::vector<float> frequencies{1.0F, 0.3F, 0.1F, 0.03F};
    for (const char* allocator : {"uniform", "adaptive"}) {
        DecodeEvictionSetup setup = setupOf("keydiff", allocator, 8, 4);
        setup.policy.geometry = policy::Geometry::Pre;
        setup.policy.recent = 2; // one of them is the token that comes
        setup.policy.floor = 1;  // adaptive shares nothing: the numbers stay those of uniform
        setup.ropes.settings.push_back({.inverseFrequencies = frequencies});
        DecodeEvictor evictor(setup);
        const Generated run = generate(&evictor, 30, 5);
        for (int layer = 0; layer < ToyModel::kLayers; ++layer) {
            for (int head = 0; head < ToyModel::kKvHeads; ++head) {
                std::vector<std::int64_t> held(30);
                std::iota(held.begin(), held.end(), 0);
                held = leastAlikeUnrotated(held, layer, head, frequencies, 7);
                for (std::int64_t position = 30; position < 34; ++position) {
                    held.push_back(position);
                }
                held = leastAlikeUnrotated(held, layer, head, frequencies, 7);
                EXPECT_EQ(positionsOf(run.cache, layer, head), held) << layer << " " << head;
            }
        }
    }
}

// Tova ranks by the mean over all heads of a layer: heads that hold the same tokens go on doing so.
TEST(DecodeEvictor, headsThatHoldTheSameAreJudgedTogether) {
    DecodeEvictor evictor(setupOf("tova", "uniform", 9, 4));
    const Generated run = generate(&evictor, 30, 30);
    for (int layer = 0; layer < ToyModel::kLayers; ++layer) {
        EXPECT_EQ(positionsOf(run.cache, layer, 0), positionsOf(run.cache, layer, 1));
    }
    EXPECT_LT(positionsOf(run.cache, 0, 0).front(), 45); // it chooses: these are not the last ones
}

// F030: without a decode budget the cache grows by every token, and the record says so.
TEST(DecodeEvictor, withoutItTheLengthIsKeptPlusGenerated) {
    ToyModel model;
    cache::KvCache cache(model.cacheShape());
    const std::vector<TokenId> prompt(64, 1);
    const std::vector<float> logits = model.extend(prompt, cache, nullptr, {}, {});
    std::vector<std::int32_t> sixteen(16);
    std::iota(sixteen.begin(), sixteen.end(), 48);
    for (std::int32_t layer = 0; layer < ToyModel::kLayers; ++layer) {
        cache.apply({LayerId{layer}, {sixteen, sixteen}, true});
    }
    GenerationParams params;
    params.maxNewTokens = 20;
    const Answer answer = generateAnswer(model, cache, logits, params);
    ASSERT_EQ(answer.cache.steps(), 20);
    EXPECT_EQ(longestHead(answer.cache, 0), 17);
    EXPECT_EQ(longestHead(answer.cache, 19), 36);
    EXPECT_EQ(meanLength(answer.cache, 19), 36.0);
    EXPECT_TRUE(answer.cache.evictions.empty());
}

TEST(DecodeEvictor, aBudgetThatIsNeverReachedEvictsNothing) {
    DecodeEvictor evictor(setupOf("ecokv", "uniform", 500, 3));
    const Generated with = generate(&evictor, 20, 10);
    const Generated without = generate(nullptr, 20, 10);
    EXPECT_TRUE(with.answer.cache.evictions.empty());
    EXPECT_EQ(with.answer.cache.keptLength, without.answer.cache.keptLength);
}

// F009: what one generation saw is nothing to the next.
TEST(DecodeEvictor, twoGenerationsFromTheSameSeedAreEqual) {
    QueryWindows windows;
    for (int layer = 0; layer < ToyModel::kLayers; ++layer) {
        windows.emplace_back(8);
        std::vector<float> rows = ToyModel::rows(layer, ToyModel::kHeads, 5, 8, 2.0);
        const std::vector<std::int64_t> positions{5, 6, 7, 8, 9, 10, 11, 12};
        windows.back().append(
            TensorView::contiguous(rows.data(), DType::F32, {ToyModel::kHeads, 8, ToyModel::kDim}),
            positions);
    }
    const auto once = [&] {
        DecodeEvictor evictor(setupOf("ecokv", "uniform", 12, 5));
        evictor.seed(windows);
        return generate(&evictor, 30, 30);
    };
    const Generated first = once();
    const Generated second = once();
    for (int layer = 0; layer < ToyModel::kLayers; ++layer) {
        EXPECT_EQ(positionsOf(first.cache, layer, 1), positionsOf(second.cache, layer, 1));
    }
    EXPECT_EQ(windows[0].positions().back(), 12);
}

TEST(DecodeEvictor, whatCannotRunIsRefusedWithASentence) {
    const auto sentence = [](const DecodeEvictionSetup& setup) -> std::string {
        try {
            resolveDecode(setup);
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::Usage);
            return error.message();
        }
        return {};
    };
    EXPECT_NE(sentence(setupOf("full", "uniform", 10, 1)).find("keeps everything"),
              std::string::npos);
    EXPECT_NE(sentence(setupOf("h2o", "uniform", 10, 1)).find("every row"), std::string::npos);
    EXPECT_NE(sentence(setupOf("ecokv", "uniform", 10, 0)).find("every 0 tokens"),
              std::string::npos);
    DecodeEvictionSetup tight = setupOf("ecokv", "uniform", 10, 1); // F031: the three numbers
    tight.policy.sink = 8;
    tight.policy.recent = 3;
    const std::string refused = sentence(tight);
    EXPECT_NE(refused.find("10"), std::string::npos) << refused;
    EXPECT_NE(refused.find("8 sinks"), std::string::npos) << refused;
    EXPECT_NE(refused.find("3 recent"), std::string::npos) << refused;
    DecodeEvictionSetup full = setupOf("knorm", "uniform", 4, 1); // no room for the new token
    full.policy.sink = 4;
    EXPECT_FALSE(sentence(full).empty());
}

} // namespace ecokv::session

// SPDX-License-Identifier: GPL-3.0-or-later
// A model that delivers only some of its layers (the others are linear), and one whose rotary
// positions are not the numbers of its tokens: what pipelines, traces and saved contexts make of
// it.
#include "session/layer_pipeline.h"

#include "session/decode_evictor.h"
#include "session/model_shape.h"
#include "session/saved_context.h"
#include "session/toy_model.h"
#include "session/trace_records.h"
#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <numeric>

namespace ecokv::session {

namespace {

constexpr std::int64_t kTokens = 40;

/// Of the three layers of ToyModel the first and the last are linear.
class LinearToy : public ToyModel {
public:
    LinearToy() : m_info(ToyModel::info()) { m_info.linearLayers = {1, 0, 1}; }

    const model::ModelInfo& info() const override { return m_info; }

    std::vector<float> extend(std::span<const TokenId> tokens, cache::KvCache& cache,
                              model::LayerObserver* observer, const ProgressSink&,
                              const CancellationToken&) override {
        const auto count = static_cast<std::int64_t>(tokens.size());
        const std::int64_t first = cache.tokensSeen();
        std::vector<float> keys = rows(1, kKvHeads, first, count, 0.1);
        std::vector<float> values = rows(1, kKvHeads, first, count, 0.7);
        std::vector<float> queries = rows(1, kHeads, first, count, 1.3);
        std::vector<std::int64_t> positions(tokens.size());
        std::iota(positions.begin(), positions.end(), first);
        const auto view = [&](std::vector<float>& data, std::int64_t heads) {
            return TensorView::contiguous(data.data(), DType::F32, {heads, count, kDim});
        };
        cache.append(LayerId{1}, view(keys, kKvHeads), view(values, kKvHeads), positions);
        if (observer != nullptr) {
            const std::int64_t wanted = std::min(observer->windowRows(LayerId{1}), count);
            observer->layerPrefilled(
                {.layer = LayerId{1},
                 .keys = view(keys, kKvHeads),
                 .values = view(values, kKvHeads),
                 .windowQueries = view(queries, kHeads).slice(1, count - wanted, count),
                 .positions = positions,
                 .windowPositions = std::span<const std::int64_t>(positions).last(
                     static_cast<std::size_t>(wanted))});
        }
        return logitsAt(cache.tokensSeen());
    }

private:
    model::ModelInfo m_info;
};

class Folder {
public:
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "ecokv-XXXXXX").string();
        m_path = mkdtemp(name.data());
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::filesystem::path operator/(const char* name) const { return m_path / name; }

private:
    std::filesystem::path m_path;
};

trace::WriterOptions traceOptions(const std::filesystem::path& path, std::int64_t window) {
    trace::WriterOptions options;
    options.path = path;
    options.dimensions = {ToyModel::kLayers, ToyModel::kHeads, ToyModel::kKvHeads,
                          kTokens,           ToyModel::kDim,   window};
    options.linearLayers = {1, 0, 1};
    return options;
}

} // namespace

TEST(UncachedLayers, keepNothingAndHaveNoNumbersInATrace) {
    LinearToy model;
    const Folder folder;
    const auto policy = policy::resolve(policy::parsePolicy("ecokv:budget=12,recent=2"), kTokens,
                                        shapeOf(model.info()));
    ASSERT_TRUE(policy.compresses);
    cache::KvCache cache(model.cacheShape());
    trace::TraceWriter writer(traceOptions(folder / "a.ecokv.h5", policy.window));
    writer.writeModel(modelRecord(model.info()));
    LayerPipeline pipeline({.policy = policy,
                            .cache = &cache,
                            .trace = &writer,
                            .recordWindow = policy.window,
                            .recordGeometry = false});
    model.extend(std::vector<TokenId>(kTokens, 1), cache, &pipeline, {}, {});
    writer.writePolicy(pipeline.policyRecord("0"));
    writer.close();

    EXPECT_EQ(cache.length(LayerId{1}, HeadId{0}), 12);
    EXPECT_EQ(cache.length(LayerId{0}, HeadId{0}), 0);
    const trace::TraceReader reader(folder / "a.ecokv.h5");
    EXPECT_TRUE(reader.layersComplete());
    EXPECT_EQ(reader.model()->linearLayers, (std::vector<std::uint8_t>{1, 0, 1}));
    const trace::PolicyRecord record = reader.policy("0");
    EXPECT_EQ(record.budgetPerHead, (std::vector<std::int32_t>{0, 0, 12, 12, 0, 0}));
    EXPECT_EQ(std::count(record.kept.begin(), record.kept.end(), 1), 24);
    EXPECT_EQ(std::count(record.kept.begin() + 2 * kTokens, record.kept.begin() + 4 * kTokens, 1),
              24);
    ASSERT_EQ(record.outputError.size(), 6U);
    EXPECT_TRUE(std::isnan(record.outputError[1]));
    EXPECT_GT(record.outputError[2], 0);
    EXPECT_TRUE(std::isnan(record.retainedMass[5]));
    EXPECT_TRUE(std::isnan(reader.headMetric("redundancy")[0]));
    EXPECT_TRUE(std::isfinite(reader.headMetric("redundancy")[3]));
}

TEST(UncachedLayers, areNoMatterOfADecodeBudget) {
    LinearToy model;
    DecodeEvictionSetup setup;
    setup.policy = policy::parsePolicy("ecokv:budget=12");
    setup.shape = shapeOf(model.info());
    setup.every = 1;
    DecodeEvictor evictor(setup);
    cache::KvCache cache(model.cacheShape());
    model.extend(std::vector<TokenId>(kTokens, 1), cache, &evictor, {}, {});
    std::vector<Eviction> evictions;
    evictor.makeRoom(cache, 0, evictions);
    EXPECT_EQ(cache.length(LayerId{1}, HeadId{1}), 11); // 12 with the token that comes
    EXPECT_EQ(evictions.size(), 2U * (kTokens - 11));
    for (const Eviction& eviction : evictions) {
        EXPECT_EQ(eviction.layer, 1);
    }
}

// Where no token turns, un-rotated keys are the keys: the cache's positions are asked, not the
// numbers of the tokens.
TEST(RotaryPositions, F067_decodeEvictionUnrotatesByThoseOfTheCache) {
    const auto survivors = [](policy::Geometry geometry, bool still) {
        ToyModel model;
        DecodeEvictionSetup setup;
        setup.policy = policy::parsePolicy("keydiff:budget=10,recent=1");
        setup.policy.geometry = geometry;
        setup.shape = shapeOf(model.info());
        setup.every = 1;
        setup.ropes.settings.push_back(
            {.inverseFrequencies = {1.0F, 0.3F, 0.1F, 0.03F}, .axes = {0, 1, 2, 2}});
        DecodeEvictor evictor(setup);
        cache::KvCache cache(model.cacheShape());
        model.extend(std::vector<TokenId>(kTokens, 1), cache, &evictor, {}, {});
        if (still) {
            cache.setRopePositions(std::vector<cache::RopePosition>(kTokens, {0, 0, 0}));
        }
        std::vector<Eviction> evictions;
        evictor.makeRoom(cache, 0, evictions);
        const auto kept = cache.positions(LayerId{2}, HeadId{1});
        return std::vector<std::int64_t>(kept.begin(), kept.end());
    };
    const auto post = survivors(policy::Geometry::Post, false);
    EXPECT_EQ(survivors(policy::Geometry::Pre, true), post);
    EXPECT_NE(survivors(policy::Geometry::Pre, false), post);
}

TEST(RotaryPositions, F067_aSavedContextGoesOnWhereItWas) {
    ToyModel model;
    const Folder folder;
    model::Prompt prompt;
    prompt.tokenIds.assign(11, 1);
    cache::KvCache cache(model.cacheShape());
    model.extend(prompt.tokenIds, cache, nullptr, {}, {});
    cache.setRopePositions(std::vector<cache::RopePosition>{{0, 0, 0},
                                                            {1, 1, 1},
                                                            {2, 2, 2},
                                                            {3, 3, 3},
                                                            {3, 3, 4},
                                                            {3, 3, 5},
                                                            {3, 4, 3},
                                                            {3, 4, 4},
                                                            {3, 4, 5},
                                                            {6, 6, 6},
                                                            {7, 7, 7}});
    ASSERT_EQ(cache.positionShift(), -3);
    QueryWindows windows;
    for (int layer = 0; layer < ToyModel::kLayers; ++layer) {
        windows.emplace_back(1);
    }
    const auto policy = policy::resolve(policy::parsePolicy("full"), 11, shapeOf(model.info()));
    saveContext(folder / "a.h5", contextRecord(model, prompt, policy, cache), cache, windows);
    const SavedContext context = loadContext(folder / "a.h5", model);
    EXPECT_EQ(context.cache.positionShift(), -3);
    EXPECT_EQ(context.cache.ropePosition(8), (cache::RopePosition{3, 4, 5}));
    EXPECT_EQ(context.cache.ropePosition(11), (cache::RopePosition{8, 8, 8}));
}

} // namespace ecokv::session

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The demo model, opened once for a suite, with a cache per test and an observer that notes what it
// is given.

#include "model/model.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace ecokv::model {

inline const std::string kModel = ECOKV_SOURCE_DIR "/resources/demo-model";
inline const std::string kPicture = ECOKV_SOURCE_DIR "/resources/demo-documents/one-line.png";
constexpr int kLayers = 6;
constexpr int kKvHeads = 4;

class ModelRun : public ::testing::Test {
protected:
    static void SetUpTestSuite() { s_model = Model::open(kModel, {}).release(); }
    static void TearDownTestSuite() { delete std::exchange(s_model, nullptr); }

    static Prompt words(std::int64_t count) {
        Prompt prompt;
        for (std::int64_t i = 0; i < count; ++i) {
            prompt.tokenIds.push_back(static_cast<TokenId>(i * 37 % 256));
            prompt.tokenKind.push_back(TokenKind::Text);
            prompt.imageIndex.push_back(-1);
        }
        return prompt;
    }

    static Prompt withPicture() { return s_model->prepare({"ABC?", {kPicture}}); }

    cache::KvCache m_cache{s_model->cacheShape()};
    static inline Model* s_model = nullptr;
};

struct LayerCall {
    int layer;
    std::string keys, values, queries;
    std::vector<std::int64_t> positions, windowPositions;
    std::int64_t cached; ///< rows of head 0 when the observer was called
};

class Watcher final : public LayerObserver {
public:
    Watcher(cache::KvCache& cache, std::int64_t window) : m_cache(cache), m_window(window) {}

    std::int64_t windowRows(LayerId) const override { return m_window; }

    void layerPrefilled(const LayerTensors& t) override {
        calls.push_back({t.layer.value,
                         t.keys.describe(),
                         t.values.describe(),
                         t.windowQueries.describe(),
                         {t.positions.begin(), t.positions.end()},
                         {t.windowPositions.begin(), t.windowPositions.end()},
                         m_cache.length(t.layer, HeadId{0})});
        if (keep > 0) {
            std::vector<std::int32_t> rows;
            for (std::int32_t row = 0; row < keep; ++row) {
                rows.push_back(row);
            }
            m_cache.apply({t.layer, {kKvHeads, rows}, true});
        }
    }

    std::vector<LayerCall> calls;
    std::int32_t keep = 0; ///< evict all but the first rows, 0 = none

private:
    cache::KvCache& m_cache;
    std::int64_t m_window;
};

} // namespace ecokv::model

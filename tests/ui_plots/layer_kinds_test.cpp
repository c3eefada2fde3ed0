// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of layers that are not evicted, have no cache, or hold what is not finite.
#include "ui/plots/figure_export.h"
#include "ui_plots/builders_of_sample.h"

#include <cmath>
#include <limits>

namespace ecokv::ui {

using analysis::SurvivalMode;

TEST_F(BuildersOfSample, layersWithoutACacheAreNamedAsSuch) {
    auto document = std::make_shared<analysis::TraceDocument>(*m_document);
    document->model->linearLayers = {0, 1, 0, 0};
    m_document = document;
    const auto figure = headMapFigure(m_document, {"kept_budget", "1", {}, {}});
    EXPECT_TRUE(std::isnan(figure->value({1, 0})));
    EXPECT_EQ(figure->value({2, 0}), 9);
    EXPECT_EQ(figure->describe({1, 1}),
              QStringLiteral("layer 1, head 1: no KV cache (linear attention)"));
    EXPECT_FALSE(figure->describe({2, 1}).contains(QStringLiteral("no KV cache")));
    const auto survival = survivalFigure(input({"0", SurvivalMode::Head, 1, 0}), 0);
    EXPECT_TRUE(survival->data().patches.empty()) << "nothing was evicted";
    EXPECT_EQ(survival->data().subtitle,
              QStringLiteral("layer 1, head 0 · no KV cache (linear attention)"));
}

TEST_F(BuildersOfSample, layersWithoutACacheShowASentenceAndNoData) {
    auto document = std::make_shared<analysis::TraceDocument>(*m_document);
    document->model->linearLayers = {0, 1, 0, 0};
    m_document = document;
    const QString sentence =
        QStringLiteral("Layer 1 has no KV cache (linear attention): it keeps and evicts no token.");
    const auto scatter = scatterFigure(
        m_document,
        analysis::headScatter(*m_document, "0", 1, 0, analysis::DiversityKind::Composite), true);
    EXPECT_EQ(scatter->data().instead, sentence);
    EXPECT_TRUE(scatter->data().marks.empty());
    EXPECT_TRUE(scatter->data().subtitle.isEmpty()); // no statistics of nothing
    const auto tokens = tokenTextFigure(input({"0", SurvivalMode::Head, 1, 0}));
    EXPECT_EQ(tokens->data().instead, sentence);
    EXPECT_TRUE(tokens->data().tokens.empty());
    const auto count = survivalFigure(input({"0", SurvivalMode::Count, 1, 0}), 0);
    EXPECT_EQ(count->data().instead, sentence);
    EXPECT_FALSE(count->data().isCount); // no colour bar
    for (const FigurePtr& figure : {FigurePtr(scatter), FigurePtr(tokens), FigurePtr(count)}) {
        EXPECT_TRUE(renderSvg(*figure, {}).contains(sentence.toUtf8()))
            << figure->title().toStdString();
    }
    // In a narrow pane the sentence takes several lines instead of being cut.
    const double line = tokens->preferredHeight(1000, Theme::light());
    EXPECT_GT(tokens->preferredHeight(200, Theme::light()), line + 20);
    const auto full = tokenTextFigure(input({"0", SurvivalMode::Head, 2, 0}));
    EXPECT_TRUE(full->data().instead.isEmpty());
    document = std::make_shared<analysis::TraceDocument>(*m_document);
    document->model->linearLayers = {1, 1, 1, 1};
    m_document = document;
    EXPECT_TRUE(tokenTextFigure(input({"0", SurvivalMode::Union, -1, 0}))
                    ->data()
                    .instead.startsWith(QStringLiteral("No layer has a KV cache")));
}

TEST_F(BuildersOfSample, slidingLayersAreSaidNotToBeEvicted) { // field case F034
    auto document = std::make_shared<analysis::TraceDocument>(*m_document);
    document->model->slidingWindows = {0, 8, 0, 0};
    m_document = document;
    const QString note = QStringLiteral(" · sliding window of 8 tokens, not evicted");
    const auto subtitleOf = [&](std::int64_t layer) {
        return scatterFigure(m_document,
                             analysis::headScatter(*m_document, "0", layer, 0,
                                                   analysis::DiversityKind::Composite),
                             true)
            ->data()
            .subtitle;
    };
    EXPECT_TRUE(subtitleOf(1).endsWith(note)) << subtitleOf(1).toStdString();
    EXPECT_FALSE(subtitleOf(2).contains(QStringLiteral("sliding")));
    EXPECT_EQ(tokenTextFigure(input({"0", SurvivalMode::Head, 1, 1}))->data().subtitle,
              QStringLiteral("layer 1, head 1") + note);
    EXPECT_EQ(survivalFigure(input({"0", SurvivalMode::Union, 1, 0}), 0)->data().subtitle,
              QStringLiteral("layer 1, kept by any head") + note);
}

TEST_F(BuildersOfSample, layersThatAreNotFiniteAreNamedAsSuch) {
    auto document = std::make_shared<analysis::TraceDocument>(*m_document);
    document->notFinite = {1};
    for (auto& [name, values] : document->headMetrics) {
        values[2] = values[3] = std::numeric_limits<float>::quiet_NaN();
    }
    m_document = document;
    const auto figure = headMapFigure(m_document, {"redundancy", "", {}, {}});
    EXPECT_TRUE(figure->describe({1, 1}).endsWith(QStringLiteral("not finite (NaN or Inf)")));
    EXPECT_TRUE(renderSvg(*figure, {}).contains("not finite (NaN or Inf)"));
    EXPECT_FALSE(figure->describe({2, 1}).contains(QStringLiteral("not finite")));
}

// F034: what a policy kept is summed up over the layers it could evict.
TEST_F(BuildersOfSample, slidingLayersAreShownButNotSummedUp) {
    auto document = std::make_shared<analysis::TraceDocument>(*m_document);
    document->model->slidingWindows = {0, 64, 64, 64};
    auto& kept = document->policies[1].record.budgetPerHead;
    kept = {4, 8, 30, 30, 30, 30, 30, 30};
    m_document = document;
    const auto figure = headMapFigure(m_document, {"kept_budget", "1", {}, {}});
    EXPECT_EQ(figure->value({1, 0}), 30);
    EXPECT_EQ(figure->summary(), QStringLiteral("2 heads · lowest 4 · highest 8 · mean 6 · sliding "
                                                "layers left out: 3"));
    EXPECT_EQ(figure->headMeans(), (std::vector<float>{4, 8}));
    EXPECT_TRUE(headMapFigure(m_document, {"redundancy", "", {}, {}})
                    ->summary()
                    .startsWith(QStringLiteral("8 heads")));
    EXPECT_EQ(survivalFigure(input({"0", SurvivalMode::Count, -1, 0}), 0)->data().subtitle,
              QStringLiteral("all layers, share of heads · sliding layers left out: 3"));
    EXPECT_EQ(survivalFigure(input({"0", SurvivalMode::Count, 1, 0}), 0)->data().subtitle,
              QStringLiteral("layer 1, share of heads · sliding window of 64 tokens, not evicted"));
}

} // namespace ecokv::ui

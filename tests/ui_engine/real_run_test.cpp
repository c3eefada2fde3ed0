// SPDX-License-Identifier: GPL-3.0-or-later
#include "engine_desktop.h"

#include "ui/pages/heads_page.h"
#include "ui/pages/survival_page.h"
#include "ui/plots/head_map_plot.h"
#include "ui/plots/scatter_plot.h"
#include "ui/plots/survival_image.h"

#include <algorithm>
#include <cmath>

namespace ecokv::ui::test {

namespace {

/// What the model folder says of the demo model.
struct DemoModel {
    explicit DemoModel(const QString& resources) {
        const QJsonObject config = readJson(resources + u"/demo-model/config.json"_qs);
        const QJsonObject text = config[u"text_config"].toObject();
        layers = text[u"num_hidden_layers"].toInt();
        kvHeads = text[u"num_key_value_heads"].toInt();
        patches = config[u"image_seq_length"].toInt();
    }
    int layers = 0, kvHeads = 0, patches = 0;
};

/// The figure a plot shows, null while it shows none.
template <class Wanted> const Wanted* figureOf(const FigureWidget* plot) {
    return plot != nullptr ? dynamic_cast<const Wanted*>(plot->figure().get()) : nullptr;
}

} // namespace

TEST_F(EngineDesktopTest, theFirstClickOnRunReadsThePageRight) {
    runToTheEnd();
    const QString right = rightAnswer();
    ASSERT_FALSE(right.isEmpty());
    EXPECT_EQ(m_window->answersPage()->fullAnswer(), right);
    EXPECT_EQ(m_window->answersPage()->policyAnswer(), right);
    EXPECT_TRUE(m_bench->state()->document()->complete);
    EXPECT_LT(m_clock.longestGapMs(), kLongestGapMs);
}

TEST_F(EngineDesktopTest, aRealRunFillsHeadsHeadAndSurvival) {
    const DemoModel model(m_resources);
    runToTheEnd();

    m_window->showPage(MainWindow::HeadsPageIndex);
    const auto* map = m_window->findChild<HeadMapPlot*>();
    ASSERT_TRUE(waitFor([&] { return figureOf<HeadMapFigure>(map) != nullptr; }));
    const HeadMapData& cells = figureOf<HeadMapFigure>(map)->data();
    EXPECT_EQ(cells.layers, model.layers);
    EXPECT_EQ(cells.kvHeads, model.kvHeads);
    EXPECT_EQ(std::ranges::count_if(cells.values, [](float v) { return std::isfinite(v); }),
              model.layers * model.kvHeads);

    m_window->showPage(MainWindow::HeadPageIndex);
    const auto* scatter = m_window->findChild<ScatterPlot*>();
    ASSERT_TRUE(waitFor([&] { return figureOf<ScatterFigure>(scatter) != nullptr; }));
    const auto& marks = figureOf<ScatterFigure>(scatter)->data().marks;
    const auto isPatch = [](const ScatterMark& m) { return m.kind == TokenKind::Image; };
    EXPECT_EQ(std::ranges::count_if(marks, isPatch), model.patches);

    m_window->showPage(MainWindow::SurvivalPageIndex);
    const auto* picture = m_window->findChild<SurvivalImage*>();
    ASSERT_TRUE(waitFor([&] { return figureOf<SurvivalFigure>(picture) != nullptr; }));
    const auto& patches = figureOf<SurvivalFigure>(picture)->data().patches;
    ASSERT_EQ(static_cast<int>(patches.size()), model.patches);
    const auto survivors =
        std::ranges::count_if(patches, [](const SurvivalPatch& p) { return p.share > 0; });
    EXPECT_GT(survivors, 0);
    EXPECT_LT(survivors, model.patches);
    // Both pages show the first head: they must agree on what it kept.
    EXPECT_EQ(
        std::ranges::count_if(marks, [&](const ScatterMark& m) { return m.kept && isPatch(m); }),
        survivors);
    EXPECT_LT(m_clock.longestGapMs(), kLongestGapMs);
}

TEST_F(EngineDesktopTest, aRandomHandfulOfTokensAnswersWrong) {
    runToTheEnd();
    session::RunConfig config = m_window->runPanel()->config();
    config.policy.scorer = "random";
    config.policy.budget = 16;
    m_window->runPanel()->setConfig(config);
    runToTheEnd();
    EXPECT_EQ(m_window->answersPage()->fullAnswer(), rightAnswer());
    EXPECT_FALSE(m_window->answersPage()->policyAnswer().isEmpty());
    EXPECT_NE(m_window->answersPage()->policyAnswer(), rightAnswer());
    ASSERT_NE(m_bench->state()->policy(), nullptr);
    EXPECT_EQ(m_bench->state()->policy()->name, "random");
    EXPECT_LT(m_clock.longestGapMs(), kLongestGapMs);
}

} // namespace ecokv::ui::test

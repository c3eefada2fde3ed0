// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of the sample trace, against the formulas it was written from.
#include "base/error.h"
#include "ui/plots/figure_export.h"
#include "ui_plots/builders_of_sample.h"

#include <algorithm>
#include <cmath>

namespace ecokv::ui {

using analysis::SurvivalMode;

TEST_F(BuildersOfSample, listMetricsOfHeadsBeforeThoseOfPolicies) {
    std::vector<std::string> names;
    for (const HeadMetric& metric : headMetrics(*m_document)) {
        names.push_back(metric.name + metric.policyId);
        EXPECT_FALSE(metric.label.isEmpty());
        EXPECT_TRUE(metric.description.endsWith(QLatin1Char('.'))) << metric.name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{
                         "redundancy", "redundancy_cosine", "redundancy_euclid", "anisotropy",
                         "participation_ratio", "mean_key_norm", "kept_budget0", "output_error0",
                         "retained_mass0", "kept_budget1", "output_error1", "retained_mass1"}));
}

TEST_F(BuildersOfSample, metricsOfImageTextAndUnrotatedKeysHaveReadableNames) {
    auto document = std::make_shared<analysis::TraceDocument>(*m_document);
    const std::vector<float> values(8, 0.5F);
    document->headMetrics.emplace_back("anisotropy_pre_image", values);
    document->headMetrics.emplace_back("participation_ratio_text", values);
    document->headMetrics.emplace_back("beauty_pre", values);
    const auto metrics = headMetrics(*document);
    ASSERT_EQ(metrics.size(), 15U);
    EXPECT_EQ(metrics[12].label, QStringLiteral("Anisotropy · RoPE undone · image tokens"));
    EXPECT_TRUE(metrics[12].description.contains(QStringLiteral("image tokens alone")));
    EXPECT_TRUE(metrics[12].description.contains(QStringLiteral("before their rotation")));
    EXPECT_EQ(metrics[13].label, QStringLiteral("Participation ratio · text tokens"));
    EXPECT_EQ(metrics[14].label, QStringLiteral("beauty_pre")); // nobody told us of that one
    const auto figure = headMapFigure(document, metrics[13]);
    EXPECT_EQ(figure->data().metricLabel, QStringLiteral("effective dimensions"));
    EXPECT_EQ(figure->data().title, QStringLiteral("Participation ratio · text tokens"));
}

TEST_F(BuildersOfSample, headMapHoldsTheMetricRowByRow) {
    const auto figure = headMapFigure(m_document, {"redundancy", {}, {}, {}});
    ASSERT_EQ(figure->data().layers, 4);
    ASSERT_EQ(figure->data().kvHeads, 2);
    for (int layer = 0; layer < 4; ++layer) {
        for (int kvHead = 0; kvHead < 2; ++kvHead) {
            EXPECT_FLOAT_EQ(figure->value({layer, kvHead}),
                            ecokv::test::sampleRedundancy(layer, kvHead));
        }
    }
    EXPECT_EQ(figure->provenance(),
              QStringLiteral(
                  "sample, prompt of 30 tokens, ecokv, budget 13, window 6 (1 of 2 policies)"));
}

TEST_F(BuildersOfSample, everyFigureNamesThePolicyItIsOf) {
    const QString streaming = QStringLiteral("streaming, budget 9, window 6");
    const auto scatter =
        analysis::headScatter(*m_document, "1", 0, 0, analysis::DiversityKind::Composite);
    const std::vector<FigurePtr> figures = {
        headMapFigure(m_document, {"kept_budget", "1", {}, {}}),
        scatterFigure(m_document, scatter, false),
        survivalFigure(input({"1", SurvivalMode::Head, 0, 0}), 0),
        tokenTextFigure(input({"1", SurvivalMode::Head, 0, 0})),
    };
    for (const FigurePtr& figure : figures) {
        EXPECT_TRUE(figure->title().contains(streaming)) << figure->title().toStdString();
        EXPECT_EQ(figure->provenance(), QStringLiteral("sample, prompt of 30 tokens, ") +
                                            streaming + QStringLiteral(" (1 of 2 policies)"));
    }
    // The trace holds the scores of the other one.
    EXPECT_TRUE(scatterFigure(m_document, scatter, false)
                    ->data()
                    .subtitle.endsWith(QStringLiteral(" · scores of ecokv, budget 13, window 6")));
    const auto own =
        analysis::headScatter(*m_document, "0", 0, 0, analysis::DiversityKind::Composite);
    EXPECT_FALSE(scatterFigure(m_document, own, false)
                     ->data()
                     .subtitle.contains(QStringLiteral("scores of")));
}

TEST_F(BuildersOfSample, csvTwinsEqualTheFigures) {
    for (const HeadMetric& metric : headMetrics(*m_document)) {
        const auto figure = headMapFigure(m_document, metric);
        const auto rows = rowsOf(figure->csv());
        ASSERT_EQ(rows.size(), 8U) << metric.name;
        for (const QStringList& row : rows) {
            EXPECT_FLOAT_EQ(row[2].toFloat(), figure->value({row[0].toInt(), row[1].toInt()}))
                << metric.name;
        }
    }
    const auto scatter =
        analysis::headScatter(*m_document, "0", 1, 1, analysis::DiversityKind::Composite);
    const auto figure = scatterFigure(m_document, scatter, true);
    const auto rows = rowsOf(figure->csv());
    ASSERT_EQ(rows.size(), figure->data().marks.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const ScatterMark& mark = figure->data().marks[i];
        EXPECT_EQ(rows[i][0].toLongLong(), mark.token);
        EXPECT_FLOAT_EQ(rows[i][3].toFloat(), mark.x);
        EXPECT_FLOAT_EQ(rows[i][4].toFloat(), mark.y);
        EXPECT_EQ(rows[i][6], QString::number(mark.kept ? 1 : 0));
    }
}

TEST_F(BuildersOfSample, policyMetricsBelongToTheirPolicy) {
    const auto figure = headMapFigure(m_document, {"kept_budget", "1", {}, {}});
    EXPECT_EQ(figure->value({3, 1}), 9); // the first 5 and the last 4
    EXPECT_TRUE(figure->title().contains(QStringLiteral("streaming")));
    EXPECT_THROW(headMapFigure(m_document, {"kept_budget", "5", {}, {}}), Error);
    EXPECT_THROW(headMapFigure(m_document, {"beauty", {}, {}, {}}), Error);
}

TEST_F(BuildersOfSample, layersThatWereNotWrittenAreNotMeasured) {
    ecokv::test::SampleOptions options;
    options.layersWritten = 2;
    const DocumentPtr partial =
        analysis::openTrace(ecokv::test::writeSampleTrace(m_folder / "b.ecokv.h5", options));
    const auto figure = headMapFigure(partial, {"redundancy", {}, {}, {}});
    EXPECT_FLOAT_EQ(figure->value({1, 1}), ecokv::test::sampleRedundancy(1, 1));
    EXPECT_TRUE(std::isnan(figure->value({2, 0})));
    EXPECT_TRUE(std::isnan(figure->value({3, 1})));
}

TEST_F(BuildersOfSample, scatterHoldsScoresAndSurvivors) {
    const auto scatter =
        analysis::headScatter(*m_document, "0", 2, 1, analysis::DiversityKind::Composite);
    const auto figure = scatterFigure(m_document, scatter, false);
    ASSERT_EQ(figure->data().marks.size(), 26U); // the last 4 are protected
    for (const ScatterMark& mark : figure->data().marks) {
        EXPECT_FLOAT_EQ(mark.x, ecokv::test::sampleImportance(2, 1, mark.token));
        EXPECT_FLOAT_EQ(mark.y, ecokv::test::sampleDiversity(2, 1, mark.token));
        EXPECT_EQ(mark.kept, ecokv::test::sampleKept("0", 2, 1, mark.token));
    }
    EXPECT_EQ(figure->data().marks[0].kind, TokenKind::Special);
    EXPECT_EQ(figure->data().marks[4].kind, TokenKind::Image);
    EXPECT_TRUE(figure->data().labels[20].contains(QStringLiteral("“w20”")));
}

TEST_F(BuildersOfSample, survivalShowsThePatchesOfTheHead) {
    const auto figure = survivalFigure(input({"0", SurvivalMode::Head, 1, 0}), 0);
    const auto& data = figure->data();
    ASSERT_EQ(data.patches.size(), 12U);
    EXPECT_EQ(data.picture.size(), QSize(24, 16));
    EXPECT_EQ(data.picture.pixelColor(7, 5), QColor(70, 75, 128));
    EXPECT_FALSE(data.isCount);
    for (const SurvivalPatch& patch : data.patches) {
        EXPECT_EQ(patch.share > 0, ecokv::test::sampleKept("0", 1, 0, patch.token));
    }
    EXPECT_EQ(data.patches[5].token, 9);
    EXPECT_NEAR(data.patches[5].box.left(), 6, 1e-5);
    EXPECT_NEAR(data.patches[5].box.top(), 16.0 / 3, 1e-5);
    EXPECT_EQ(data.subtitle, QStringLiteral("layer 1, head 0"));
}

TEST_F(BuildersOfSample, survivalCountsHeads) {
    const auto figure = survivalFigure(input({"0", SurvivalMode::Count, -1, 0}), 0);
    EXPECT_TRUE(figure->data().isCount);
    for (const SurvivalPatch& patch : figure->data().patches) {
        int kept = 0;
        for (int layer = 0; layer < 4; ++layer) {
            for (int kvHead = 0; kvHead < 2; ++kvHead) {
                kept += ecokv::test::sampleKept("0", layer, kvHead, patch.token) ? 1 : 0;
            }
        }
        EXPECT_FLOAT_EQ(patch.share, static_cast<float>(kept) / 8);
    }
}

TEST_F(BuildersOfSample, survivalRefusesAPictureThatIsNotThere) {
    EXPECT_THROW(survivalFigure(input({"0", SurvivalMode::Head, 0, 0}), 1), Error);
}

TEST_F(BuildersOfSample, thumbnailsAreDrawnOnlyWithoutTiles) {
    auto document = std::make_shared<analysis::TraceDocument>(*m_document);
    auto& role = document->prompt->patchRole;
    std::fill(role.begin() + 4, role.begin() + 8, std::uint8_t{3});
    m_document = document;
    EXPECT_EQ(survivalFigure(input({"0", SurvivalMode::Head, 0, 0}), 0)->data().patches.size(), 8U);
    std::fill(role.begin() + 4, role.begin() + 16, std::uint8_t{3});
    EXPECT_EQ(survivalFigure(input({"0", SurvivalMode::Head, 0, 0}), 0)->data().patches.size(),
              12U);
}

TEST_F(BuildersOfSample, tokensWithoutAPlaceAreCountedInTheSubtitle) {
    auto document = std::make_shared<analysis::TraceDocument>(*m_document);
    auto& role = document->prompt->patchRole;
    role[7] = role[11] = 1; // the ends of two rows
    role[15] = 2;
    document->prompt->patchBox[14].fill(std::nanf(""));
    m_document = document;
    const auto figure = survivalFigure(input({"1", SurvivalMode::Head, 0, 0}), 0);
    EXPECT_EQ(figure->data().patches.size(), 8U);
    // streaming keeps the first 5 and the last 4 tokens, none of these
    EXPECT_EQ(figure->data().subtitle,
              QStringLiteral("layer 0, head 0 · without a place: 2 row ends (0 kept), "
                             "1 separators (0 kept), 1 padding (0 kept)"));
    const auto tokens = tokenTextFigure(input({"1", SurvivalMode::Head, 0, 0}))->data().tokens;
    EXPECT_TRUE(tokens[4].text.contains(QStringLiteral("1 of 9 patches kept")));
    EXPECT_TRUE(tokens[4].text.contains(QStringLiteral("0 of 3 row ends and separators")));
    EXPECT_EQ(tokenLabel(*m_document, 8), QStringLiteral("image 1, patch 3"));
    EXPECT_EQ(tokenLabel(*m_document, 11), QStringLiteral("image 1, end of row 1"));
    EXPECT_EQ(tokenLabel(*m_document, 15), QStringLiteral("image 1, separator 0"));
}

TEST_F(BuildersOfSample, tilesAndThumbnailAreDrawnApartOrTogether) {
    auto document = std::make_shared<analysis::TraceDocument>(*m_document);
    for (std::size_t token = 12; token < 16; ++token) { // one row that sees the whole picture
        const auto column = static_cast<float>(token - 12);
        document->prompt->patchRole[token] = 3;
        document->prompt->patchBox[token] = {6 * column, 0, 6 * column + 6, 16};
    }
    m_document = document;
    SurvivalInput both = input({"0", SurvivalMode::Head, 0, 0});
    both.patches = analysis::PatchView::Both;
    const auto figure = survivalFigure(both, 0);
    EXPECT_EQ(figure->data().patches.size(), 12U);
    EXPECT_TRUE(figure->data().subtitle.endsWith(QStringLiteral(" · tiles and thumbnail")));
    double covered = 0;
    for (const SurvivalArea& area : figure->data().areas) {
        covered += area.box.width() * area.box.height();
        bool kept = false;
        for (const SurvivalPatch& patch : figure->data().patches) {
            kept = kept || (patch.share > 0 && patch.box.contains(area.box.center()));
        }
        EXPECT_EQ(area.share > 0, kept);
    }
    EXPECT_NEAR(covered, 24 * 16, 0.1);
    both.patches = analysis::PatchView::Thumbnail;
    EXPECT_EQ(survivalFigure(both, 0)->data().patches.size(), 4U);
    EXPECT_EQ(tokenLabel(*m_document, 13), QStringLiteral("image 1, thumbnail patch 1"));
    const auto tokens = tokenTextFigure(both)->data().tokens;
    EXPECT_EQ(tokens[4].runLength, 8);
    EXPECT_EQ(tokens[5].runLength, 4);
    EXPECT_TRUE(tokens[5].text.contains(QStringLiteral("thumbnail")));
}

TEST_F(BuildersOfSample, textGathersTheTokensOfAPicture) {
    const auto figure = tokenTextFigure(input({"1", SurvivalMode::Head, 0, 0}));
    const auto& tokens = figure->data().tokens;
    ASSERT_EQ(tokens.size(), 30U - 12 + 1);
    EXPECT_EQ(tokens[0].kind, TokenKind::Special);
    EXPECT_EQ(tokens[4].runLength, 12);
    EXPECT_TRUE(tokens[4].text.contains(QStringLiteral("1 of 12"))); // token 4 of the first 5
    EXPECT_FLOAT_EQ(tokens[4].share, 1.0F / 12);
    EXPECT_EQ(tokens[5].token, 16);
    EXPECT_EQ(tokens[5].share, 0);
    EXPECT_EQ(tokens.back().share, 1);
}

TEST_F(BuildersOfSample, tokensAreNamedByTextOrPatch) {
    EXPECT_EQ(tokenLabel(*m_document, 0), QStringLiteral("“<s>”"));
    EXPECT_EQ(tokenLabel(*m_document, 6), QStringLiteral("image 1, patch 2"));
    EXPECT_EQ(tokenLabel(*m_document, 300), QStringLiteral("token 300"));
}

TEST(DescribeScope, saysLayerHeadAndMode) {
    EXPECT_EQ(describeScope({"0", SurvivalMode::Head, 3, 1}), QStringLiteral("layer 3, head 1"));
    EXPECT_EQ(describeScope({"0", SurvivalMode::Union, 3, 0}),
              QStringLiteral("layer 3, kept by any head"));
    EXPECT_EQ(describeScope({"0", SurvivalMode::Intersection, -1, 0}),
              QStringLiteral("all layers, kept by every head"));
    EXPECT_EQ(describeScope({"0", SurvivalMode::Count, -1, 0}),
              QStringLiteral("all layers, share of heads"));
}

} // namespace ecokv::ui

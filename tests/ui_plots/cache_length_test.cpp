// SPDX-License-Identifier: GPL-3.0-or-later
// The line of tokens per head over an answer's steps (field case F030); places by hand.
#include "base/error.h"
#include "support/sample_trace.h"
#include "ui/plots/cache_length_plot.h"
#include "ui/plots/figure_builders.h"
#include "ui/plots/figure_export.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

namespace ecokv::ui {

using test::areaOf;
using test::drawn;

namespace {

constexpr QSize kSize(600, 300);

std::shared_ptr<const CacheLengthFigure> figureOf(std::vector<double> mean,
                                                  std::vector<double> longest,
                                                  std::optional<double> bound = std::nullopt) {
    CacheLengthData data;
    data.title = QStringLiteral("Cache while answering");
    data.mean = std::move(mean);
    data.longest = std::move(longest);
    data.bound = bound;
    for (std::size_t step = 0; step < data.mean.size(); ++step) {
        data.labels.push_back(QStringLiteral("step %1").arg(step));
    }
    return std::make_shared<CacheLengthFigure>(data, FigureSource{});
}

QRectF plotOf(const CacheLengthFigure& figure) {
    return figure.plotRect(areaOf(kSize), Theme::light());
}

QRect around(const QPointF& centre, int reach) {
    return QRect(centre.toPoint() - QPoint(reach, reach), QSize(2 * reach + 1, 2 * reach + 1));
}

} // namespace

TEST(CacheLengthFigure, startsAtZeroAndSpreadsTheStepsF030) {
    const auto figure = figureOf({10, 20, 30}, {50, 50, 50});
    const QRectF plot = plotOf(*figure);
    EXPECT_EQ(figure->position(0, 0, plot), plot.bottomLeft());
    EXPECT_DOUBLE_EQ(figure->position(2, 0, plot).x(), plot.right());
    EXPECT_DOUBLE_EQ(figure->position(1, 0, plot).x(), plot.center().x());
    // 50 is the highest value, with 8 % of room above it.
    EXPECT_NEAR(figure->position(0, 54, plot).y(), plot.top(), 1e-9);
}

TEST(CacheLengthFigure, drawsMeanLongestAndBound) {
    const auto figure = figureOf({10, 20, 30}, {30, 40, 50}, 60);
    const QRectF plot = plotOf(*figure);
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        const QImage image = drawn(*figure, kSize, theme);
        const auto inked = [&](double step, double tokens, const QColor& color) {
            return test::countNear(image, around(figure->position(step, tokens, plot), 3), color,
                                   60);
        };
        EXPECT_GT(inked(1, 20, theme.kept), 8); // the mean's dot is filled
        EXPECT_EQ(inked(1, 30, theme.kept), 0); // nothing between the lines
        EXPECT_GT(inked(1, 40, theme.text), 4); // the longest head's is a ring
        EXPECT_EQ(inked(1, 40, theme.kept), 0);
        EXPECT_GT(inked(1.3, 60, theme.mutedText), 2); // dots of the bound
    }
}

TEST(CacheLengthFigure, oneStepIsADot) {
    const auto figure = figureOf({10}, {20});
    const QRectF plot = plotOf(*figure);
    const QImage image = drawn(*figure, kSize);
    EXPECT_GT(
        test::countNear(image, around(figure->position(0, 10, plot), 3), Theme::light().kept, 60),
        8);
    EXPECT_EQ(figure->stepAt(plot.topRight(), plot), std::optional<std::size_t>(0));
}

TEST(CacheLengthFigure, findsTheNearestStep) {
    const auto figure = figureOf({10, 20, 30}, {30, 40, 50});
    const QRectF plot(100, 50, 200, 100); // steps at 100, 200 and 300
    EXPECT_EQ(figure->stepAt({149, 60}, plot), std::optional<std::size_t>(0));
    EXPECT_EQ(figure->stepAt({151, 60}, plot), std::optional<std::size_t>(1));
    EXPECT_EQ(figure->stepAt({299, 149}, plot), std::optional<std::size_t>(2));
    EXPECT_FALSE(figure->stepAt({200, 160}, plot).has_value());
    EXPECT_FALSE(figureOf({}, {})->stepAt({200, 60}, plot).has_value());
}

TEST(CacheLengthPlot, namesTheStepUnderTheCursor) {
    CacheLengthPlot plot;
    plot.resize(kSize);
    EXPECT_EQ(plot.toolTipAt({300, 150}), QString());
    plot.setFigure(figureOf({10, 20, 30}, {30, 40, 50}));
    EXPECT_EQ(plot.toolTipAt({585, 100}), QStringLiteral("step 2"));
    EXPECT_EQ(plot.toolTipAt({2, 2}), QString());
}

/// The sample's policy "0" answers "407" in 3 steps; 8 heads.
class CacheLengthOfSample : public testing::Test {
protected:
    std::shared_ptr<analysis::TraceDocument> copy() const {
        auto document = std::make_shared<analysis::TraceDocument>(
            *analysis::openTrace(ecokv::test::writeSampleTrace(m_folder / "a.ecokv.h5")));
        auto& lengths = document->policies[0].decode->keptLength;
        for (int step = 0; step < 3; ++step) {
            for (int head = 0; head < 8; ++head) {
                lengths.push_back(10 * head + step);
            }
        }
        return document;
    }

    ecokv::test::TemporaryFolder m_folder;
};

TEST_F(CacheLengthOfSample, figureHoldsMeanAndLongestOfEveryStep) {
    const auto figure = cacheLengthFigure(copy(), "0");
    EXPECT_EQ(figure->data().mean, (std::vector<double>{35, 36, 37})); // (0 + 10 + ... + 70) / 8
    EXPECT_EQ(figure->data().longest, (std::vector<double>{70, 71, 72}));
    EXPECT_FALSE(figure->data().bound.has_value());
    EXPECT_EQ(figure->data().labels[1],
              QStringLiteral("step 1: “0”\n36 tokens per head, 71 in the longest"));
    EXPECT_TRUE(figure->csv().contains(QStringLiteral("\n2,7,37,72\n")))
        << figure->csv().toStdString();
}

TEST_F(CacheLengthOfSample, figureShowsTheBoundAndNamesTheRule) {
    const auto document = copy();
    document->run.emplace();
    document->run->attributes["decode_eviction"] = std::string("prefill-only");
    EXPECT_EQ(cacheLengthFigure(document, "0")->data().subtitle, QStringLiteral("prefill-only"));
    document->run->attributes["decode_eviction"] = std::string("every 4 tokens to 13");
    document->model->slidingWindows = {0, 0, 0, 64};
    const auto figure = cacheLengthFigure(document, "0");
    EXPECT_EQ(figure->data().bound, std::optional<double>(16)); // 13 + 4 - 1
    EXPECT_EQ(figure->data().subtitle,
              QStringLiteral(
                  "evicted every 4 tokens to 13 per head on average · sliding layers left out: 1"));
    EXPECT_EQ(figure->data().longest[0], 50); // head 5 is the last of layer 2
}

TEST_F(CacheLengthOfSample, refusesWhatWasNotRecorded) {
    const auto document = copy();
    EXPECT_TRUE(hasCacheLengths(*document, "0"));
    EXPECT_FALSE(hasCacheLengths(*document, "1"));
    EXPECT_FALSE(hasCacheLengths(*document, "9"));
    EXPECT_THROW(cacheLengthFigure(document, "1"), Error);
    EXPECT_THROW(cacheLengthFigure(document, "9"), Error);
}

} // namespace ecokv::ui

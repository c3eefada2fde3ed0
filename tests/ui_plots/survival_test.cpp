// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "ui/plots/color_maps.h"
#include "ui/plots/figure_export.h"
#include "ui/plots/survival_image.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

#include <QSignalSpy>
#include <QTest>

#include <cmath>

namespace ecokv::ui {

using test::areaOf;
using test::drawn;

namespace {

/// A picture whose every pixel tells its place.
QImage gradient(int width, int height) {
    QImage image(width, height, QImage::Format_RGB888);
    for (int y = 0; y < height; ++y) {
        for (int x = 0; x < width; ++x) {
            image.setPixelColor(x, y, QColor(120 + x % 100, 130 + y % 100, 200));
        }
    }
    return image;
}

QImage plain(int width, int height, const QColor& color) {
    QImage image(width, height, QImage::Format_RGB888);
    image.fill(color);
    return image;
}

/// `columns` x `rows` patches over the picture; token 10 is the first.
SurvivalData gridOf(const QImage& picture, int columns, int rows, std::vector<float> shares) {
    SurvivalData data;
    data.title = QStringLiteral("ecokv, budget 48");
    data.picture = picture;
    const double width = static_cast<double>(picture.width()) / columns;
    const double height = static_cast<double>(picture.height()) / rows;
    for (int i = 0; i < columns * rows; ++i) {
        data.patches.push_back({10 + i,
                                QRectF(i % columns * width, i / columns * height, width, height),
                                shares[static_cast<std::size_t>(i)]});
    }
    return data;
}

/// The picture with its patches, pixel for pixel.
QImage pictureOf(const SurvivalFigure& figure, const Theme& theme = Theme::light()) {
    QImage image(figure.data().picture.size(), QImage::Format_RGB32);
    image.fill(Qt::black);
    QPainter painter(&image);
    figure.paintPicture(painter, areaOf(image.size()), theme);
    return image;
}

constexpr int kInset = 3; ///< away from outlines

} // namespace

TEST(ImageFromPixels, copiesRowByRow) { // F063: rows of 15 bytes, QImage pads them to 16
    std::vector<std::uint8_t> pixels;
    for (int i = 0; i < 5 * 3 * 3; ++i) {
        pixels.push_back(static_cast<std::uint8_t>(i));
    }
    const QImage image = imageFromPixels(pixels, 5, 3);
    ASSERT_EQ(image.size(), QSize(5, 3));
    EXPECT_NE(image.bytesPerLine(), 15);
    for (int y = 0; y < 3; ++y) {
        for (int x = 0; x < 5; ++x) {
            const int first = (y * 5 + x) * 3;
            EXPECT_EQ(image.pixelColor(x, y), QColor(first, first + 1, first + 2));
        }
    }
}

TEST(ImageFromPixels, refusesSizesThatDoNotFit) {
    const std::vector<std::uint8_t> pixels(12);
    EXPECT_THROW(imageFromPixels(pixels, 5, 3), Error);
    EXPECT_THROW(imageFromPixels({}, 0, 0), Error);
}

TEST(Survival, keptPatchesShowTheirPixelsAndEvictedOnesAreDarker) {
    const QImage picture = gradient(120, 60); // not square
    const SurvivalFigure figure(gridOf(picture, 4, 2, {1, 0, 0, 1, 0, 0, 1, 0}), {});
    for (const Theme& theme : {Theme::light(), Theme::night()}) {
        const QImage image = pictureOf(figure, theme);
        for (const SurvivalPatch& patch : figure.data().patches) {
            const QRect inner = patch.box.toRect().adjusted(kInset, kInset, -kInset, -kInset);
            if (patch.share > 0) {
                EXPECT_EQ(image.copy(inner), picture.copy(inner).convertToFormat(image.format()))
                    << patch.token;
            } else {
                EXPECT_LT(test::meanBrightness(image, inner),
                          0.65 * test::meanBrightness(picture, inner))
                    << patch.token;
            }
        }
    }
}

TEST(Survival, evictedPatchesAreHatchedAndKeptOnesAreNot) { // never hue or brightness alone
    const SurvivalFigure figure(gridOf(plain(80, 40, Qt::white), 2, 1, {1, 0}), {});
    const QImage image = pictureOf(figure);
    EXPECT_EQ(test::colorsIn(image, QRect(4, 4, 32, 32)).size(), 1U);
    EXPECT_GE(test::colorsIn(image, QRect(44, 4, 32, 32)).size(), 2U); // veil and lines
}

TEST(Survival, keptPatchesHaveAnOutline) {
    const SurvivalFigure figure(gridOf(plain(80, 40, Qt::white), 2, 1, {1, 0}), {});
    const QImage image = pictureOf(figure);
    EXPECT_GE(test::countNear(image, QRect(0, 0, 41, 40), Theme::light().kept, 2), 36);
}

TEST(Survival, countColoursPaperExactlyAsTheColourBarSays) {
    auto data = gridOf(plain(80, 40, Qt::white), 4, 1, {0, 0.25F, 0.5F, 1});
    data.isCount = true;
    const QImage image = pictureOf(SurvivalFigure(data, {}));
    EXPECT_EQ(image.pixelColor(30, 20), colorAt(ColorMap::Viridis, 0.25));
    EXPECT_EQ(image.pixelColor(50, 20), colorAt(ColorMap::Viridis, 0.5));
    EXPECT_EQ(image.pixelColor(70, 20), colorAt(ColorMap::Viridis, 1));
    EXPECT_GE(test::colorsIn(image, QRect(3, 3, 14, 34)).size(), 2U); // evicted: hatched
}

TEST(Survival, countKeepsInkReadableOnLightAndDarkPaper) {
    const struct {
        QColor paper, ink;
    } cases[] = {{Qt::white, Qt::black}, {QColor(20, 20, 30), QColor(200, 200, 190)}};
    for (const auto& colors : cases) {
        QImage picture = plain(40, 40, colors.paper);
        picture.setPixelColor(20, 20, colors.ink);
        for (const float share : {0.05F, 1.0F}) { // a dark and a bright colour
            auto data = gridOf(picture, 1, 1, {share});
            data.isCount = true;
            const QImage image = pictureOf(SurvivalFigure(data, {}));
            EXPECT_EQ(image.pixelColor(10, 10), colorAt(ColorMap::Viridis, share));
            EXPECT_GT(std::abs(test::brightness(image.pixelColor(20, 20)) -
                               test::brightness(image.pixelColor(10, 10))),
                      90);
        }
    }
}

TEST(Survival, wantsTheHeightThatFitsThePicture) {
    const SurvivalFigure wide(gridOf(gradient(300, 100), 1, 1, {1}), {});
    const Theme theme = Theme::light();
    const double height = wide.preferredHeight(600, theme);
    EXPECT_NEAR(wide.pictureRect(QRectF(0, 0, 600, height), theme).width(), 600, 1);
    EXPECT_LT(height, 300);
    ExportOptions options;
    options.width = 640;
    options.scale = 1;
    EXPECT_LT(renderImage(wide, options).height(), 360);
    options.height = 700; // asked for: taken
    EXPECT_EQ(renderImage(wide, options).height(), 700);
}

TEST(Survival, picturesKeepTheirProportions) {
    const Theme theme = Theme::light();
    for (const QSize size : {QSize(300, 100), QSize(100, 300), QSize(17, 16)}) {
        const SurvivalFigure figure(gridOf(gradient(size.width(), size.height()), 1, 1, {1}), {});
        const QRectF rect = figure.pictureRect(QRectF(0, 0, 800, 600), theme);
        EXPECT_NEAR(rect.width() / rect.height(), 1.0 * size.width() / size.height(), 0.01);
        EXPECT_TRUE(QRectF(0, 0, 800, 600).contains(rect));
    }
}

TEST(Survival, findsPatchesInSourcePixels) {
    const SurvivalFigure figure(gridOf(gradient(120, 60), 4, 2, std::vector<float>(8, 1)), {});
    EXPECT_EQ(figure.patchAt({0, 0}), 0U);
    EXPECT_EQ(figure.patchAt({119.9, 59.9}), 7U);
    EXPECT_EQ(figure.patchAt({30, 30}), 5U); // an edge belongs to the patch right of and below it
    EXPECT_FALSE(figure.patchAt({-1, 5}));
    EXPECT_FALSE(figure.patchAt({120, 5}));
}

TEST(Survival, paddingOutsideThePictureIsCut) {
    SurvivalData data = gridOf(gradient(60, 30), 1, 1, {0});
    data.patches[0].box = QRectF(0, -15, 60, 60); // a wide picture padded to a square
    const SurvivalFigure figure(data, {});
    EXPECT_EQ(figure.data().patches[0].box, QRectF(0, 0, 60, 30));
    EXPECT_NO_THROW(pictureOf(figure));
}

TEST(Survival, whatTheProcessorCroppedIsDimmedButNotHatched) {
    SurvivalData data = gridOf(plain(120, 40, Qt::white), 1, 1, {1});
    data.patches[0].box = QRectF(40, 0, 40, 40); // the middle square
    const SurvivalFigure figure(data, {});
    const QImage image = pictureOf(figure);
    EXPECT_EQ(test::colorsIn(image, QRect(3, 3, 30, 30)).size(), 1U);
    EXPECT_LT(test::brightness(image.pixelColor(10, 10)), 160);
    EXPECT_EQ(image.pixelColor(60, 20), QColor(Qt::white));
    EXPECT_TRUE(renderSvg(figure, {}).contains("not seen by the model"));
}

TEST(Survival, legendCountsPatches) {
    const SurvivalFigure figure(gridOf(gradient(40, 40), 2, 2, {1, 0, 0, 0}), {});
    const QByteArray svg = renderSvg(figure, {});
    EXPECT_TRUE(svg.contains("kept: 1 of 4 patches"));
    EXPECT_TRUE(svg.contains("evicted: 3"));
    EXPECT_FALSE(svg.contains("not seen"));
}

TEST(Survival, largePhotosShrinkWithoutAliasing) {
    // One-pixel stripes, shown at an eighth: grey, whatever the phase.
    QImage stripes = plain(4096, 2048, Qt::white);
    for (int x = 0; x < stripes.width(); x += 2) {
        for (int y = 0; y < stripes.height(); ++y) {
            stripes.setPixelColor(x, y, Qt::black);
        }
    }
    const SurvivalFigure figure(gridOf(stripes, 1, 1, {1}), {});
    QImage image(512, 256, QImage::Format_RGB32);
    QPainter painter(&image);
    figure.paintPicture(painter, QRectF(0, 0, 512, 256), Theme::light());
    painter.end();
    EXPECT_NEAR(image.pixelColor(200, 100).red(), 127, 3);
    EXPECT_NEAR(image.pixelColor(201, 101).red(), 127, 3);
}

namespace {

/// Two tiles of 60 x 60 with one patch each, and a thumbnail of one patch over both.
SurvivalData withThumbnail(const std::vector<float>& shares) {
    SurvivalData data = gridOf(plain(120, 60, QColor(200, 200, 200)), 2, 1, shares);
    data.patches.push_back({30, QRectF(0, 0, 120, 60), shares[2]});
    data.areas = {{QRectF(0, 0, 60, 60), std::max(shares[0], shares[2])},
                  {QRectF(60, 0, 60, 60), std::max(shares[1], shares[2])}};
    return data;
}

} // namespace

TEST(SurvivalFigure, overlappingPatchesAreVeiledOnceAndOnlyWhereNoneIsKept) {
    const QImage nothing = pictureOf(SurvivalFigure(withThumbnail({0, 0, 0}), {}));
    const QImage tiles =
        pictureOf(SurvivalFigure(gridOf(plain(120, 60, QColor(200, 200, 200)), 2, 1, {0, 0}), {}));
    EXPECT_EQ(nothing.copy(5, 5, 50, 50), tiles.copy(5, 5, 50, 50)); // not twice as dark
    const QImage left = pictureOf(SurvivalFigure(withThumbnail({1, 0, 0}), {}));
    EXPECT_EQ(left.pixelColor(20, 30), QColor(200, 200, 200));
    EXPECT_EQ(left.copy(65, 5, 50, 50), nothing.copy(65, 5, 50, 50));
    const QImage whole = pictureOf(SurvivalFigure(withThumbnail({0, 0, 1}), {}));
    EXPECT_EQ(whole.pixelColor(20, 30), QColor(200, 200, 200));
    EXPECT_EQ(whole.pixelColor(90, 30), QColor(200, 200, 200));
}

TEST(SurvivalFigure, theSmallestPatchUnderAPointIsNamed) {
    const SurvivalFigure figure(withThumbnail({0, 1, 1}), {});
    ASSERT_TRUE(figure.patchAt({90, 30}));
    EXPECT_EQ(figure.data().patches[*figure.patchAt({90, 30})].token, 11);
    SurvivalData thumbnailFirst = withThumbnail({0, 1, 1});
    std::swap(thumbnailFirst.patches.front(), thumbnailFirst.patches.back());
    const SurvivalFigure other(std::move(thumbnailFirst), {});
    EXPECT_EQ(other.data().patches[*other.patchAt({30, 30})].token, 10);
}

class SurvivalWidget : public testing::Test {
protected:
    SurvivalWidget() {
        m_widget.resize(400, 300);
        m_widget.setFigure(m_figure);
    }
    /// Screen position of a place in the picture while nothing is zoomed.
    QPointF onScreen(const QPointF& source) const {
        const QRectF area = QRectF(0, 0, 400, 300).adjusted(12, 10, -12, -10);
        const QRectF rect = m_figure->pictureRect(area, m_widget.theme());
        return {rect.left() + source.x() / 120 * rect.width(),
                rect.top() + source.y() / 60 * rect.height()};
    }

    std::shared_ptr<const SurvivalFigure> m_figure = std::make_shared<SurvivalFigure>(
        gridOf(gradient(120, 60), 4, 2, {1, 0, 0, 1, 0, 0, 1, 0}), FigureSource{});
    SurvivalImage m_widget;
};

TEST_F(SurvivalWidget, hoverNamesTheTokenOfThePatch) {
    QSignalSpy hovered(&m_widget, &SurvivalImage::tokenHovered);
    test::moveMouse(m_widget, onScreen({45, 15}));
    test::moveMouse(m_widget, onScreen({50, 20})); // same patch: nothing new
    test::moveMouse(m_widget, onScreen({105, 45}));
    test::moveMouse(m_widget, {2, 2});
    ASSERT_EQ(hovered.size(), 3);
    EXPECT_EQ(hovered[0][0].toLongLong(), 11);
    EXPECT_EQ(hovered[1][0].toLongLong(), 17);
    EXPECT_EQ(hovered[2][0].toLongLong(), -1);
}

TEST_F(SurvivalWidget, clickSelectsAndDragDoesNot) {
    QSignalSpy selected(&m_widget, &SurvivalImage::tokenSelected);
    QTest::mouseClick(&m_widget, Qt::LeftButton, {}, onScreen({15, 45}).toPoint());
    ASSERT_EQ(selected.size(), 1);
    EXPECT_EQ(selected[0][0].toLongLong(), 14);
    QTest::mousePress(&m_widget, Qt::LeftButton, {}, onScreen({15, 45}).toPoint());
    test::moveMouse(m_widget, onScreen({60, 30}), Qt::LeftButton);
    QTest::mouseRelease(&m_widget, Qt::LeftButton, {}, onScreen({60, 30}).toPoint());
    EXPECT_EQ(selected.size(), 1);
}

TEST_F(SurvivalWidget, zoomKeepsWhatIsUnderTheCursor) {
    QSignalSpy hovered(&m_widget, &SurvivalImage::tokenHovered);
    const QPointF at = onScreen({70, 22});
    test::moveMouse(m_widget, at);
    test::turnWheel(m_widget, at, 8);
    test::moveMouse(m_widget, at + QPointF(1, 0));
    ASSERT_EQ(hovered.size(), 1); // still the same patch
    EXPECT_EQ(hovered[0][0].toLongLong(), 12);
    test::moveMouse(m_widget, at + QPointF(30, 0)); // 30 pixels are few patches now
    EXPECT_EQ(hovered.size(), 1);
    QTest::keyClick(&m_widget, Qt::Key_0);
    test::moveMouse(m_widget, onScreen({105, 45}));
    EXPECT_EQ(hovered.back()[0].toLongLong(), 17);
}

TEST_F(SurvivalWidget, zoomStaysForTheNextHeadAndGoesForAnotherPicture) {
    test::turnWheel(m_widget, onScreen({60, 30}), 4);
    const QImage zoomed = m_widget.grab().toImage();
    m_widget.setFigure(std::make_shared<SurvivalFigure>(m_figure->data(), FigureSource{}));
    EXPECT_EQ(m_widget.grab().toImage(), zoomed);
    m_widget.setFigure(
        std::make_shared<SurvivalFigure>(gridOf(gradient(60, 60), 1, 1, {1}), FigureSource{}));
    QSignalSpy hovered(&m_widget, &SurvivalImage::tokenHovered);
    test::moveMouse(m_widget, {14, 150}); // left of the fitted square picture
    EXPECT_EQ(hovered.size(), 0);
}

TEST_F(SurvivalWidget, selectionFromElsewhereIsFramedAndTellsNobody) {
    QSignalSpy selected(&m_widget, &SurvivalImage::tokenSelected);
    m_widget.setSelectedToken(12);
    const QImage image = m_widget.grab().toImage();
    EXPECT_GT(test::countNear(image, image.rect(), m_widget.theme().accent, 30), 100);
    EXPECT_EQ(selected.size(), 0);
}

TEST_F(SurvivalWidget, standsWithoutAFigure) {
    m_widget.setFigure(nullptr);
    m_widget.grab();
    test::moveMouse(m_widget, {100, 100});
    test::turnWheel(m_widget, {100, 100}, 1);
    QTest::keyClick(&m_widget, Qt::Key_Plus);
    QTest::mouseClick(&m_widget, Qt::LeftButton, {}, {100, 100});
    EXPECT_EQ(m_widget.figure(), nullptr);
}

} // namespace ecokv::ui

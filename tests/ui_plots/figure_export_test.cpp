// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "support/sample_trace.h"
#include "ui/plots/figure_export.h"
#include "ui/plots/head_map_plot.h"
#include "ui/plots/scatter_figure.h"
#include "ui/plots/survival_figure.h"
#include "ui_plots/plot_testing.h"

#include <gtest/gtest.h>

#include <QBuffer>
#include <QClipboard>
#include <QFile>
#include <QGuiApplication>
#include <QMimeData>
#include <QProcess>
#include <QSvgRenderer>

#include <future>

namespace ecokv::ui {

using ecokv::test::TemporaryFolder;

namespace {

const QString kProvenance = QStringLiteral("demo, prompt of 269 tokens, ecokv budget 48");

FigureSource source() {
    return {kProvenance, [] { return QStringLiteral("layer,kv_head,redundancy\n0,0,0.5\n"); }};
}

std::shared_ptr<const HeadMapFigure> headMap() {
    HeadMapData data;
    data.title = QStringLiteral("Redundancy");
    data.metricLabel = QStringLiteral("redundancy r");
    data.layers = 2;
    data.kvHeads = 2;
    data.values = {0.125F, 0.25F, 0.5F, 0.75F};
    return std::make_shared<HeadMapFigure>(data, source());
}

std::shared_ptr<const SurvivalFigure> survival() {
    SurvivalData data;
    data.title = QStringLiteral("ecokv, budget 48");
    data.picture = QImage(40, 20, QImage::Format_RGB888);
    data.picture.fill(Qt::white);
    data.patches = {{0, QRectF(0, 0, 20, 20), 1}, {1, QRectF(20, 0, 20, 20), 0}};
    return std::make_shared<SurvivalFigure>(data, source());
}

std::shared_ptr<const ScatterFigure> scatter() {
    ScatterData data;
    data.title = QStringLiteral("Layer 0, head 1");
    data.xLabel = QStringLiteral("importance");
    data.yLabel = QStringLiteral("diversity");
    for (int i = 0; i < 5000; ++i) { // enough for stamps on raster devices
        data.marks.push_back({i, static_cast<float>(i % 71), static_cast<float>(i % 97)});
    }
    return std::make_shared<ScatterFigure>(data, source());
}

QByteArray contentOf(const std::filesystem::path& path) {
    QFile file(QString::fromStdString(path.string()));
    EXPECT_TRUE(file.open(QIODevice::ReadOnly)) << path;
    return file.readAll();
}

QString pdfText(const std::filesystem::path& path) {
    QProcess process;
    process.start(
        QStringLiteral(ECOKV_PDFTOTEXT),
        {QStringLiteral("-layout"), QString::fromStdString(path.string()), QStringLiteral("-")});
    process.waitForFinished();
    return QString::fromUtf8(process.readAllStandardOutput());
}

} // namespace

TEST(Export, pngHasTheAskedSizeAndDensity) {
    const TemporaryFolder folder;
    ExportOptions options;
    options.width = 640;
    options.height = 480;
    options.scale = 2;
    exportFigure(*headMap(), folder / "map.png", options);
    const QImage image(QString::fromStdString((folder / "map.png").string()));
    EXPECT_EQ(image.size(), QSize(1280, 960));
    EXPECT_NEAR(image.dotsPerMeterX() * 0.0254, 192, 0.5);
}

TEST(Export, svgOfAMapIsVectorsAndText) {
    const QByteArray svg = renderSvg(*headMap(), {});
    EXPECT_FALSE(svg.contains("<image"));
    EXPECT_GT(svg.count("<rect"), 8); // cells, bars, colour bar
    EXPECT_GT(svg.count("<text"), 10);
    EXPECT_TRUE(svg.contains(kProvenance.toUtf8()));
    EXPECT_TRUE(svg.contains(">redundancy r<"));
    EXPECT_TRUE(svg.contains("linearGradient")); // the colour bar
    EXPECT_TRUE(svg.contains(", sans-serif\""));
}

TEST(Export, svgOfManyMarksHasEveryMarkAsAShape) {
    const QByteArray svg = renderSvg(*scatter(), {});
    EXPECT_FALSE(svg.contains("<image"));
    EXPECT_GE(svg.count("<circle") + svg.count("<ellipse") + svg.count("<path"), 5000);
}

TEST(Export, svgOfAPictureHoldsThePictureAndVectorPatches) {
    const QByteArray svg = renderSvg(*survival(), {});
    EXPECT_EQ(svg.count("<image"), 1);
    EXPECT_GT(svg.count("<polyline") + svg.count("<line") + svg.count("<path"), 20); // hatching
    EXPECT_TRUE(svg.contains("evicted: 1"));
}

TEST(Export, svgLooksLikeThePng) {
    ExportOptions options;
    options.width = 600;
    options.height = 400;
    options.scale = 1;
    QSvgRenderer renderer(renderSvg(*headMap(), options));
    ASSERT_TRUE(renderer.isValid());
    EXPECT_EQ(renderer.viewBoxF(), QRectF(0, 0, 600, 400));
    QImage fromSvg(600, 400, QImage::Format_RGB32);
    fromSvg.fill(Qt::black);
    QPainter painter(&fromSvg);
    renderer.render(&painter, QRectF(0, 0, 600, 400));
    painter.end();
    const QImage png = renderImage(*headMap(), options);
    int different = 0;
    for (int y = 0; y < 400; ++y) {
        for (int x = 0; x < 600; ++x) {
            different += test::distance(fromSvg.pixelColor(x, y), png.pixelColor(x, y)) > 40;
        }
    }
    EXPECT_LT(different, 600 * 400 / 50); // text and edges differ by a hair
}

TEST(Export, pdfIsOnePageOfVectorsWithText) {
#ifdef ECOKV_PDFTOTEXT
    if (!QFile::exists(QStringLiteral(ECOKV_PDFTOTEXT))) {
        GTEST_SKIP() << "pdftotext (poppler-utils) is not installed";
    }
#endif
    const TemporaryFolder folder;
    ExportOptions options;
    options.width = 960;
    options.height = 480;
    exportFigure(*headMap(), folder / "map.pdf", options);
    const QString text = pdfText(folder / "map.pdf");
    for (const char* label : {"Redundancy", "redundancy r", "KV head", "0.125", "0.750"}) {
        EXPECT_TRUE(text.contains(QLatin1String(label)) ||
                    text.simplified()
                        .remove(QLatin1Char(' '))
                        .contains(QString::fromLatin1(label).remove(QLatin1Char(' '))))
            << label;
    }
    EXPECT_TRUE(text.contains(kProvenance));
    const QByteArray bytes = contentOf(folder / "map.pdf");
    EXPECT_TRUE(bytes.contains("/MediaBox [0 0 720.000000 360.000000]") ||
                bytes.contains("/MediaBox [0 0 720 360]"))
        << "960 x 480 pixels at 96 per inch are 10 x 5 inches";
    EXPECT_FALSE(bytes.contains("/Subtype /Image"));
}

TEST(Export, csvIsTheDataOfTheFigure) {
    const TemporaryFolder folder;
    exportFigure(*headMap(), folder / "map.csv", {});
    EXPECT_EQ(contentOf(folder / "map.csv"), "layer,kv_head,redundancy\n0,0,0.5\n");
}

TEST(Export, provenanceIsBelowTheFigureAndNotOnTheScreen) {
    ExportOptions options;
    options.width = 600;
    options.height = 400;
    options.scale = 1;
    const QImage sheet = renderImage(*headMap(), options);
    EXPECT_GT(test::countNear(sheet, QRect(0, 375, 600, 25), Theme::light().mutedText, 60), 50);
    EXPECT_EQ(test::colorsIn(sheet, QRect(0, 392, 600, 8)).size(), 1U); // margin below it
}

TEST(Export, darkThemeHasADarkSheet) {
    ExportOptions options;
    options.theme = Theme::night();
    EXPECT_EQ(renderImage(*headMap(), options).pixelColor(2, 2), Theme::night().background);
}

TEST(Export, refusesWhatItCannotDraw) {
    const TemporaryFolder folder;
    EXPECT_THROW(exportFigure(*headMap(), folder / "map.gif", {}), Error);
    EXPECT_THROW(exportFigure(*headMap(), folder / "map", {}), Error);
    ExportOptions options;
    options.scale = 0;
    EXPECT_THROW(exportFigure(*headMap(), folder / "map.png", options), Error);
    HeadMapData data = headMap()->data();
    EXPECT_THROW(exportFigure(HeadMapFigure(data, {}), folder / "map.csv", {}), Error);
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Export, saysWhichFileCouldNotBeWritten) {
    try {
        exportFigure(*headMap(), "/nonexistent-folder/map.png", {});
        FAIL() << "nothing was refused";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::BadInput);
        EXPECT_NE(error.message().find("/nonexistent-folder/map.png"), std::string::npos);
    }
}

TEST(Export, worksOnAWorkerThread) {
    const TemporaryFolder folder;
    const auto figure = headMap();
    const QByteArray here = renderSvg(*figure, {});
    const auto there = std::async(std::launch::async, [&] {
                           exportFigure(*figure, folder / "map.pdf", {});
                           return renderSvg(*figure, {});
                       }).get();
    EXPECT_EQ(here, there);
    EXPECT_GT(std::filesystem::file_size(folder / "map.pdf"), 1000U);
}

TEST(Copy, putsPictureVectorsAndDataOnTheClipboard) {
    HeadMapPlot plot;
    plot.resize(500, 300);
    plot.copyFigure(); // nothing to copy yet
    plot.setFigure(headMap());
    plot.copyFigure();
    const QMimeData* data = QGuiApplication::clipboard()->mimeData();
    ASSERT_TRUE(data->hasImage());
    EXPECT_EQ(qvariant_cast<QImage>(data->imageData()).size(), QSize(1000, 600));
    EXPECT_TRUE(data->data(QStringLiteral("image/svg+xml")).contains("<svg"));
    plot.copyData();
    EXPECT_TRUE(QGuiApplication::clipboard()->text().startsWith(QStringLiteral("layer,kv_head")));
}

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/figure_export.h"

#include "base/error.h"
#include "ui/plots/paint_tools.h"

#include <QBuffer>
#include <QCoreApplication>
#include <QMarginsF>
#include <QPageSize>
#include <QPdfWriter>
#include <QSaveFile>
#include <QSvgGenerator>

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

constexpr double kSheetMargin = 20.0;
constexpr double kUsualAspect = 1.5;
constexpr int kPixelsPerInch = 96;
constexpr int kPdfResolution = 1200;

QString tr(const char* text) {
    return QCoreApplication::translate("FigureExport", text);
}

/// The height asked for or what suits the figure, and never less than it needs.
int sheetHeight(const Figure& figure, const ExportOptions& options) {
    const double width = options.width - 2 * kSheetMargin;
    const double around = 2 * kSheetMargin + textHeight(options.theme, TextRole::Footer) + kSpace;
    const double preferred = figure.preferredHeight(width, options.theme);
    const double usual = preferred > 0 ? preferred + around : options.width / kUsualAspect;
    const double wanted = options.height > 0 ? options.height : usual;
    const double needed = figure.minimumHeight(width, options.theme) + around;
    return static_cast<int>(std::ceil(std::max(wanted, needed)));
}

QRectF sheetRect(const Figure& figure, const ExportOptions& options) {
    if (!(options.scale > 0) || options.width <= 0 || options.height < 0) {
        throwUsage("A figure of " + std::to_string(options.width) + " x " +
                       std::to_string(options.height) + " pixels cannot be drawn.",
                   "Give a positive width, height and scale.");
    }
    return {0, 0, static_cast<double>(options.width),
            static_cast<double>(sheetHeight(figure, options))};
}

/// Qt writes one family; a reader without it should fall back to the right kind of font.
void addFontFallback(QByteArray& svg, const Theme& theme, TextRole role, const char* generic) {
    const QByteArray family = theme.font(role).family().toUtf8();
    svg.replace("font-family=\"" + family + '"', "font-family=\"" + family + ", " + generic + '"');
}

QByteArray renderPdf(const Figure& figure, const ExportOptions& options) {
    const QRectF sheet = sheetRect(figure, options);
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setTitle(figure.title());
    writer.setCreator(QStringLiteral("EcoKV Lens"));
    writer.setResolution(kPdfResolution);
    const double pointsPerPixel = 72.0 / kPixelsPerInch;
    writer.setPageSize(QPageSize(sheet.size() * pointsPerPixel, QPageSize::Point, QString(),
                                 QPageSize::ExactMatch));
    writer.setPageMargins(QMarginsF());
    QPainter painter(&writer);
    painter.scale(static_cast<double>(kPdfResolution) / kPixelsPerInch,
                  static_cast<double>(kPdfResolution) / kPixelsPerInch);
    paintSheet(painter, sheet, figure, options.theme);
    painter.end();
    return bytes;
}

QByteArray renderPng(const Figure& figure, const ExportOptions& options) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    renderImage(figure, options).save(&buffer, "PNG");
    return bytes;
}

QByteArray render(const Figure& figure, const std::filesystem::path& path,
                  const ExportOptions& options) {
    const QString suffix = QString::fromStdString(path.extension().string()).toLower();
    if (suffix == QLatin1String(".png")) {
        return renderPng(figure, options);
    }
    if (suffix == QLatin1String(".svg")) {
        return renderSvg(figure, options);
    }
    if (suffix == QLatin1String(".pdf")) {
        return renderPdf(figure, options);
    }
    if (suffix == QLatin1String(".csv")) {
        return figure.csv().toUtf8();
    }
    throwUsage("The figure file " + path.string() + " has a suffix that is not a figure format.",
               "Use .png, .svg, .pdf or .csv.");
}

} // namespace

void paintSheet(QPainter& painter, const QRectF& sheet, const Figure& figure, const Theme& theme) {
    painter.fillRect(sheet, theme.background);
    const QRectF inner = sheet.adjusted(kSheetMargin, kSheetMargin, -kSheetMargin, -kSheetMargin);
    const double footer = textHeight(theme, TextRole::Footer);
    figure.paint(painter, inner.adjusted(0, 0, 0, -footer - kSpace), theme);
    const QRectF line(inner.left(), inner.bottom() - footer + kSpace, inner.width(), footer);
    drawText(painter, theme, line, figure.provenance(), {TextRole::Footer, theme.mutedText});
}

QImage renderImage(const Figure& figure, const ExportOptions& options) {
    const QRectF sheet = sheetRect(figure, options);
    QImage image((sheet.size() * options.scale).toSize(), QImage::Format_RGB32);
    image.setDotsPerMeterX(static_cast<int>(std::lround(kPixelsPerInch * options.scale / 0.0254)));
    image.setDotsPerMeterY(image.dotsPerMeterX());
    QPainter painter(&image);
    painter.scale(options.scale, options.scale);
    painter.setRenderHint(QPainter::TextAntialiasing, true);
    paintSheet(painter, sheet, figure, options.theme);
    return image;
}

QByteArray renderSvg(const Figure& figure, const ExportOptions& options) {
    const QRectF sheet = sheetRect(figure, options);
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setResolution(kPixelsPerInch);
    generator.setSize(sheet.size().toSize());
    generator.setViewBox(sheet);
    generator.setTitle(figure.title());
    generator.setDescription(figure.provenance());
    QPainter painter(&generator);
    paintSheet(painter, sheet, figure, options.theme);
    painter.end();
    addFontFallback(bytes, options.theme, TextRole::Label, "sans-serif");
    addFontFallback(bytes, options.theme, TextRole::Mono, "monospace");
    return bytes;
}

void exportFigure(const Figure& figure, const std::filesystem::path& path,
                  const ExportOptions& options) {
    const QByteArray bytes = render(figure, path, options);
    if (bytes.isEmpty()) {
        throwBadInput("The figure " + figure.title().toStdString() + " has nothing to write to " +
                          path.string() + ".",
                      "Choose .png, .svg or .pdf.");
    }
    QSaveFile file(QString::fromStdString(path.string()));
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size() || !file.commit()) {
        throwBadInput("The figure could not be written to " + path.string() + ": " +
                          file.errorString().toStdString() + ".",
                      "Check that the folder exists and may be written to.");
    }
}

QStringList exportFilters() {
    return {tr("PNG picture (*.png)"), tr("SVG drawing (*.svg)"), tr("PDF drawing (*.pdf)"),
            tr("Data as CSV (*.csv)")};
}

} // namespace ecokv::ui

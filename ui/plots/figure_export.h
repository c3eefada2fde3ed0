#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Writes a figure to a file by its suffix: .png (pixels), .svg and .pdf (vectors), .csv (its data),
// with the provenance line below. Any thread, so that a page exports on a worker.

#include "ui/plots/figure.h"

#include <QByteArray>
#include <QImage>
#include <QStringList>

#include <filesystem>

namespace ecokv::ui {

struct ExportOptions {
    int width = 1200;   ///< logical pixels (96 per inch in PDF and SVG)
    int height = 0;     ///< 0 = what suits the figure
    double scale = 2.0; ///< pixels of a PNG per logical pixel
    Theme theme = Theme::light();
};

/// The figure on its background with the provenance line below, as every export shows it.
void paintSheet(QPainter& painter, const QRectF& sheet, const Figure& figure, const Theme& theme);
QImage renderImage(const Figure& figure, const ExportOptions& options);
QByteArray renderSvg(const Figure& figure, const ExportOptions& options);

/// Throws Error{Usage} for an unknown suffix, Error{BadInput} if the file cannot be written; the
/// file is complete or not there.
void exportFigure(const Figure& figure, const std::filesystem::path& path,
                  const ExportOptions& options);

/// File dialog filters: "PNG picture (*.png)", ...
QStringList exportFilters();

} // namespace ecokv::ui

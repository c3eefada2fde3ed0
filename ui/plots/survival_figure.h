#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A picture of the prompt with the patches a policy kept: evicted = dimmed and hatched, kept =
// clear with a thin outline; for a count of heads the share colours the patch. Boxes are in source
// pixels of the picture.

#include "ui/plots/figure.h"

#include <QCoreApplication>
#include <QImage>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace ecokv::ui {

/// Copies [height, width, 3] u8 row by row: QImage pads its rows (field case F063). Throws
/// Error{Internal} if the sizes do not fit.
QImage imageFromPixels(std::span<const std::uint8_t> pixels, std::int64_t width,
                       std::int64_t height);

struct SurvivalPatch {
    qint64 token = 0;
    QRectF box;      ///< source pixels
    float share = 0; ///< 0 evicted .. 1 kept by every head asked
};

/// A part of the picture and the largest share of the patches over it.
struct SurvivalArea {
    QRectF box; ///< source pixels
    float share = 0;
};

struct SurvivalData {
    QString title, subtitle;
    QImage picture;                     ///< Format_RGB888
    std::vector<SurvivalPatch> patches; ///< may overlap: a thumbnail's lie over those of tiles
    std::vector<SurvivalArea> areas;    ///< what they cover together, without overlaps
    bool isCount = false;               ///< colour by share, with a colour bar
    QString instead;                    ///< a sentence in the place of the legend: nothing to show
};

class SurvivalFigure final : public Figure {
    Q_DECLARE_TR_FUNCTIONS(ecokv::ui::SurvivalFigure)

public:
    SurvivalFigure(SurvivalData data, FigureSource source);

    void paint(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    /// The picture and its patches only, the picture filling `target`.
    void paintPicture(QPainter& painter, const QRectF& target, const Theme& theme) const;
    /// Title above, legend or colour bar below; for widgets that zoom the picture between them.
    void paintFrame(QPainter& painter, const QRectF& area, const Theme& theme) const;
    double preferredHeight(double width, const Theme& theme) const override;
    QString title() const override { return m_data.title; }

    const SurvivalData& data() const { return m_data; }
    /// Space for the picture between title and legend.
    QRectF pictureSpace(const QRectF& area, const Theme& theme) const;
    /// Where the whole picture goes: centred in its space, aspect ratio kept.
    QRectF pictureRect(const QRectF& area, const Theme& theme) const;
    /// Index into patches of the one under `at` (source pixels), the smallest of several.
    std::optional<std::size_t> patchAt(const QPointF& at) const;

private:
    void paintLegend(QPainter& painter, const Theme& theme, const QRectF& row) const;
    double legendHeight(const Theme& theme) const;
    /// The picture at half, quarter, ... size, so that large photos shrink without aliasing.
    const QImage& levelFor(double scale) const;
    QRectF mapped(const QRectF& box, const QRectF& target) const; ///< source pixels to target
    bool leavesBorder() const; ///< a part of the picture has no patch (cropped by the processor)

    SurvivalData m_data;
    std::vector<QImage> m_levels; ///< coloured by share if isCount; [0] is full size
    QRectF m_covered;             ///< what the patches cover together, source pixels
    qint64 m_keptPatches = 0;
};

} // namespace ecokv::ui

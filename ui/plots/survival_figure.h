#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A picture of the prompt with the patches a policy kept: evicted = dimmed and hatched, kept =
// clear with a thin outline; for a count of heads the share colours the patch. Boxes are in source
// pixels of the picture.

#include "ui/plots/figure.h"

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

struct SurvivalData {
    QString title, subtitle;
    QImage picture; ///< Format_RGB888
    std::vector<SurvivalPatch> patches;
    bool isCount = false; ///< colour by share, with a colour bar
};

class SurvivalFigure final : public Figure {
public:
    SurvivalFigure(SurvivalData data, FigureSource source);

    void paint(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    /// The picture and its patches only, the picture filling `target`.
    void paintPicture(QPainter& painter, const QRectF& target, const Theme& theme) const;
    /// Title above, legend or colour bar below; for widgets that zoom the picture between them.
    void paintFrame(QPainter& painter, const QRectF& area, const Theme& theme) const;
    QString title() const override { return m_data.title; }

    const SurvivalData& data() const { return m_data; }
    /// Space for the picture between title and legend.
    QRectF pictureSpace(const QRectF& area, const Theme& theme) const;
    /// Where the whole picture goes: centred in its space, aspect ratio kept.
    QRectF pictureRect(const QRectF& area, const Theme& theme) const;
    /// Index into patches of the one under `at` (source pixels).
    std::optional<std::size_t> patchAt(const QPointF& at) const;

private:
    SurvivalData m_data;
    QImage m_shown;   ///< the picture, coloured by share if isCount
    QRectF m_covered; ///< what the patches cover together, source pixels
};

} // namespace ecokv::ui

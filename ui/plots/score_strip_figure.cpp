// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/score_strip_figure.h"

#include "ui/plots/paint_tools.h"

#include <QCoreApplication>
#include <QThread>

#include <algorithm>

namespace ecokv::ui {
namespace {

constexpr QSize kRecordedSize(1160,
                              420); ///< of an export's usual sheet, so that text keeps its size
constexpr double kLeastHeight = 180;

bool onGuiThread() {
    const QCoreApplication* application = QCoreApplication::instance();
    return application != nullptr && QThread::currentThread() == application->thread();
}

} // namespace

ScoreStripFigure::ScoreStripFigure(ScoreStripRecording recording, FigureSource source)
    : Figure(std::move(source)), m_recording(std::move(recording)),
      m_light(m_recording.record(Theme::light(), kRecordedSize)),
      m_dark(m_recording.record(Theme::night(), kRecordedSize)) {}

double ScoreStripFigure::preferredHeight(double width, const Theme& theme) const {
    return headerHeight(theme, m_recording.title, m_recording.subtitle) +
           width * kRecordedSize.height() / kRecordedSize.width();
}

double ScoreStripFigure::minimumHeight(double, const Theme& theme) const {
    return headerHeight(theme, m_recording.title, m_recording.subtitle) + kLeastHeight;
}

void ScoreStripFigure::paint(QPainter& painter, const QRectF& area, const Theme& theme) const {
    drawHeader(painter, theme, area, m_recording.title, m_recording.subtitle);
    const double header = headerHeight(theme, m_recording.title, m_recording.subtitle);
    const QRectF strip = area.adjusted(0, header, 0, 0);
    if (onGuiThread()) {
        replay(painter, strip, m_recording.record(theme, strip.size().toSize()));
    } else {
        replay(painter, strip, theme.dark ? m_dark : m_light);
    }
}

void ScoreStripFigure::replay(QPainter& painter, const QRectF& area,
                              const QPicture& picture) const {
    const std::lock_guard lock(m_replay);
    const QRectF recorded(QPointF(), onGuiThread() ? area.size() : QSizeF(kRecordedSize));
    const double fit = std::min(area.width() / recorded.width(), area.height() / recorded.height());
    // QPicture scales itself by the resolution of the device; the sheet has done so already.
    const double resolution = static_cast<double>(picture.logicalDpiX()) /
                              static_cast<double>(painter.device()->logicalDpiX());
    painter.save();
    painter.translate(area.topLeft());
    painter.scale(fit * resolution, fit * resolution);
    painter.drawPicture(0, 0, picture);
    painter.restore();
}

} // namespace ecokv::ui

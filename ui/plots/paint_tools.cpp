// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/paint_tools.h"

#include <QFontMetricsF>
#include <QLinearGradient>

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

constexpr double kBarThickness = 14.0;
constexpr double kTickLength = 4.0;

QLinearGradient gradientOf(ColorMap map, const QPointF& from, const QPointF& to) {
    constexpr int kStops = 32;
    QLinearGradient gradient(from, to);
    for (int i = 0; i <= kStops; ++i) {
        const double t = static_cast<double>(i) / kStops;
        gradient.setColorAt(t, colorAt(map, t));
    }
    return gradient;
}

std::vector<Tick> barTicks(const ColorBar& bar, double length, double spacing) {
    if (bar.range.empty) {
        return {};
    }
    int count = std::clamp(static_cast<int>(length / spacing), 2, 8);
    if (bar.integers) { // steps of at least 1
        const double span = std::max(bar.range.high - bar.range.low, 1.0);
        count = static_cast<int>(std::min<double>(count, span));
    }
    return linearTicks(bar.range.low, bar.range.high, count);
}

double widestLabel(const Theme& theme, const std::vector<Tick>& ticks) {
    double widest = 0;
    for (const Tick& tick : ticks) {
        widest = std::max(widest, textWidth(theme, TextRole::Tick, tick.label));
    }
    return widest;
}

void drawBarBody(QPainter& painter, const Theme& theme, const QRectF& body, const ColorBar& bar,
                 bool vertical) {
    if (bar.range.high > bar.range.low) {
        painter.setBrush(vertical ? gradientOf(bar.map, body.bottomLeft(), body.topLeft())
                                  : gradientOf(bar.map, body.topLeft(), body.topRight()));
    } else {
        painter.setBrush(bar.range.empty ? theme.panel : colorAt(bar.map, 0.5));
    }
    painter.setPen(QPen(theme.axis, 1));
    painter.drawRect(body);
}

} // namespace

double textWidth(const Theme& theme, TextRole role, const QString& text) {
    return QFontMetricsF(theme.font(role)).horizontalAdvance(text);
}

double textHeight(const Theme& theme, TextRole role) {
    return std::ceil(QFontMetricsF(theme.font(role)).height());
}

void drawText(QPainter& painter, const Theme& theme, const QRectF& area, const QString& text,
              const TextStyle& style) {
    if (text.isEmpty() || area.width() <= 0) {
        return;
    }
    const QFont font = theme.font(style.role);
    painter.setFont(font);
    painter.setPen(style.color.isValid() ? style.color : theme.text);
    const QFontMetricsF metrics(font);
    const bool fits = metrics.horizontalAdvance(text) <= area.width() + 1;
    painter.drawText(area, style.alignment | Qt::TextSingleLine | Qt::TextDontClip,
                     fits ? text : metrics.elidedText(text, Qt::ElideRight, area.width()));
}

void drawParagraph(QPainter& painter, const Theme& theme, const QRectF& area, const QString& text,
                   const TextStyle& style) {
    painter.setFont(theme.font(style.role));
    painter.setPen(style.color.isValid() ? style.color : theme.text);
    painter.drawText(area, Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap | Qt::TextDontClip,
                     text);
}

double paragraphHeight(const Theme& theme, TextRole role, const QString& text, double width) {
    const QRectF space(0, 0, width, 1e6);
    return text.isEmpty() ? 0
                          : QFontMetricsF(theme.font(role))
                                .boundingRect(space, Qt::TextWordWrap, text)
                                .height();
}

void drawVerticalText(QPainter& painter, const Theme& theme, const QRectF& area,
                      const QString& text, const TextStyle& style) {
    painter.save();
    painter.translate(area.center());
    painter.rotate(-90);
    const QRectF turned(-area.height() / 2, -area.width() / 2, area.height(), area.width());
    TextStyle centred = style;
    centred.alignment = Qt::AlignCenter;
    drawText(painter, theme, turned, text, centred);
    painter.restore();
}

void drawHatch(QPainter& painter, const QRectF& area, const QColor& color, double step) {
    if (area.width() <= 0 || area.height() <= 0) {
        return;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, true);
    painter.setPen(QPen(color, 1, Qt::SolidLine, Qt::FlatCap));
    // Lines x + y = c; both ends are cut to the rectangle.
    const double first = std::ceil((area.left() + area.top()) / step) * step;
    const double last = area.right() + area.bottom();
    QVector<QLineF> lines;
    for (double c = first; c <= last; c += step) {
        const double x0 = std::max(area.left(), c - area.bottom());
        const double x1 = std::min(area.right(), c - area.top());
        if (x1 > x0) {
            lines.append(QLineF(x0, c - x0, x1, c - x1));
        }
    }
    painter.drawLines(lines);
    painter.restore();
}

double headerHeight(const Theme& theme, const QString& title, const QString& subtitle) {
    double height = 0;
    if (!title.isEmpty()) {
        height += textHeight(theme, TextRole::Title);
    }
    if (!subtitle.isEmpty()) {
        height += textHeight(theme, TextRole::Label) + 2;
    }
    return height > 0 ? height + kSpace : 0;
}

void drawHeader(QPainter& painter, const Theme& theme, const QRectF& area, const QString& title,
                const QString& subtitle) {
    const double titleHeight = title.isEmpty() ? 0 : textHeight(theme, TextRole::Title);
    drawText(painter, theme, QRectF(area.left(), area.top(), area.width(), titleHeight), title,
             {TextRole::Title, theme.text});
    const QRectF below(area.left(), area.top() + titleHeight + 2, area.width(),
                       textHeight(theme, TextRole::Label));
    drawText(painter, theme, below, subtitle, {TextRole::Label, theme.mutedText});
}

double colorBarWidth(const Theme& theme, const ColorBar& bar, double height) {
    const auto ticks = barTicks(bar, height, 60);
    const double label = bar.label.isEmpty() ? 0 : textHeight(theme, TextRole::Label) + kSpace / 2;
    return kBarThickness + kTickLength + 3 + widestLabel(theme, ticks) + label;
}

void drawVerticalColorBar(QPainter& painter, const Theme& theme, const QRectF& area,
                          const ColorBar& bar) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    const QRectF body(area.left(), area.top(), kBarThickness, area.height());
    drawBarBody(painter, theme, body, bar, true);
    const auto ticks = barTicks(bar, area.height(), 60);
    const double labelHeight = textHeight(theme, TextRole::Tick);
    for (const Tick& tick : ticks) {
        const double y = body.bottom() - bar.range.fraction(tick.value) * body.height();
        painter.setPen(QPen(theme.axis, 1));
        painter.drawLine(QPointF(body.right(), y), QPointF(body.right() + kTickLength, y));
        // A label at the very end stays inside the bar's height.
        const double top =
            std::clamp(y - labelHeight / 2, area.top() - 3, area.bottom() - labelHeight + 3);
        drawText(painter, theme,
                 QRectF(body.right() + kTickLength + 3, top, area.width(), labelHeight), tick.label,
                 {TextRole::Tick, theme.text});
    }
    const double labelWidth = textHeight(theme, TextRole::Label);
    drawVerticalText(painter, theme,
                     QRectF(area.right() - labelWidth, area.top(), labelWidth, area.height()),
                     bar.label, {TextRole::Label, theme.text});
    painter.restore();
}

void drawHorizontalColorBar(QPainter& painter, const Theme& theme, const QRectF& area,
                            const ColorBar& bar) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    const double labelWidth =
        std::min(textWidth(theme, TextRole::Label, bar.label) + kSpace, area.width() / 2);
    drawText(painter, theme, QRectF(area.left(), area.top(), labelWidth, kBarThickness), bar.label,
             {TextRole::Label, theme.text});
    const double length = std::min(area.width() - labelWidth - 2 * kSpace, 260.0);
    const QRectF body(area.left() + labelWidth, area.top(), length, kBarThickness - 2);
    drawBarBody(painter, theme, body, bar, false);
    for (const Tick& tick : barTicks(bar, length, 60)) {
        const double x = body.left() + bar.range.fraction(tick.value) * body.width();
        painter.setPen(QPen(theme.axis, 1));
        painter.drawLine(QPointF(x, body.bottom()), QPointF(x, body.bottom() + kTickLength));
        drawText(painter, theme,
                 QRectF(x - 40, body.bottom() + kTickLength, 80, textHeight(theme, TextRole::Tick)),
                 tick.label, {TextRole::Tick, theme.text, Qt::AlignHCenter | Qt::AlignTop});
    }
    painter.restore();
}

QColor readableOn(const QColor& background) {
    // Relative luminance as in WCAG 2; at 0.179 black and white contrast alike.
    const auto linear = [](double c) {
        return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
    };
    const double luminance = 0.2126 * linear(background.redF()) +
                             0.7152 * linear(background.greenF()) +
                             0.0722 * linear(background.blueF());
    return luminance > 0.179 ? QColor(0x111111) : QColor(0xffffff);
}

QString shortNumber(double value) {
    if (!std::isfinite(value)) {
        return QStringLiteral("–");
    }
    const double magnitude = std::abs(value);
    if (magnitude >= 1e-3 && magnitude < 1) {
        return QString::number(value, 'f', 3);
    }
    return QString::number(value, 'g', magnitude < 1e-3 ? 2 : 4);
}

} // namespace ecokv::ui

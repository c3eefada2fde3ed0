// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/token_text_figure.h"

#include "ui/plots/paint_tools.h"

#include <QFontMetricsF>
#include <QHash>

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

constexpr double kTokenGap = 2.0;
constexpr double kPadding = 3.0; ///< left and right of a token's text
constexpr double kUnderline = 2.0;
constexpr double kLineGap = 7.0;

bool isTag(const TextToken& token) {
    return token.kind != TokenKind::Text;
}

QString visible(QString text) {
    text.replace(QLatin1Char('\n'), QStringLiteral("↵"));
    text.replace(QLatin1Char('\r'), QStringLiteral("␍"));
    text.replace(QLatin1Char('\t'), QStringLiteral("⇥"));
    if (text.trimmed().isEmpty()) { // nothing but blanks
        text.replace(QLatin1Char(' '), QStringLiteral("␣"));
    }
    return text.isEmpty() ? QStringLiteral("∅") : text;
}

} // namespace

TokenTextFigure::TokenTextFigure(TokenTextData data, FigureSource source)
    : Figure(std::move(source)), m_data(std::move(data)) {
    // Measured once: prompts repeat their tokens, and fonts are the same in every theme.
    const Theme theme = Theme::light();
    const QFontMetricsF text(theme.font(TextRole::Mono));
    const QFontMetricsF tag(theme.font(TextRole::Tick));
    QHash<QString, double> known[2];
    m_widths.reserve(m_data.tokens.size());
    for (std::size_t i = 0; i < m_data.tokens.size(); ++i) {
        const QString shown = shownText(i);
        const bool asTag = isTag(m_data.tokens[i]);
        auto found = known[asTag].constFind(shown);
        if (found == known[asTag].constEnd()) {
            const double width = (asTag ? tag : text).horizontalAdvance(shown);
            found = known[asTag].insert(shown, width + (asTag ? 4 : 2) * kPadding);
        }
        m_widths.push_back(*found);
    }
}

QString TokenTextFigure::shownText(std::size_t index) const {
    return visible(m_data.tokens[index].text);
}

bool TokenTextFigure::endsLine(std::size_t index) const {
    const TextToken& token = m_data.tokens[index];
    return token.kind == TokenKind::Text && token.text.endsWith(QLatin1Char('\n'));
}

TokenLayout TokenTextFigure::layout(double width, const Theme& theme) const {
    TokenLayout layout;
    const double height = textHeight(theme, TextRole::Mono) + 2 + kUnderline;
    layout.lineHeight = height + kLineGap;
    layout.boxes.reserve(m_widths.size());
    double x = 0, y = 0;
    bool startsLine = true;
    for (std::size_t i = 0; i < m_widths.size(); ++i) {
        if (!startsLine && x + m_widths[i] > width) {
            startsLine = true;
            y += layout.lineHeight;
        }
        if (startsLine) {
            layout.lines.push_back(i);
            x = 0;
        }
        layout.boxes.push_back(QRectF(x, y, std::min(m_widths[i], width), height));
        x += m_widths[i] + kTokenGap;
        startsLine = endsLine(i);
        y += startsLine ? layout.lineHeight : 0;
    }
    layout.height = layout.boxes.empty() ? 0 : layout.boxes.back().bottom();
    return layout;
}

double TokenTextFigure::headerHeight(const Theme& theme) const {
    return ui::headerHeight(theme, m_data.title, m_data.subtitle) +
           textHeight(theme, TextRole::Mono) + 2 * kSpace;
}

double TokenTextFigure::paintHeader(QPainter& painter, const QRectF& area,
                                    const Theme& theme) const {
    drawHeader(painter, theme, area, m_data.title, m_data.subtitle);
    const double top = area.top() + ui::headerHeight(theme, m_data.title, m_data.subtitle);
    const double height = textHeight(theme, TextRole::Mono) + 2 + kUnderline;
    if (!m_data.instead.isEmpty()) {
        drawParagraph(painter, theme, QRectF(area.left(), top, area.width(), height),
                      m_data.instead, {TextRole::Label, theme.text});
        return area.top() + headerHeight(theme);
    }
    double x = area.left();
    const auto sample = [&](const QString& text, float share) {
        const double width = textWidth(theme, TextRole::Tick, text) + 2 * kPadding;
        const QRectF box(x, top, width, height);
        if (share > 0) {
            paintKept(painter, box, theme, share);
        } else {
            paintEvicted(painter, box, theme);
        }
        drawText(painter, theme, box.adjusted(kPadding, 0, 0, -kUnderline), text,
                 {TextRole::Tick, share > 0 ? theme.text : theme.mutedText});
        x += width + 10;
    };
    sample(tr("kept"), 1);
    if (m_data.isCount) {
        sample(tr("kept by half of the heads"), 0.5F);
    }
    sample(tr("evicted"), 0);
    return area.top() + headerHeight(theme);
}

void TokenTextFigure::paint(QPainter& painter, const QRectF& area, const Theme& theme) const {
    painter.save();
    const double top = paintHeader(painter, area, theme);
    const TokenLayout lines = layout(area.width(), theme);
    // Whole lines only: nothing is cut at the bottom.
    const double fitting = std::floor((area.bottom() - top + kLineGap) / lines.lineHeight);
    paintLines(painter, lines, theme, {area.left(), top}, 0, fitting * lines.lineHeight - 1);
    painter.restore();
}

double TokenTextFigure::preferredHeight(double width, const Theme& theme) const {
    return headerHeight(theme) + layout(width, theme).height +
           paragraphHeight(theme, TextRole::Label, m_data.instead, width);
}

double TokenTextFigure::minimumHeight(double width, const Theme& theme) const {
    return preferredHeight(width, theme);
}

void TokenTextFigure::paintLines(QPainter& painter, const TokenLayout& layout, const Theme& theme,
                                 const QPointF& origin, double top, double bottom) const {
    const auto lineTop = [&](std::size_t line) { return layout.boxes[layout.lines[line]].top(); };
    const auto first = static_cast<std::size_t>(std::max(0.0, std::floor(top / layout.lineHeight)));
    for (std::size_t line = first; line < layout.lines.size() && lineTop(line) < bottom; ++line) {
        const std::size_t end =
            line + 1 < layout.lines.size() ? layout.lines[line + 1] : layout.boxes.size();
        for (std::size_t i = layout.lines[line]; i < end; ++i) {
            paintToken(painter, layout.boxes[i].translated(origin), theme, i);
        }
    }
}

void TokenTextFigure::paintKept(QPainter& painter, const QRectF& box, const Theme& theme,
                                float share) const {
    painter.setRenderHint(QPainter::Antialiasing, false);
    QColor shade = theme.kept;
    shade.setAlphaF(0.22F * share);
    painter.fillRect(box.adjusted(0, 0, 0, -kUnderline), shade);
    painter.fillRect(QRectF(box.left(), box.bottom() - kUnderline, box.width(), kUnderline),
                     theme.kept);
}

void TokenTextFigure::paintEvicted(QPainter& painter, const QRectF& box, const Theme& theme) const {
    const QRectF body = box.adjusted(0, 0, 0, -kUnderline);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.fillRect(body, theme.panel);
    QColor hatch = theme.evicted;
    hatch.setAlpha(70);
    drawHatch(painter, body, hatch, 5);
    painter.setPen(QPen(theme.evicted, 1, Qt::DotLine));
    painter.drawLine(QPointF(box.left(), box.bottom() - 1), QPointF(box.right(), box.bottom() - 1));
}

void TokenTextFigure::paintToken(QPainter& painter, const QRectF& box, const Theme& theme,
                                 std::size_t index) const {
    const TextToken& token = m_data.tokens[index];
    const bool kept = token.share > 0;
    if (kept) {
        paintKept(painter, box, theme, token.share);
    } else {
        paintEvicted(painter, box, theme);
    }
    const QRectF body = box.adjusted(0, 0, 0, -kUnderline);
    if (isTag(token)) {
        painter.setRenderHint(QPainter::Antialiasing, true);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(kept ? theme.kept : theme.evicted, 1));
        painter.drawRoundedRect(body.adjusted(0.5, 1.5, -0.5, -2.5), 4, 4);
    }
    TextStyle style{isTag(token) ? TextRole::Tick : TextRole::Mono,
                    kept ? theme.text : theme.mutedText};
    style.alignment = (isTag(token) ? Qt::AlignHCenter : Qt::AlignLeft) | Qt::AlignVCenter;
    drawText(painter, theme, isTag(token) ? body : body.adjusted(kPadding, 0, 0, 0),
             shownText(index), style);
}

std::optional<std::size_t> TokenTextFigure::tokenAt(const TokenLayout& layout,
                                                    const QPointF& at) const {
    if (layout.lines.empty() || at.y() < 0) {
        return std::nullopt;
    }
    const auto line = static_cast<std::size_t>(at.y() / layout.lineHeight);
    if (line >= layout.lines.size()) {
        return std::nullopt;
    }
    const std::size_t end =
        line + 1 < layout.lines.size() ? layout.lines[line + 1] : layout.boxes.size();
    for (std::size_t i = layout.lines[line]; i < end; ++i) {
        if (layout.boxes[i].contains(at)) {
            return i;
        }
    }
    return std::nullopt;
}

} // namespace ecokv::ui

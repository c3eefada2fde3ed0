#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The prompt's text token by token: evicted = dimmed and hatched with a dashed line below, kept =
// plain with a solid line; special tokens are tags, a run of image tokens is one tag.

#include "ui/plots/figure.h"

#include "ui/plots/scatter_figure.h"
#include <QCoreApplication>

#include <optional>
#include <vector>

namespace ecokv::ui {

struct TextToken {
    qint64 token = 0; ///< position in the prompt
    QString text;     ///< as decoded; newlines are shown as signs
    TokenKind kind = TokenKind::Text;
    float share = 0;      ///< 0 evicted .. 1 kept by every head asked
    qint64 runLength = 1; ///< > 1: a run of image tokens drawn as one tag
};

struct TokenTextData {
    QString title, subtitle;
    std::vector<TextToken> tokens;
    bool isCount = false; ///< shares between 0 and 1 shade the token
    QString instead;      ///< a sentence in the place of legend and tokens: nothing to show
};

/// Where each token of a TokenTextFigure goes at one width.
struct TokenLayout {
    std::vector<QRectF> boxes;         ///< [token], from the text's top left
    std::vector<std::size_t> lines;    ///< index of each line's first token, ascending
    double lineHeight = 0, height = 0; ///< pixels
};

class TokenTextFigure final : public Figure {
    Q_DECLARE_TR_FUNCTIONS(ecokv::ui::TokenTextFigure)

public:
    TokenTextFigure(TokenTextData data, FigureSource source);

    void paint(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    double preferredHeight(double width, const Theme& theme) const override;
    double minimumHeight(double width, const Theme& theme) const override;
    QString title() const override { return m_data.title; }

    const TokenTextData& data() const { return m_data; }
    TokenLayout layout(double width, const Theme& theme) const;
    /// Title and legend; returns where the text begins (y).
    double paintHeader(QPainter& painter, const QRectF& area, const Theme& theme) const;
    double headerHeight(const Theme& theme) const;
    /// Tokens of the lines that touch [top, bottom) of the text, moved to `origin`.
    void paintLines(QPainter& painter, const TokenLayout& layout, const Theme& theme,
                    const QPointF& origin, double top, double bottom) const;
    std::optional<std::size_t> tokenAt(const TokenLayout& layout, const QPointF& at) const;
    /// What a token is drawn as: "\n" as a sign, a run of image tokens with its numbers.
    QString shownText(std::size_t index) const;

private:
    void paintToken(QPainter& painter, const QRectF& box, const Theme& theme,
                    std::size_t index) const;
    void paintKept(QPainter& painter, const QRectF& box, const Theme& theme, float share) const;
    void paintEvicted(QPainter& painter, const QRectF& box, const Theme& theme) const;
    bool endsLine(std::size_t index) const;

    TokenTextData m_data;
    std::vector<double> m_widths; ///< [token] of its box, pixels
};

} // namespace ecokv::ui

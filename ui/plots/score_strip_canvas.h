#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The QCustomPlot behind ScoreStripPlot: three stacked panels and a rug of survivors over one axis
// of token positions. Draws on the screen and, through record(), into exports. Private to ui/plots.
// GUI thread only.

#include "ui/plots/plotting_library.h"
#include "ui/plots/score_strip_plot.h"

#include <QPicture>

#include <array>
#include <optional>

namespace ecokv::ui {

/// What the strip shows of its data.
struct StripView {
    double first = -0.5, last = 0.5; ///< visible token positions
    bool logImportance = true;
    qint64 selected = -1, hovered = -1; ///< marked tokens, -1 = none
};

class ScoreStripCanvas : public QCustomPlot {
    Q_DECLARE_TR_FUNCTIONS(ecokv::ui::ScoreStripCanvas)

public:
    explicit ScoreStripCanvas(QWidget* parent = nullptr);

    void setData(std::shared_ptr<const ScoreStripData> data);
    void setTheme(const Theme& theme);
    /// Clamped to the tokens there are.
    void setRange(double first, double last);
    void setLogImportance(bool on);
    void mark(qint64 selected, qint64 hovered); ///< redraws only the marks

    const StripView& view() const { return m_view; }
    qint64 tokens() const;
    /// The token whose column is at a position of this widget.
    std::optional<qint64> tokenAt(const QPointF& at) const;

    /// The strip in vectors. Nothing reaches beyond the panels: SVG knows no clipping.
    static QPicture record(const std::shared_ptr<const ScoreStripData>& data, const StripView& view,
                           const Theme& theme, const QSize& size);

private:
    struct Panel {
        QCPAxisRect* rect = nullptr;
        QCPGraph *line = nullptr, *kept = nullptr, *evicted = nullptr; ///< the rug has only kept
        QCPItemText* name = nullptr;
        QCPItemStraightLine *selected = nullptr, *hovered = nullptr;
        std::vector<QCPItemRect*> images;
    };

    void setUpPanel(int row, QCPMarginGroup* margins);
    void setUpMarks(Panel& panel);
    void setUpRug();
    void nameAxis();
    void setUpImages();
    void scaleValues(int row);
    void refill();
    void fillPanel(int row, std::int64_t first, std::int64_t last, int columns);
    void fillRug(std::int64_t first, std::int64_t last, int columns);
    void placeImages();
    void placeMarks();
    void paintPanel(Panel& panel);
    std::span<const float> valuesOf(int row) const;
    /// On the vertical axis: log10 with a lane for zeros, or the value itself.
    double heightOf(int row, double value) const;
    double pixelsPerToken() const;

    std::shared_ptr<const ScoreStripData> m_data;
    StripView m_view;
    Theme m_theme = Theme::light();
    std::array<Panel, 4> m_panels; ///< importance, diversity, score, kept
    std::vector<QCPItemText*> m_imageNames;
    double m_zeroLane = 0;  ///< log10 value where zeros of the importance are drawn
    bool m_hasLane = false; ///< the importance axis is logarithmic and there are zeros
    bool m_isLog = false;   ///< asked for and there is a positive value
    bool m_cutAtEdges = false;
    bool m_settingRange = false;
    bool m_wasDrawn = false; ///< the layer of the marks exists
};

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/score_strip_canvas.h"

#include "ui/plots/axis_ticks.h"
#include "ui/plots/paint_tools.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace ecokv::ui {
namespace {

enum Row { Importance, Diversity, Score, Kept };

constexpr int kRugHeight = 13;
constexpr int kTickDistance = 90;     ///< pixels between labels of the token axis
constexpr int kLabelDistance = 15;    ///< pixels between labels of a value axis
constexpr int kAroundPanels = 85;     ///< pixels of the rug, the token axis and the gaps
constexpr double kLanePadding = 0.35; ///< of a decade, around the zeros of a logarithmic axis
constexpr double kLeastTokens = 8;    ///< no closer zoom
constexpr int kRowGap = 8;
constexpr int kTopMargin = 14;       ///< names of the pictures
constexpr int kLabelledHeight = 190; ///< from here on the token axis says what it is

/// Ticks and labels of ui/plots/axis_ticks.h, which are free of the locale.
class StripTicker : public QCPAxisTicker {
public:
    using Source = std::function<std::vector<Tick>(double low, double high)>;
    explicit StripTicker(Source source) : m_source(std::move(source)) {}

    void generate(const QCPRange& range, const QLocale&, QChar, int, QVector<double>& ticks,
                  QVector<double>* subTicks, QVector<QString>* labels) override {
        ticks.clear();
        if (subTicks != nullptr) {
            subTicks->clear();
        }
        if (labels != nullptr) {
            labels->clear();
        }
        for (const Tick& tick : m_source(range.lower, range.upper)) {
            ticks.append(tick.value);
            if (labels != nullptr) {
                labels->append(tick.label);
            }
        }
    }

private:
    Source m_source;
};

QSharedPointer<QCPAxisTicker> makeTicker(StripTicker::Source source) {
    return QSharedPointer<QCPAxisTicker>(new StripTicker(std::move(source)));
}

std::vector<Tick> wholeTicks(double low, double high, int count) {
    std::vector<Tick> ticks;
    for (const Tick& tick : linearTicks(low, high, count)) {
        if (std::abs(tick.value - std::round(tick.value)) < 1e-6) {
            ticks.push_back({std::round(tick.value), QString::number(std::llround(tick.value))});
        }
    }
    return ticks;
}

/// Labels only where they do not overlap the one below; ticks stay.
std::vector<Tick> thinned(std::vector<Tick> ticks, double distance) {
    double free = -std::numeric_limits<double>::infinity();
    for (Tick& tick : ticks) {
        if (tick.value < free) {
            tick.label.clear();
        } else if (!tick.label.isEmpty()) {
            free = tick.value + distance;
        }
    }
    return ticks;
}

QColor translucent(QColor color, double alpha) {
    color.setAlphaF(static_cast<float>(alpha));
    return color;
}

} // namespace

ScoreStripCanvas::ScoreStripCanvas(QWidget* parent) : QCustomPlot(parent) {
    plotLayout()->clear();
    plotLayout()->setRowSpacing(kRowGap);
    setAntialiasedElements(QCP::aePlottables | QCP::aeItems | QCP::aeScatters);
    setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    auto* margins = new QCPMarginGroup(this);
    layer(QStringLiteral("overlay"))->setMode(QCPLayer::lmBuffered); // marks follow the mouse
    for (int row = Importance; row <= Kept; ++row) {
        setUpPanel(row, margins);
    }
    setUpRug();
    plotLayout()->setRowStretchFactor(Importance, 1.3); // its margin counts as its height
    connect(this, &QCustomPlot::beforeReplot, this, [this] { nameAxis(); });
    connect(this, &QCustomPlot::afterLayout, this, [this] { refill(); });
    setTheme(m_theme);
}

void ScoreStripCanvas::setUpPanel(int row, QCPMarginGroup* margins) {
    Panel& panel = m_panels[static_cast<std::size_t>(row)];
    panel.rect = new QCPAxisRect(this);
    plotLayout()->addElement(row, 0, panel.rect);
    const bool isLast = row == Kept;
    panel.rect->setAutoMargins(isLast ? QCP::msLeft | QCP::msBottom : QCP::msLeft);
    const int right = static_cast<int>(textWidth(m_theme, TextRole::Label, tr("importance"))) + 14;
    panel.rect->setMargins(QMargins(0, row == Importance ? kTopMargin : 0, right, 0));
    panel.rect->setMarginGroup(QCP::msLeft, margins);
    panel.rect->setMinimumSize(50, 24);
    panel.rect->setRangeDrag(Qt::Horizontal);
    panel.rect->setRangeZoom(Qt::Horizontal);
    QCPAxis* tokens = panel.rect->axis(QCPAxis::atBottom);
    tokens->setTickLabels(isLast);
    tokens->setTicks(isLast);
    tokens->setTicker(makeTicker([this](double low, double high) {
        return wholeTicks(low, high, std::max(viewport().width(), kTickDistance) / kTickDistance);
    }));
    connect(tokens, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this,
            [this](const QCPRange& range) { setRange(range.lower, range.upper); });
    QCPAxis* values = panel.rect->axis(QCPAxis::atLeft);
    panel.line = addGraph(tokens, values);
    panel.line->setAdaptiveSampling(false); // refill() does it, and keeps what is between NaNs
    panel.kept = addGraph(tokens, values);
    panel.kept->setLineStyle(QCPGraph::lsNone);
    panel.kept->setAdaptiveSampling(false);
    panel.evicted = addGraph(tokens, values);
    panel.evicted->setLineStyle(QCPGraph::lsNone);
    panel.evicted->setAdaptiveSampling(false);
    setUpMarks(panel);
}

void ScoreStripCanvas::setUpMarks(Panel& panel) {
    panel.name = new QCPItemText(this);
    panel.name->position->setAxisRect(panel.rect);
    panel.name->position->setType(QCPItemPosition::ptAxisRectRatio);
    panel.name->position->setCoords(1, 0.5);
    panel.name->setPositionAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    panel.name->setTextAlignment(Qt::AlignLeft);
    panel.name->setPadding(QMargins(8, 0, 0, 0));
    panel.name->setClipToAxisRect(false);
    for (QCPItemStraightLine** line : {&panel.hovered, &panel.selected}) {
        *line = new QCPItemStraightLine(this);
        (*line)->setLayer(QStringLiteral("overlay"));
        (*line)->setClipAxisRect(panel.rect);
        for (QCPItemPosition* point : {(*line)->point1, (*line)->point2}) {
            point->setAxisRect(panel.rect);
            point->setAxes(panel.rect->axis(QCPAxis::atBottom), panel.rect->axis(QCPAxis::atLeft));
            point->setTypeX(QCPItemPosition::ptPlotCoords);
            point->setTypeY(QCPItemPosition::ptAxisRectRatio);
        }
        (*line)->setVisible(false);
    }
}

void ScoreStripCanvas::setUpRug() {
    Panel& rug = m_panels[Kept];
    rug.rect->setSizeConstraintRect(QCPLayoutElement::scrInnerRect);
    rug.rect->setMinimumSize(50, kRugHeight);
    rug.rect->setMaximumSize(QWIDGETSIZE_MAX, kRugHeight);
    QCPAxis* height = rug.rect->axis(QCPAxis::atLeft);
    height->setRange(0, 1);
    height->setTicks(false);
    height->setTickLabels(false);
    height->grid()->setVisible(false);
    rug.kept->setLineStyle(QCPGraph::lsImpulse);
    m_panels[Importance].name->setText(tr("importance"));
    m_panels[Diversity].name->setText(tr("diversity"));
    m_panels[Score].name->setText(tr("score"));
    rug.name->setText(tr("kept"));
}

/// A low strip leaves the space to the panels.
void ScoreStripCanvas::nameAxis() {
    m_panels[Kept]
        .rect->axis(QCPAxis::atBottom)
        ->setLabel(viewport().height() >= kLabelledHeight ? tr("token position") : QString());
}

void ScoreStripCanvas::setTheme(const Theme& theme) {
    m_theme = theme;
    setBackground(QBrush(theme.background));
    for (Panel& panel : m_panels) {
        paintPanel(panel);
    }
    for (QCPItemText* name : m_imageNames) {
        name->setColor(theme.mutedText);
        name->setFont(theme.font(TextRole::Tick));
    }
    replot(rpQueuedReplot);
}

void ScoreStripCanvas::paintPanel(Panel& panel) {
    for (QCPAxis* axis : panel.rect->axes()) {
        axis->setBasePen(QPen(m_theme.axis));
        axis->setTickPen(QPen(m_theme.axis));
        axis->setSubTicks(false);
        axis->setTickLabelColor(m_theme.mutedText);
        axis->setTickLabelFont(m_theme.font(TextRole::Tick));
        axis->setLabelColor(m_theme.mutedText);
        axis->setLabelFont(m_theme.font(TextRole::Label));
        axis->setTickLengthOut(4);
        axis->setTickLengthIn(0);
        axis->setLabelPadding(2);
        axis->grid()->setPen(QPen(m_theme.grid));
        axis->grid()->setZeroLinePen(QPen(m_theme.grid));
    }
    panel.name->setColor(m_theme.text);
    panel.name->setFont(m_theme.font(TextRole::Label));
    panel.line->setPen(QPen(m_theme.mutedText, 1.2));
    panel.kept->setPen(QPen(m_theme.kept, 1.2));
    panel.evicted->setPen(QPen(m_theme.evicted, 1.0));
    panel.selected->setPen(QPen(m_theme.accent, 2.0));
    panel.hovered->setPen(QPen(m_theme.accent, 1.2, Qt::DashLine));
    for (QCPItemRect* image : panel.images) {
        image->setBrush(translucent(m_theme.bar, 0.28));
        image->setPen(Qt::NoPen);
    }
}

void ScoreStripCanvas::setData(std::shared_ptr<const ScoreStripData> data) {
    const qint64 before = tokens();
    m_data = std::move(data);
    setUpImages();
    for (const Row row : {Importance, Diversity, Score}) {
        scaleValues(row);
    }
    if (tokens() != before) {
        m_view.first = m_view.last = 0;
    }
    const bool keepsView = tokens() == before && m_view.last > m_view.first;
    setRange(keepsView ? m_view.first : -0.5,
             keepsView ? m_view.last : static_cast<double>(tokens()) - 0.5);
    setTheme(m_theme);
    placeMarks();
}

void ScoreStripCanvas::setUpImages() {
    for (QCPItemText* name : m_imageNames) {
        removeItem(name);
    }
    m_imageNames.clear();
    for (Panel& panel : m_panels) {
        for (QCPItemRect* image : panel.images) {
            removeItem(image);
        }
        panel.images.clear();
    }
    const std::size_t count = m_data ? m_data->series.images.size() : 0;
    for (std::size_t i = 0; i < count; ++i) {
        for (Panel& panel : m_panels) {
            auto* image = new QCPItemRect(this);
            image->setLayer(QStringLiteral("background"));
            image->setClipAxisRect(panel.rect);
            for (QCPItemPosition* corner : {image->topLeft, image->bottomRight}) {
                corner->setAxisRect(panel.rect);
                corner->setAxes(panel.rect->axis(QCPAxis::atBottom),
                                panel.rect->axis(QCPAxis::atLeft));
                corner->setTypeX(QCPItemPosition::ptPlotCoords);
                corner->setTypeY(QCPItemPosition::ptAxisRectRatio);
            }
            panel.images.push_back(image);
        }
        auto* name = new QCPItemText(this);
        name->setText(tr("image %1").arg(m_data->series.images[i].image + 1));
        name->setPositionAlignment(Qt::AlignLeft | Qt::AlignBottom);
        name->setClipToAxisRect(false);
        name->position->setParentAnchor(m_panels[Importance].images.back()->topLeft);
        m_imageNames.push_back(name);
    }
}

qint64 ScoreStripCanvas::tokens() const {
    return m_data ? static_cast<qint64>(m_data->series.kept.size()) : 0;
}

std::span<const float> ScoreStripCanvas::valuesOf(int row) const {
    const analysis::TokenSeries& series = m_data->series;
    return row == Importance  ? series.importance
           : row == Diversity ? series.diversity
                              : series.score;
}

double ScoreStripCanvas::heightOf(int row, double value) const {
    if (row != Importance || !m_isLog || std::isnan(value)) {
        return value;
    }
    return value > 0 ? std::log10(value) : m_zeroLane;
}

void ScoreStripCanvas::setLogImportance(bool on) {
    m_view.logImportance = on;
    scaleValues(Importance);
    replot(rpQueuedReplot);
}

/// The vertical axis spans all tokens, so that it stays while the view pans.
void ScoreStripCanvas::scaleValues(int row) {
    if (!m_data) {
        return;
    }
    double low = std::numeric_limits<double>::infinity(), high = -low, leastPositive = low;
    for (const float value : valuesOf(row)) {
        if (std::isfinite(value)) {
            const auto finite = static_cast<double>(value);
            low = std::min(low, finite);
            high = std::max(high, finite);
            leastPositive = finite > 0 ? std::min(leastPositive, finite) : leastPositive;
        }
    }
    if (low > high) {
        low = 0;
        high = 1;
    }
    QCPAxis* axis = m_panels[static_cast<std::size_t>(row)].rect->axis(QCPAxis::atLeft);
    const bool isLog = row == Importance && m_view.logImportance && std::isfinite(leastPositive);
    if (row == Importance) {
        m_isLog = isLog;
        m_hasLane = isLog && low <= 0;
        m_zeroLane = isLog ? std::floor(std::log10(leastPositive)) - 2 * kLanePadding : 0;
        m_panels[Importance].name->setText(isLog ? tr("importance\n(log)") : tr("importance"));
    }
    if (isLog) {
        low = m_hasLane ? m_zeroLane - kLanePadding : std::log10(leastPositive);
        high = std::log10(high);
    }
    const double padding = high > low ? 0.06 * (high - low) : std::max(std::abs(high), 1.0) * 0.1;
    axis->setRange(low - (m_hasLane && isLog ? 0 : padding), high + padding);
    axis->setTicker(makeTicker([this, isLog](double from, double to) {
        // Panels share the height; their own is known only after the ticks.
        const int height = (viewport().height() - kAroundPanels) / 3;
        const double distance = kLabelDistance * (to - from) / std::max(height, 1);
        if (!isLog) {
            return thinned(linearTicks(from, to, std::clamp(height / 35, 2, 5)), distance);
        }
        auto ticks = logTicks(m_hasLane ? m_zeroLane + kLanePadding : from, to, 3);
        if (m_hasLane) {
            ticks.insert(ticks.begin(), {m_zeroLane, QStringLiteral("0")});
        }
        return thinned(std::move(ticks), distance);
    }));
}

void ScoreStripCanvas::setRange(double first, double last) {
    if (m_settingRange) {
        return;
    }
    m_settingRange = true;
    const double end = static_cast<double>(std::max<qint64>(tokens(), 1)) - 0.5;
    const double width = std::clamp(last - first, std::min(kLeastTokens, end + 0.5), end + 0.5);
    const double middle = 0.5 * (first + last);
    m_view.first = std::clamp(middle - 0.5 * width, -0.5, end - width);
    m_view.last = m_view.first + width;
    for (Panel& panel : m_panels) {
        panel.rect->axis(QCPAxis::atBottom)->setRange(m_view.first, m_view.last);
    }
    m_settingRange = false;
    replot(rpQueuedReplot);
}

double ScoreStripCanvas::pixelsPerToken() const {
    return m_panels[Kept].rect->width() / std::max(m_view.last - m_view.first, 1e-9);
}

/// Runs before each drawing, when the width of the panels is known.
void ScoreStripCanvas::refill() {
    m_wasDrawn = true;
    if (!m_data) {
        for (Panel& panel : m_panels) {
            for (QCPGraph* graph : {panel.line, panel.kept, panel.evicted}) {
                graph->data()->clear();
            }
        }
        return;
    }
    const int beyond = m_cutAtEdges ? 0 : 1; // so that lines go on to the edge
    const auto first = static_cast<std::int64_t>(std::ceil(m_view.first)) - beyond;
    const auto last = static_cast<std::int64_t>(std::floor(m_view.last)) + beyond;
    const int columns = std::max(m_panels[Kept].rect->width(), 1);
    for (const Row row : {Importance, Diversity, Score}) {
        fillPanel(row, first, last, columns);
    }
    fillRug(first, last, columns);
    placeImages();
}

void ScoreStripCanvas::fillPanel(int row, std::int64_t first, std::int64_t last, int columns) {
    QVector<QCPGraphData> line, kept, evicted;
    const auto points = analysis::reduceSeries(valuesOf(row), first, last, columns);
    const bool isReduced = last - first + 1 > 2 * columns;
    for (const analysis::SeriesPoint& point : points) {
        const QCPGraphData drawn(point.position, heightOf(row, point.value));
        line.append(drawn);
        if (!isReduced && !std::isnan(point.value)) {
            const auto token = static_cast<std::size_t>(point.position);
            (m_data->series.kept[token] != 0 ? kept : evicted).append(drawn);
        }
    }
    Panel& panel = m_panels[static_cast<std::size_t>(row)];
    panel.line->data()->set(line, true);
    panel.kept->data()->set(kept, true);
    panel.evicted->data()->set(evicted, true);
    const double size = std::clamp(0.6 * pixelsPerToken(), 1.5, 5.0);
    panel.kept->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssDisc, m_theme.kept, m_theme.kept, size + 1.5));
    panel.evicted->setScatterStyle(
        QCPScatterStyle(QCPScatterStyle::ssCircle, m_theme.evicted, m_theme.background, size));
}

void ScoreStripCanvas::fillRug(std::int64_t first, std::int64_t last, int columns) {
    QVector<QCPGraphData> ticks;
    for (const analysis::SeriesPoint& point :
         analysis::reduceFlags(m_data->series.kept, first, last, columns)) {
        ticks.append(QCPGraphData(point.position, point.value));
    }
    QCPGraph* graph = m_panels[Kept].kept;
    graph->data()->set(ticks, true);
    graph->setPen(QPen(m_theme.kept, std::clamp(0.45 * pixelsPerToken(), 1.0, 4.0)));
}

void ScoreStripCanvas::placeImages() {
    const auto& spans = m_data->series.images;
    for (std::size_t i = 0; i < spans.size(); ++i) {
        const double left = std::max(static_cast<double>(spans[i].first) - 0.5, m_view.first);
        const double right = std::min(static_cast<double>(spans[i].last) + 0.5, m_view.last);
        m_imageNames[i]->setVisible(right > left);
        for (Panel& panel : m_panels) {
            panel.images[i]->setVisible(right > left);
            panel.images[i]->topLeft->setCoords(left, 0);
            panel.images[i]->bottomRight->setCoords(right, 1);
        }
    }
}

void ScoreStripCanvas::mark(qint64 selected, qint64 hovered) {
    m_view.selected = selected;
    m_view.hovered = hovered;
    placeMarks();
    if (m_wasDrawn) {
        layer(QStringLiteral("overlay"))->replot();
    }
}

void ScoreStripCanvas::placeMarks() {
    const auto place = [this](QCPItemStraightLine* line, qint64 token) {
        line->setVisible(token >= 0 && token < tokens());
        line->point1->setCoords(static_cast<double>(token), 0);
        line->point2->setCoords(static_cast<double>(token), 1);
    };
    for (Panel& panel : m_panels) {
        place(panel.selected, m_view.selected);
        place(panel.hovered, m_view.hovered);
    }
}

std::optional<qint64> ScoreStripCanvas::tokenAt(const QPointF& at) const {
    const QRect panels = m_panels[Importance].rect->rect() | m_panels[Kept].rect->rect();
    if (!m_data || !panels.contains(at.toPoint())) {
        return std::nullopt;
    }
    const double position = m_panels[Kept].rect->axis(QCPAxis::atBottom)->pixelToCoord(at.x());
    return std::clamp<qint64>(std::llround(position), 0, tokens() - 1);
}

QPicture ScoreStripCanvas::record(const std::shared_ptr<const ScoreStripData>& data,
                                  const StripView& view, const Theme& theme, const QSize& size) {
    ScoreStripCanvas canvas;
    canvas.m_cutAtEdges = true;
    canvas.m_view.logImportance = view.logImportance;
    canvas.setData(data);
    canvas.setTheme(theme);
    canvas.setRange(view.first, view.last);
    canvas.m_view.selected = view.selected;
    canvas.placeMarks();
    canvas.setViewport(QRect(QPoint(), size));
    canvas.nameAxis();
    QPicture picture;
    QCPPainter painter(&picture);
    painter.setMode(QCPPainter::pmVectorized);
    canvas.toPainter(&painter, size.width(), size.height());
    painter.end();
    return picture;
}

} // namespace ecokv::ui

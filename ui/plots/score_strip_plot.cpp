// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/score_strip_plot.h"

#include "analysis/csv_export.h"
#include "ui/plots/builder_support.h"
#include "ui/plots/paint_tools.h"
#include "ui/plots/score_strip_canvas.h"
#include "ui/plots/score_strip_figure.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QToolTip>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

constexpr double kZoomStep = 1.25;
constexpr double kPanStep = 0.1; ///< of the visible width
constexpr int kMargin = 5, kSideMargin = 12;
constexpr double kDragFrom = 4.0;

QString valueText(float value) {
    return std::isnan(value) ? QStringLiteral("–")
                             : QString::number(static_cast<double>(value), 'g', 3);
}

} // namespace

ScoreStripPlot::ScoreStripPlot(QWidget* parent)
    : FigureWidget(parent), m_canvas(new ScoreStripCanvas) {
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(tr("Scores along the prompt"));
    auto* layout = new QVBoxLayout(this);
    const int top = kMargin + static_cast<int>(std::ceil(textHeight(theme(), TextRole::Label)));
    layout->setContentsMargins(kSideMargin, top, kSideMargin, kMargin);
    layout->addWidget(m_canvas);
    setUpMouse();
    themeChanged();
    setData(nullptr);
}

void ScoreStripPlot::setUpMouse() {
    m_canvas->setContextMenuPolicy(Qt::NoContextMenu); // the menu is this widget's
    connect(m_canvas, &QCustomPlot::mousePress, this,
            [this](QMouseEvent* event) { m_pressed = event->position(); });
    connect(m_canvas, &QCustomPlot::mouseMove, this, [this](QMouseEvent* event) {
        if (event->buttons() == Qt::NoButton) {
            hover(m_canvas->tokenAt(event->position()).value_or(-1));
        }
    });
    connect(m_canvas, &QCustomPlot::mouseRelease, this, [this](QMouseEvent* event) {
        if (event->button() == Qt::LeftButton) {
            release(event->position());
        }
    });
    connect(m_canvas, &QCustomPlot::mouseDoubleClick, this, &ScoreStripPlot::showAll);
}

void ScoreStripPlot::setData(std::shared_ptr<const ScoreStripData> data) {
    m_data = std::move(data);
    m_hovered = -1;
    m_canvas->setData(m_data);
    m_canvas->setVisible(m_data != nullptr);
    m_canvas->mark(m_selected, m_hovered);
    showReadout();
    update();
}

FigurePtr ScoreStripPlot::figure() const {
    if (!m_data) {
        return nullptr;
    }
    const analysis::TokenSeries& series = m_data->series;
    ScoreStripRecording recording;
    const analysis::PolicyView* policy = m_data->document->policy(series.policyId);
    recording.title = tr("Scores along the prompt · layer %1, head %2 · %3")
                          .arg(QString::number(series.layer), QString::number(series.kvHead),
                               policy ? QString::fromStdString(policy->title) : QString());
    const StripView view = m_canvas->view();
    recording.subtitle = tr("tokens %1 to %2 of %3 · ticks below: kept")
                             .arg(std::llround(std::ceil(view.first)))
                             .arg(std::llround(std::floor(view.last)))
                             .arg(series.kept.size()) +
                         scoresNote(*m_data->document, series.policyId) +
                         layerNote(*m_data->document, series.layer);
    recording.record = [data = m_data, view](const Theme& theme, const QSize& size) {
        return ScoreStripCanvas::record(data, view, theme, size);
    };
    auto csv = [data = m_data] {
        return QString::fromStdString(analysis::tokenSeriesCsv(*data->document, data->series));
    };
    return std::make_shared<ScoreStripFigure>(
        std::move(recording), sourceOf(m_data->document, series.policyId, std::move(csv)));
}

QString ScoreStripPlot::describe(qint64 token) const {
    if (!m_data || token < 0 || token >= m_canvas->tokens()) {
        return {};
    }
    const analysis::TokenSeries& series = m_data->series;
    const auto index = static_cast<std::size_t>(token);
    const bool isProtected = std::isnan(series.score[index]);
    const QString fate = isProtected          ? tr("protected, no score")
                         : series.kept[index] ? tr("kept")
                                              : tr("evicted");
    return tr("token %1: %2 · importance %3 · diversity %4 · score %5 · %6")
        .arg(QString::number(token), tokenLabel(*m_data->document, token),
             valueText(series.importance[index]), valueText(series.diversity[index]),
             valueText(series.score[index]), fate);
}

void ScoreStripPlot::showReadout() {
    if (!m_data) {
        return;
    }
    const qint64 token = m_hovered >= 0 ? m_hovered : m_selected;
    const QString text = describe(token);
    const auto kept = std::count(m_data->series.kept.begin(), m_data->series.kept.end(), 1);
    m_readout =
        !text.isEmpty()
            ? text
            : tr("Scores along the prompt: %1 of %2 tokens kept").arg(kept).arg(m_canvas->tokens());
    update();
}

void ScoreStripPlot::setSelectedToken(qint64 token) {
    m_selected = token;
    m_canvas->mark(m_selected, m_hovered);
    showReadout();
}

void ScoreStripPlot::setHoveredToken(qint64 token) {
    m_hovered = token;
    m_canvas->mark(m_selected, m_hovered);
    showReadout();
}

void ScoreStripPlot::setLogImportance(bool on) {
    m_canvas->setLogImportance(on);
}

void ScoreStripPlot::showAll() {
    m_canvas->setRange(-0.5, static_cast<double>(m_canvas->tokens()) - 0.5);
}

std::pair<double, double> ScoreStripPlot::visibleTokens() const {
    return {m_canvas->view().first, m_canvas->view().last};
}

void ScoreStripPlot::hover(qint64 token) {
    if (token != m_hovered) {
        setHoveredToken(token);
        Q_EMIT tokenHovered(token);
    }
}

void ScoreStripPlot::select(qint64 token) {
    setSelectedToken(token);
    const auto [first, last] = visibleTokens();
    const auto at = static_cast<double>(token);
    if (at < first || at > last) {
        pan((at - 0.5 * (first + last)) / (last - first));
    }
    Q_EMIT tokenSelected(token);
}

void ScoreStripPlot::release(const QPointF& at) {
    const QPointF moved = at - m_pressed;
    const auto token = m_canvas->tokenAt(at);
    if (token && std::hypot(moved.x(), moved.y()) <= kDragFrom) {
        select(*token);
    }
}

void ScoreStripPlot::zoom(double factor) {
    const auto [first, last] = visibleTokens();
    const bool isMarked =
        static_cast<double>(m_selected) >= first && static_cast<double>(m_selected) <= last;
    const double fixed = isMarked ? static_cast<double>(m_selected) : 0.5 * (first + last);
    m_canvas->setRange(fixed + (first - fixed) / factor, fixed + (last - fixed) / factor);
}

void ScoreStripPlot::pan(double share) {
    const auto [first, last] = visibleTokens();
    const double by = share * (last - first);
    m_canvas->setRange(first + by, last + by);
}

void ScoreStripPlot::keyPressEvent(QKeyEvent* event) {
    const qint64 last = m_canvas->tokens() - 1;
    const bool selects = event->modifiers().testFlag(Qt::ShiftModifier) && last >= 0;
    switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
        return zoom(kZoomStep);
    case Qt::Key_Minus:
        return zoom(1 / kZoomStep);
    case Qt::Key_0:
        return showAll();
    case Qt::Key_Home:
        return pan(-1e9);
    case Qt::Key_End:
        return pan(1e9);
    case Qt::Key_Left:
        return selects ? select(std::max<qint64>(m_selected - 1, 0)) : pan(-kPanStep);
    case Qt::Key_Right:
        return selects ? select(std::min(m_selected + 1, last)) : pan(kPanStep);
    default:
        FigureWidget::keyPressEvent(event);
    }
}

void ScoreStripPlot::leaveEvent(QEvent*) {
    hover(-1);
}

bool ScoreStripPlot::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip) {
        return FigureWidget::event(event);
    }
    QString text = describe(m_hovered);
    if (text.isEmpty()) {
        QToolTip::hideText();
    } else {
        text.replace(QStringLiteral(" · "), QStringLiteral("\n"));
        QToolTip::showText(static_cast<QHelpEvent*>(event)->globalPos(), text, this);
    }
    return true;
}

void ScoreStripPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (m_data) {
        painter.fillRect(rect(), theme().background);
        const QRectF line(kSideMargin, kMargin, width() - 2 * kSideMargin,
                          textHeight(theme(), TextRole::Label));
        drawText(painter, theme(), line, m_readout, {TextRole::Label, theme().text});
    } else {
        paintBase(painter);
    }
}

void ScoreStripPlot::themeChanged() {
    m_canvas->setTheme(theme());
}

void ScoreStripPlot::extendMenu(QMenu& menu) {
    menu.addAction(tr("&Show all"), this, &ScoreStripPlot::showAll)->setEnabled(m_data != nullptr);
    QAction* logarithmic = menu.addAction(tr("&Logarithmic importance"));
    logarithmic->setCheckable(true);
    logarithmic->setChecked(m_canvas->view().logImportance);
    connect(logarithmic, &QAction::toggled, this, &ScoreStripPlot::setLogImportance);
    menu.addSeparator();
}

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/figure_builders.h"

#include "analysis/csv_export.h"
#include "base/error.h"
#include "ui/plots/builder_support.h"

#include <algorithm>
#include <cmath>

namespace ecokv::ui {
namespace {

TokenKind kindOf(std::uint8_t kind) {
    return kind <= 2 ? static_cast<TokenKind>(kind) : TokenKind::Text;
}

QString headTitle(const analysis::TraceDocument& document, const analysis::HeadScatter& scatter) {
    const analysis::PolicyView* policy = document.policy(scatter.policyId);
    return Builders::tr("Importance against diversity · layer %1, head %2 · %3")
        .arg(QString::number(scatter.layer), QString::number(scatter.kvHead),
             policy != nullptr ? QString::fromStdString(policy->title) : QString());
}

/// Statistics of the head, and what marks and scores are of where that is not plain.
QString headSubtitle(const analysis::TraceDocument& document,
                     const analysis::HeadScatter& scatter) {
    if (document.isLinear(scatter.layer)) {
        return {};
    }
    QString text = Builders::tr("rank correlation %1 · redundancy %2 (cosine %3, Euclid %4)")
                       .arg(scatter.spearman, 0, 'f', 2)
                       .arg(scatter.redundancy, 0, 'f', 2)
                       .arg(scatter.redundancyCosine, 0, 'f', 2)
                       .arg(scatter.redundancyEuclid, 0, 'f', 2);
    return text + scoresNote(document, scatter.policyId) + layerNote(document, scatter.layer);
}

void addMarks(ScatterData& data, const analysis::TraceDocument& document,
              const analysis::HeadScatter& scatter) {
    data.marks.reserve(scatter.points.size());
    data.labels.reserve(scatter.points.size());
    for (const analysis::ScatterPoint& point : scatter.points) {
        data.marks.push_back(
            {point.token, point.importance, point.diversity, kindOf(point.kind), point.kept});
        data.labels.push_back(
            Builders::tr("token %1: %2\nimportance %3, diversity %4\n%5")
                .arg(point.token)
                .arg(tokenLabel(document, point.token))
                .arg(point.importance, 0, 'g', 3)
                .arg(point.diversity, 0, 'g', 3)
                .arg(point.kept ? Builders::tr("kept") : Builders::tr("evicted")));
    }
}

} // namespace

QString scoresNote(const analysis::TraceDocument& document, const std::string& policyId) {
    const std::string scored = document.mainPolicy();
    const analysis::PolicyView* policy = scored == policyId ? nullptr : document.policy(scored);
    return policy == nullptr
               ? QString()
               : Builders::tr(" · scores of %1").arg(QString::fromStdString(policy->title));
}

const analysis::PolicyView& policyOf(const analysis::TraceDocument& document,
                                     const std::string& id) {
    const analysis::PolicyView* found = document.policy(id);
    if (found == nullptr) {
        throwUsage("The trace " + document.path.string() + " has no policy \"" + id + "\".",
                   "`ecokv info` lists its policies.");
    }
    return *found;
}

FigureSource sourceOf(const DocumentPtr& document, const std::string& policyId,
                      std::function<QString()> csv) {
    return {QString::fromStdString(document->provenance(policyId)), std::move(csv)};
}

QString layerNote(const analysis::TraceDocument& document, std::int64_t layer) {
    if (document.isLinear(layer)) {
        return Builders::tr(" · no KV cache (linear attention)");
    }
    const std::int64_t window = document.slidingWindow(layer);
    return window > 0 ? Builders::tr(" · sliding window of %1 tokens, not evicted").arg(window)
                      : QString();
}

QString uncachedSentence(std::int64_t layer) {
    if (layer < 0) {
        return Builders::tr("No layer has a KV cache (linear attention): no token is kept or "
                            "evicted.");
    }
    return Builders::tr(
               "Layer %1 has no KV cache (linear attention): it keeps and evicts no token.")
        .arg(layer);
}

std::shared_ptr<const ScatterFigure> scatterFigure(const DocumentPtr& document,
                                                   const analysis::HeadScatter& scatter,
                                                   bool logImportance) {
    ScatterData data;
    data.title = headTitle(*document, scatter);
    data.subtitle = headSubtitle(*document, scatter);
    data.xLabel = Builders::tr("importance (mean window attention)");
    data.yLabel = Builders::tr("diversity (0..1)");
    data.logX = logImportance;
    if (document->isLinear(scatter.layer)) {
        data.instead = uncachedSentence(scatter.layer);
    } else {
        addMarks(data, *document, scatter);
    }
    auto csv = [document, scatter] {
        return QString::fromStdString(analysis::scatterCsv(*document, scatter));
    };
    return std::make_shared<ScatterFigure>(std::move(data),
                                           sourceOf(document, scatter.policyId, std::move(csv)));
}

QString describeScope(const analysis::SurvivalQuery& query) {
    if (query.mode == analysis::SurvivalMode::Head) {
        return Builders::tr("layer %1, head %2").arg(query.layer).arg(query.kvHead);
    }
    const QString scope =
        query.layer < 0 ? Builders::tr("all layers") : Builders::tr("layer %1").arg(query.layer);
    switch (query.mode) {
    case analysis::SurvivalMode::Union:
        return Builders::tr("%1, kept by any head").arg(scope);
    case analysis::SurvivalMode::Intersection:
        return Builders::tr("%1, kept by every head").arg(scope);
    default:
        return Builders::tr("%1, share of heads").arg(scope);
    }
}

} // namespace ecokv::ui

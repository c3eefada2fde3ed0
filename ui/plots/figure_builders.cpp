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

QString policyTitle(const analysis::TraceDocument& document, const std::string& id) {
    return QString::fromStdString(policyOf(document, id).title);
}

} // namespace

const analysis::PolicyView& policyOf(const analysis::TraceDocument& document,
                                     const std::string& id) {
    const analysis::PolicyView* found = document.policy(id);
    if (found == nullptr) {
        throwUsage("The trace " + document.path.string() + " has no policy \"" + id + "\".",
                   "`ecokv info` lists its policies.");
    }
    return *found;
}

FigureSource sourceOf(const DocumentPtr& document, std::function<QString()> csv) {
    return {QString::fromStdString(document->provenance()), std::move(csv)};
}

std::shared_ptr<const ScatterFigure> scatterFigure(const DocumentPtr& document,
                                                   const analysis::HeadScatter& scatter,
                                                   bool logImportance) {
    ScatterData data;
    data.title = Builders::tr("Importance against diversity · layer %1, head %2")
                     .arg(scatter.layer)
                     .arg(scatter.kvHead);
    data.subtitle = Builders::tr("rank correlation %1 · redundancy %2 (cosine %3, Euclid %4)")
                        .arg(scatter.spearman, 0, 'f', 2)
                        .arg(scatter.redundancy, 0, 'f', 2)
                        .arg(scatter.redundancyCosine, 0, 'f', 2)
                        .arg(scatter.redundancyEuclid, 0, 'f', 2);
    data.xLabel = Builders::tr("importance (mean window attention)");
    data.yLabel = Builders::tr("diversity (0..1)");
    data.logX = logImportance;
    data.marks.reserve(scatter.points.size());
    data.labels.reserve(scatter.points.size());
    for (const analysis::ScatterPoint& point : scatter.points) {
        data.marks.push_back(
            {point.token, point.importance, point.diversity, kindOf(point.kind), point.kept});
        data.labels.push_back(
            Builders::tr("token %1: %2\nimportance %3, diversity %4\n%5")
                .arg(point.token)
                .arg(tokenLabel(*document, point.token))
                .arg(point.importance, 0, 'g', 3)
                .arg(point.diversity, 0, 'g', 3)
                .arg(point.kept ? Builders::tr("kept") : Builders::tr("evicted")));
    }
    auto csv = [document, scatter] {
        return QString::fromStdString(analysis::scatterCsv(*document, scatter));
    };
    return std::make_shared<ScatterFigure>(std::move(data), sourceOf(document, std::move(csv)));
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

QString tokenLabel(const analysis::TraceDocument& document, std::int64_t token) {
    const auto index = static_cast<std::size_t>(token);
    if (!document.prompt || token < 0 || index >= document.prompt->tokenKind.size()) {
        return Builders::tr("token %1").arg(token);
    }
    const trace::PromptRecord& prompt = *document.prompt;
    if (kindOf(prompt.tokenKind[index]) != TokenKind::Image) {
        QString text = QString::fromStdString(prompt.tokenText[index]);
        text.replace(QLatin1Char('\n'), QStringLiteral("↵"));
        text.replace(QLatin1Char(' '), QStringLiteral("␣"));
        return QStringLiteral("“%1”").arg(text);
    }
    const auto image = prompt.imageIndex[index];
    const auto first = std::find(prompt.imageIndex.begin(), prompt.imageIndex.end(), image);
    return Builders::tr("image %1, patch %2")
        .arg(image + 1)
        .arg(token - (first - prompt.imageIndex.begin()));
}

std::shared_ptr<const SurvivalFigure> survivalFigure(const SurvivalInput& input,
                                                     std::size_t imageIndex) {
    const analysis::TraceDocument& document = *input.document;
    if (imageIndex >= document.images.size() || !document.prompt) {
        throwUsage("The trace " + document.path.string() + " has no image " +
                       std::to_string(imageIndex) + "; it holds " +
                       std::to_string(document.images.size()) + ".",
                   "Images count from 0.");
    }
    const trace::ImageRecord& image = document.images[imageIndex];
    const trace::PromptRecord& prompt = *document.prompt;
    SurvivalData data;
    data.picture = imageFromPixels(image.pixels, image.width, image.height);
    data.isCount = input.query.mode == analysis::SurvivalMode::Count;
    data.title = policyTitle(document, input.query.policyId);
    const auto addPatches = [&](bool thumbnails) {
        for (std::size_t i = 0; i < prompt.patchBox.size(); ++i) {
            const auto& box = prompt.patchBox[i];
            const bool isThumbnail = prompt.patchRole[i] == 3;
            if (prompt.imageIndex[i] != static_cast<std::int32_t>(imageIndex) ||
                isThumbnail != thumbnails || !std::isfinite(box[0])) {
                continue;
            }
            data.patches.push_back({static_cast<qint64>(i),
                                    QRectF(QPointF(box[0], box[1]), QPointF(box[2], box[3])),
                                    input.survival.share[i]});
        }
    };
    addPatches(false);
    if (data.patches.empty()) { // the thumbnail is all there is
        addPatches(true);
    }
    data.subtitle = describeScope(input.query);
    if (document.images.size() > 1) {
        data.subtitle +=
            Builders::tr(" · image %1 of %2").arg(imageIndex + 1).arg(document.images.size());
    }
    auto csv = [document = input.document, query = input.query] {
        return QString::fromStdString(analysis::survivalCsv(*document, query));
    };
    return std::make_shared<SurvivalFigure>(std::move(data),
                                            sourceOf(input.document, std::move(csv)));
}

std::shared_ptr<const TokenTextFigure> tokenTextFigure(const SurvivalInput& input) {
    const analysis::TraceDocument& document = *input.document;
    TokenTextData data;
    data.isCount = input.query.mode == analysis::SurvivalMode::Count;
    data.title = policyTitle(document, input.query.policyId);
    data.subtitle = describeScope(input.query);
    const auto& share = input.survival.share;
    const trace::PromptRecord prompt = document.prompt.value_or(trace::PromptRecord());
    for (std::size_t i = 0; i < prompt.tokenKind.size() && i < share.size();) {
        const TokenKind kind = kindOf(prompt.tokenKind[i]);
        if (kind != TokenKind::Image) {
            data.tokens.push_back({static_cast<qint64>(i),
                                   QString::fromStdString(prompt.tokenText[i]), kind, share[i], 1});
            ++i;
            continue;
        }
        const std::size_t first = i;
        int kept = 0;
        while (i < share.size() && kindOf(prompt.tokenKind[i]) == TokenKind::Image &&
               prompt.imageIndex[i] == prompt.imageIndex[first]) {
            kept += share[i] > 0 ? 1 : 0;
            ++i;
        }
        const auto length = static_cast<qint64>(i - first);
        data.tokens.push_back({static_cast<qint64>(first),
                               Builders::tr("▦ image %1: %2 of %3 patches kept")
                                   .arg(prompt.imageIndex[first] + 1)
                                   .arg(kept)
                                   .arg(length),
                               kind, static_cast<float>(kept) / static_cast<float>(length),
                               length});
    }
    auto csv = [document = input.document, query = input.query] {
        return QString::fromStdString(analysis::survivalCsv(*document, query));
    };
    return std::make_shared<TokenTextFigure>(std::move(data),
                                             sourceOf(input.document, std::move(csv)));
}

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
// Survival figures from a trace: pictures with their patches, the prompt's text with its tokens.
#include "analysis/csv_export.h"
#include "base/error.h"
#include "ui/plots/builder_support.h"
#include "ui/plots/figure_builders.h"

#include <algorithm>

namespace ecokv::ui {
namespace {

using analysis::PatchRole;

TokenKind kindOf(std::uint8_t kind) {
    return kind <= 2 ? static_cast<TokenKind>(kind) : TokenKind::Text;
}

QRectF rectOf(const std::array<float, 4>& box) {
    return {QPointF(box[0], box[1]), QPointF(box[2], box[3])};
}

FigureSource survivalSource(const SurvivalInput& input) {
    auto csv = [document = input.document, query = input.query] {
        return QString::fromStdString(analysis::survivalCsv(*document, query));
    };
    return sourceOf(input.document, input.query.policyId, std::move(csv));
}

/// What is asked, what kind of layer that is if it is no full one, and which are left out of all.
QString scopeOf(const SurvivalInput& input) {
    const QString scope =
        describeScope(input.query) + layerNote(*input.document, input.query.layer);
    return input.survival.slidingLayers > 0 ? scope + Builders::tr(" · sliding layers left out: %1")
                                                          .arg(input.survival.slidingLayers)
                                            : scope;
}

/// The sentence in the place of survivors, "" where there are some.
QString insteadOf(const SurvivalInput& input) {
    return input.survival.heads == 0 ? uncachedSentence(input.query.layer) : QString();
}

/// "24 row ends (5 kept)" or nothing.
void addCount(QStringList& parts, const analysis::TokenCount& tokens, const QString& word) {
    if (tokens.all > 0) {
        parts << Builders::tr("%1 %2 (%3 kept)").arg(tokens.all).arg(word).arg(tokens.kept);
    }
}

/// What of the picture is shown, and which of its tokens cannot be.
QString describePicture(const SurvivalInput& input, std::size_t imageIndex,
                        const analysis::ImageTokens& tokens) {
    QStringList parts{scopeOf(input)};
    if (input.document->images.size() > 1) {
        parts << Builders::tr("image %1 of %2")
                     .arg(imageIndex + 1)
                     .arg(input.document->images.size());
    }
    if (tokens.hasTiles && tokens.hasThumbnail) {
        parts << (input.patches == analysis::PatchView::Tiles ? Builders::tr("tiles")
                  : input.patches == analysis::PatchView::Thumbnail
                      ? Builders::tr("thumbnail")
                      : Builders::tr("tiles and thumbnail"));
    }
    QStringList without;
    addCount(without, tokens.newlines, Builders::tr("row ends"));
    addCount(without, tokens.separators, Builders::tr("separators"));
    addCount(without, tokens.unplaced, Builders::tr("padding"));
    if (!without.isEmpty()) {
        parts << Builders::tr("without a place: %1").arg(without.join(QStringLiteral(", ")));
    }
    return parts.join(QStringLiteral(" · "));
}

/// Which of its kind a token is within its picture, from 0.
qint64 numberOf(const trace::PromptRecord& prompt, std::size_t token) {
    qint64 number = 0;
    for (std::size_t i = 0; i < token; ++i) {
        number += prompt.imageIndex[i] == prompt.imageIndex[token] &&
                          prompt.patchRole[i] == prompt.patchRole[token]
                      ? 1
                      : 0;
    }
    return number;
}

/// A run of image tokens of one picture, [first, end).
TextToken runOf(const SurvivalInput& input, std::size_t first, std::size_t end) {
    const trace::PromptRecord& prompt = *input.document->prompt;
    analysis::TokenCount patches, others;
    for (std::size_t i = first; i < end; ++i) {
        const PatchRole role = analysis::patchRoleOf(prompt.patchRole[i]);
        const bool isPatch = role == PatchRole::Patch || role == PatchRole::Thumbnail;
        analysis::TokenCount& counted = isPatch ? patches : others;
        ++counted.all;
        counted.kept += input.survival.share[i] > 0 ? 1 : 0;
    }
    const bool isThumbnail = analysis::patchRoleOf(prompt.patchRole[first]) == PatchRole::Thumbnail;
    QString text = (isThumbnail ? Builders::tr("▦ image %1, thumbnail: %2 of %3 patches kept")
                                : Builders::tr("▦ image %1: %2 of %3 patches kept"))
                       .arg(prompt.imageIndex[first] + 1)
                       .arg(patches.kept)
                       .arg(patches.all);
    if (others.all > 0) {
        text += Builders::tr(", %1 of %2 row ends and separators").arg(others.kept).arg(others.all);
    }
    const auto length = static_cast<qint64>(end - first);
    const auto kept = static_cast<float>(patches.kept + others.kept);
    return {static_cast<qint64>(first), text, TokenKind::Image, kept / static_cast<float>(length),
            length};
}

} // namespace

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
    const QString name = [&] {
        switch (analysis::patchRoleOf(prompt.patchRole[index])) {
        case PatchRole::Newline:
            return Builders::tr("image %1, end of row %2");
        case PatchRole::Separator:
            return Builders::tr("image %1, separator %2");
        case PatchRole::Thumbnail:
            return Builders::tr("image %1, thumbnail patch %2");
        case PatchRole::Patch:
            break;
        }
        return Builders::tr("image %1, patch %2");
    }();
    return name.arg(prompt.imageIndex[index] + 1).arg(numberOf(prompt, index));
}

std::shared_ptr<const SurvivalFigure> survivalFigure(const SurvivalInput& input,
                                                     std::size_t imageIndex) {
    const analysis::TraceDocument& document = *input.document;
    const analysis::ImageTokens tokens = analysis::imageTokens(
        document, static_cast<std::int64_t>(imageIndex), input.survival.share, input.patches);
    const trace::ImageRecord& image = document.images[imageIndex];
    SurvivalData data;
    data.picture = imageFromPixels(image.pixels, image.width, image.height);
    data.isCount = input.query.mode == analysis::SurvivalMode::Count;
    data.title = QString::fromStdString(policyOf(document, input.query.policyId).title);
    data.subtitle = describePicture(input, imageIndex, tokens);
    data.instead = insteadOf(input);
    if (!data.instead.isEmpty()) { // nothing was kept, and nothing evicted
        data.isCount = false;
        return std::make_shared<SurvivalFigure>(std::move(data), survivalSource(input));
    }
    for (const analysis::PatchToken& patch : tokens.patches) {
        data.patches.push_back({patch.token, rectOf(patch.box), patch.share});
    }
    for (const analysis::PatchArea& area : analysis::coverOf(tokens.patches)) {
        data.areas.push_back({rectOf(area.box), area.share});
    }
    return std::make_shared<SurvivalFigure>(std::move(data), survivalSource(input));
}

std::shared_ptr<const TokenTextFigure> tokenTextFigure(const SurvivalInput& input) {
    const analysis::TraceDocument& document = *input.document;
    TokenTextData data;
    data.isCount = input.query.mode == analysis::SurvivalMode::Count;
    data.title = QString::fromStdString(policyOf(document, input.query.policyId).title);
    data.subtitle = scopeOf(input);
    data.instead = insteadOf(input);
    if (!data.instead.isEmpty()) {
        return std::make_shared<TokenTextFigure>(std::move(data), survivalSource(input));
    }
    const auto& share = input.survival.share;
    const trace::PromptRecord prompt = document.prompt.value_or(trace::PromptRecord());
    const auto isThumbnail = [&](std::size_t i) {
        return analysis::patchRoleOf(prompt.patchRole[i]) == PatchRole::Thumbnail;
    };
    for (std::size_t i = 0; i < prompt.tokenKind.size() && i < share.size();) {
        const TokenKind kind = kindOf(prompt.tokenKind[i]);
        if (kind != TokenKind::Image) {
            data.tokens.push_back({static_cast<qint64>(i),
                                   QString::fromStdString(prompt.tokenText[i]), kind, share[i], 1});
            ++i;
            continue;
        }
        const std::size_t first = i;
        while (i < share.size() && kindOf(prompt.tokenKind[i]) == TokenKind::Image &&
               prompt.imageIndex[i] == prompt.imageIndex[first] &&
               isThumbnail(i) == isThumbnail(first)) {
            ++i;
        }
        data.tokens.push_back(runOf(input, first, i));
    }
    return std::make_shared<TokenTextFigure>(std::move(data), survivalSource(input));
}

} // namespace ecokv::ui

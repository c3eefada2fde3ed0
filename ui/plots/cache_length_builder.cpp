// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/cache_length.h"
#include "base/error.h"
#include "ui/plots/builder_support.h"

namespace ecokv::ui {
namespace {

QString subtitleOf(const std::optional<analysis::DecodeBound>& bound, const std::string& rule,
                   std::int64_t slidingLayers) {
    QString subtitle = QString::fromStdString(rule);
    if (bound) {
        subtitle = Builders::tr("evicted every %1 tokens to %2 per head on average")
                       .arg(bound->every)
                       .arg(bound->budget);
    }
    if (slidingLayers > 0) {
        subtitle += (subtitle.isEmpty() ? QString() : QStringLiteral(" · ")) +
                    Builders::tr("sliding layers left out: %1").arg(slidingLayers);
    }
    return subtitle;
}

} // namespace

bool hasCacheLengths(const analysis::TraceDocument& document, const std::string& policyId) {
    const analysis::PolicyView* policy = document.policy(policyId);
    return policy != nullptr && !analysis::cacheLengths(document, *policy).empty();
}

std::shared_ptr<const CacheLengthFigure> cacheLengthFigure(const DocumentPtr& document,
                                                           const std::string& policyId) {
    const analysis::PolicyView& policy = policyOf(*document, policyId);
    const analysis::CacheLengths lengths = analysis::cacheLengths(*document, policy);
    if (lengths.empty()) {
        throwUsage("The trace " + document->path.string() +
                       " does not say how long the cache was while " + policy.name + " answered.",
                   "Record a run that generates an answer.");
    }
    const std::string rule = analysis::decodeEviction(*document);
    const auto bound = analysis::decodeBound(rule);
    CacheLengthData data;
    data.title =
        Builders::tr("Cache while answering · %1").arg(QString::fromStdString(policy.title));
    data.subtitle = subtitleOf(bound, rule, lengths.slidingLayers);
    data.mean = lengths.mean;
    data.longest.assign(lengths.longest.begin(), lengths.longest.end());
    if (bound) {
        data.bound = static_cast<double>(bound->most());
    }
    for (std::size_t step = 0; step < lengths.mean.size(); ++step) {
        const auto& texts = policy.decode->tokenText;
        const QString text = step < texts.size() ? QString::fromStdString(texts[step]) : QString();
        data.labels.push_back(Builders::tr("step %1: “%2”\n%3 tokens per head, %4 in the longest")
                                  .arg(QString::number(step), text,
                                       QString::number(lengths.mean[step], 'g', 5),
                                       QString::number(lengths.longest[step])));
    }
    auto csv = [document, policyId] {
        return QString::fromStdString(
            analysis::cacheLengthCsv(*document, policyOf(*document, policyId)));
    };
    return std::make_shared<CacheLengthFigure>(std::move(data),
                                               sourceOf(document, policyId, std::move(csv)));
}

} // namespace ecokv::ui

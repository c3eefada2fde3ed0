// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/run_summary.h"

#include "ui/models/formatting.h"

#include <QCoreApplication>

#include <algorithm>
#include <limits>

namespace ecokv::ui {

namespace {

QString translated(const char* text) {
    return QCoreApplication::translate("RunSummary", text);
}

std::int64_t attributeNumber(const trace::Attributes& attributes, const std::string& name) {
    const auto found = attributes.find(name);
    if (found == attributes.end()) {
        return 0;
    }
    if (const auto* integer = std::get_if<std::int64_t>(&found->second)) {
        return *integer;
    }
    const auto* real = std::get_if<double>(&found->second);
    return real == nullptr ? 0 : static_cast<std::int64_t>(*real);
}

std::optional<QString> decodedAnswer(const std::optional<trace::DecodeRecord>& decode) {
    if (!decode) {
        return std::nullopt;
    }
    const QString recorded = attributeText(decode->attributes, "answer");
    if (!recorded.isEmpty()) {
        return recorded;
    }
    std::string bytes;
    for (const std::string& token : decode->tokenText) {
        bytes += token;
    }
    return QString::fromStdString(bytes);
}

void addTiming(Facts& facts, const QString& label, double seconds) {
    if (seconds > 0.0) {
        facts.emplace_back(label, formatSeconds(seconds));
    }
}

/// What a comparison measured of the policy; nothing where it was not compared.
void addComparison(Facts& facts, const trace::Attributes& policy) {
    const auto add = [&](const QString& label, const char* name, auto format) {
        const auto found = policy.find(name);
        const auto* value = found == policy.end() ? nullptr : std::get_if<double>(&found->second);
        if (value != nullptr) {
            facts.emplace_back(label, format(*value));
        }
    };
    const auto nats = [](double value) { return translated("%1 nats").arg(formatNumber(value)); };
    add(translated("Mean KL to the full cache"), "mean_kl", nats);
    add(translated("Top-1 agreement"), "top1_agreement", formatShare);
    add(translated("Perplexity ratio"), "perplexity_ratio", formatNumber);
    add(translated("Output error, predicted"), "predicted_output_error", formatShare);
    add(translated("Output error, measured"), "measured_output_error", formatShare);
}

void addText(Facts& facts, const QString& label, const QString& value) {
    if (!value.isEmpty()) {
        facts.emplace_back(label, value);
    }
}

session::Ledger ledgerOf(const analysis::TraceDocument& document,
                         const trace::PolicyRecord& policy) {
    session::Ledger ledger;
    const auto kvHeads = static_cast<std::size_t>(document.dimensions.kvHeads);
    for (std::size_t at = 0; kvHeads > 0 && at + kvHeads <= policy.budgetPerHead.size();
         at += kvHeads) {
        const auto first = policy.budgetPerHead.begin() + static_cast<std::ptrdiff_t>(at);
        ledger.keptTokens.emplace_back(first, first + static_cast<std::ptrdiff_t>(kvHeads));
    }
    ledger.promptTokens = document.dimensions.tokens;
    const bool isWhole = policy.attributes.contains("compressed") &&
                         attributeNumber(policy.attributes, "compressed") == 0;
    if (!isWhole) { // else nothing is protected, for nothing is evicted
        ledger.protectedTokens = attributeNumber(policy.attributes, "sink") +
                                 attributeNumber(policy.attributes, "recent");
    }
    if (document.model) {
        ledger.slidingWindows = document.model->slidingWindows;
        ledger.linearLayers = document.model->linearLayers;
    }
    ledger.keptBytes = static_cast<std::uint64_t>(attributeNumber(policy.attributes, "kept_bytes"));
    ledger.fullBytes = static_cast<std::uint64_t>(attributeNumber(policy.attributes, "full_bytes"));
    return ledger;
}

} // namespace

QString attributeText(const trace::Attributes& attributes, const std::string& name) {
    const auto found = attributes.find(name);
    if (found == attributes.end()) {
        return {};
    }
    if (const auto* text = std::get_if<std::string>(&found->second)) {
        return QString::fromStdString(*text);
    }
    if (const auto* integer = std::get_if<std::int64_t>(&found->second)) {
        return QString::number(*integer);
    }
    return formatNumber(std::get<double>(found->second));
}

QString decodingLine(const std::string& decodeEviction, const analysis::CacheLengths& lengths) {
    QStringList parts;
    if (const auto bound = analysis::decodeBound(decodeEviction)) {
        parts << translated("bounded, at most %1 + %2 − 1 = %3 tokens per head on average")
                     .arg(bound->budget)
                     .arg(bound->every)
                     .arg(bound->most());
    } else if (!decodeEviction.empty()) {
        parts << translated("%1 eviction").arg(QString::fromStdString(decodeEviction));
    }
    if (!lengths.empty()) {
        parts << translated("%1 → %2 tokens per head")
                     .arg(formatNumber(lengths.mean.front()), formatNumber(lengths.mean.back()));
    }
    return parts.isEmpty()
               ? QString()
               : translated("While answering: %1").arg(parts.join(QStringLiteral(", ")));
}

RunSummary summariseRun(const session::RunResult& result) {
    RunSummary summary;
    summary.policyTitle = result.budget > 0 ? translated("%1, budget %2")
                                                  .arg(QString::fromStdString(result.policy))
                                                  .arg(result.budget)
                                            : QString::fromStdString(result.policy);
    summary.policyAnswer = QString::fromStdString(result.answer.text);
    if (result.hasFullAnswer) {
        summary.fullAnswer = QString::fromStdString(result.fullAnswer.text);
    }
    summary.promptTokens = result.promptTokens;
    summary.imageTokens = result.imageTokens;
    summary.ledger = result.ledger;
    const session::CacheHistory& cache = result.answer.cache;
    summary.decoding = decodingLine(result.decodeEviction,
                                    analysis::cacheLengths({cache.keptLength, cache.layers,
                                                            cache.kvHeads, result.ledger.kinds()}));
    addText(summary.facts, translated("Device"), QString::fromStdString(result.device));
    addText(summary.facts, translated("Kernels"), QString::fromStdString(result.backend));
    addText(summary.facts, translated("Type"), QString::fromStdString(result.dtype));
    addTiming(summary.facts, translated("Loading"), result.timings.loadSeconds);
    addTiming(summary.facts, translated("Preparing the prompt"), result.timings.prepareSeconds);
    addTiming(summary.facts, translated("Prefill"), result.timings.prefillSeconds);
    addTiming(summary.facts, translated("Scoring"), result.timings.scoringSeconds);
    addTiming(summary.facts, translated("Decoding"), result.timings.decodeSeconds);
    if (result.timings.decodeTokensPerSecond > 0.0) {
        summary.facts.emplace_back(
            translated("Decoding speed"),
            translated("%1 tokens/s").arg(formatNumber(result.timings.decodeTokensPerSecond)));
    }
    addTiming(summary.facts, translated("Total"), result.timings.totalSeconds);
    for (const std::string& note : result.notes) {
        summary.notes << QString::fromStdString(note);
    }
    return summary;
}

RunSummary summariseTrace(const analysis::TraceDocument& document,
                          const analysis::PolicyView* policy) {
    RunSummary summary;
    summary.promptTokens = document.dimensions.tokens;
    if (document.prompt) {
        const auto& kinds = document.prompt->tokenKind;
        summary.imageTokens = std::count(kinds.begin(), kinds.end(), std::uint8_t{2});
    }
    summary.ledger.promptTokens = document.dimensions.tokens;
    if (policy != nullptr) {
        summary.policyTitle = QString::fromStdString(policy->title);
        summary.policyAnswer = decodedAnswer(policy->decode);
        summary.ledger = ledgerOf(document, policy->record);
        summary.decoding = decodingLine(analysis::decodeEviction(document),
                                        analysis::cacheLengths(document, *policy));
    }
    summary.fullAnswer = decodedAnswer(document.fullDecode);
    if (policy != nullptr) {
        addComparison(summary.facts, policy->record.attributes);
    }
    if (document.model) {
        addText(summary.facts, translated("Model"),
                attributeText(document.model->attributes, "name"));
    }
    if (document.run) {
        addText(summary.facts, translated("Device"),
                attributeText(document.run->attributes, "device"));
        addText(summary.facts, translated("Kernels"),
                attributeText(document.run->attributes, "backend"));
    }
    addText(summary.facts, translated("Recorded"), attributeText(document.root, "created"));
    for (const std::string& problem : document.problems) {
        summary.notes << QString::fromStdString(problem);
    }
    return summary;
}

LedgerFigures ledgerFigures(const session::Ledger& ledger) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    LedgerFigures figures{nan, 0, 0, nan, nan};
    double sum = 0;
    std::int64_t heads = 0;
    const std::vector<bool> counted = ledger.kinds().counted(ledger.layers());
    for (std::size_t layer = 0; layer < ledger.keptTokens.size(); ++layer) {
        if (!counted[layer]) {
            continue; // no compression, so no part of the figures (field case F034)
        }
        for (const std::int64_t kept : ledger.keptTokens[layer]) {
            figures.fewest = heads == 0 ? kept : std::min(figures.fewest, kept);
            figures.most = std::max(figures.most, kept);
            sum += static_cast<double>(kept);
            ++heads;
        }
    }
    if (heads > 0) {
        figures.meanKept = sum / static_cast<double>(heads);
        if (ledger.promptTokens > 0) {
            figures.keptShare = figures.meanKept / static_cast<double>(ledger.promptTokens);
        }
    }
    if (ledger.fullBytes > 0 && ledger.keptBytes > 0) {
        figures.savedShare =
            1.0 - static_cast<double>(ledger.keptBytes) / static_cast<double>(ledger.fullBytes);
    }
    return figures;
}

} // namespace ecokv::ui

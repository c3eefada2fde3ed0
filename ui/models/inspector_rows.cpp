// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/models/inspector_rows.h"

#include "ui/models/formatting.h"
#include "ui/models/run_summary.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace ecokv::ui {

namespace {

QString translated(const char* text) {
    return QCoreApplication::translate("Inspector", text);
}

QString dash() {
    return QStringLiteral("–");
}

QString metricValue(const InspectorInput& input, const std::string& name) {
    const std::vector<float>* values = input.document ? input.document->headMetric(name) : nullptr;
    const auto at = static_cast<std::size_t>(
        input.document
            ? input.selection.layer * input.document->dimensions.kvHeads + input.selection.kvHead
            : 0);
    if (values == nullptr || at >= values->size()) {
        return dash();
    }
    return formatNumber(static_cast<double>((*values)[at]));
}

bool isUncached(const InspectorInput& input) {
    return input.document && input.document->isLinear(input.selection.layer);
}

QString keptTokens(const InspectorInput& input) {
    if (input.policy == nullptr || !input.document) {
        return dash();
    }
    if (isUncached(input)) {
        return translated("no KV cache");
    }
    const auto at = static_cast<std::size_t>(
        input.selection.layer * input.document->dimensions.kvHeads + input.selection.kvHead);
    const auto& kept = input.policy->record.budgetPerHead;
    return at < kept.size()
               ? translated("%1 of %2").arg(kept[at]).arg(input.document->dimensions.tokens)
               : dash();
}

void addHead(std::vector<InspectorRow>& rows, const InspectorInput& input) {
    rows.push_back({translated("Selected head"), {}, true});
    const bool open = input.document != nullptr;
    rows.push_back({translated("Layer"), open ? QString::number(input.selection.layer) : dash()});
    rows.push_back(
        {translated("KV head"), open ? QString::number(input.selection.kvHead) : dash()});
    rows.push_back({translated("Kept tokens"), keptTokens(input)});
    rows.push_back({translated("Redundancy"), metricValue(input, "redundancy")});
    rows.push_back({translated("  cosine"), metricValue(input, "redundancy_cosine")});
    rows.push_back({translated("  Euclid"), metricValue(input, "redundancy_euclid")});
    rows.push_back({translated("Anisotropy"), metricValue(input, "anisotropy")});
    rows.push_back({translated("Particip. ratio"), metricValue(input, "participation_ratio")});
    rows.push_back({translated("Mean key norm"), metricValue(input, "mean_key_norm")});
}

template <class T> const T* entryOf(const std::vector<T>& values, qint64 token) {
    const auto at = static_cast<std::size_t>(token);
    return token >= 0 && at < values.size() ? &values[at] : nullptr;
}

QString tokenText(const trace::PromptRecord& prompt, qint64 token) {
    const std::string* text = entryOf(prompt.tokenText, token);
    return text == nullptr || text->empty() ? dash() : formatToken(*text);
}

QString tokenKind(const trace::PromptRecord& prompt, qint64 token) {
    const std::uint8_t* kind = entryOf(prompt.tokenKind, token);
    const std::uint8_t* role = entryOf(prompt.patchRole, token);
    return kind == nullptr ? dash() : tokenKindName(*kind, role != nullptr ? *role : 0);
}

QString patchBox(const trace::PromptRecord& prompt, qint64 token) {
    const auto* box = entryOf(prompt.patchBox, token);
    if (box == nullptr || std::isnan((*box)[0])) {
        return dash();
    }
    const auto pixel = [&](std::size_t i) {
        return QString::number(std::lround(static_cast<double>((*box)[i])));
    };
    return translated("%1,%2–%3,%4").arg(pixel(0), pixel(1), pixel(2), pixel(3));
}

QString tokenIdText(const trace::PromptRecord& prompt, qint64 token) {
    const std::int64_t* id = entryOf(prompt.tokenIds, token);
    return id == nullptr ? dash() : QString::number(*id);
}

const analysis::ScatterPoint* scoresOf(const InspectorInput& input) {
    if (!input.scatter || input.token < 0) {
        return nullptr;
    }
    const auto& points = input.scatter->points;
    const auto found = std::lower_bound(
        points.begin(), points.end(), input.token,
        [](const analysis::ScatterPoint& point, qint64 token) { return point.token < token; });
    return found != points.end() && found->token == input.token ? &*found : nullptr;
}

QString fate(const InspectorInput& input, const analysis::ScatterPoint* scores) {
    if (input.token < 0 || !input.scatter) {
        return dash();
    }
    if (isUncached(input)) {
        return translated("no KV cache");
    }
    if (input.document && input.document->slidingWindow(input.selection.layer) > 0) {
        return translated("kept (sliding, not evicted)");
    }
    if (scores == nullptr) {
        return translated("kept (protected)");
    }
    return scores->kept ? translated("kept") : translated("evicted");
}

/// 1 = best score among the head's candidates; ties go to the lower position, as in the policy.
QString rank(const InspectorInput& input, const analysis::ScatterPoint* scores) {
    if (scores == nullptr || std::isnan(scores->score)) {
        return dash();
    }
    const auto& points = input.scatter->points;
    const auto better = std::count_if(points.begin(), points.end(), [&](const auto& other) {
        return other.score > scores->score ||
               (other.score == scores->score && other.token < scores->token);
    });
    return translated("%1 of %2").arg(better + 1).arg(points.size());
}

QString shareOfHeads(const InspectorInput& input) {
    const float* share = input.survival ? entryOf(input.survival->share, input.token) : nullptr;
    return share == nullptr || input.survival->heads == 0
               ? dash()
               : formatShare(static_cast<double>(*share));
}

void addToken(std::vector<InspectorRow>& rows, const InspectorInput& input) {
    static const trace::PromptRecord kNoPrompt;
    const trace::PromptRecord& prompt =
        input.document && input.document->prompt ? *input.document->prompt : kNoPrompt;
    const analysis::ScatterPoint* scores = scoresOf(input);
    const auto number = [&](float analysis::ScatterPoint::*field) {
        return scores == nullptr ? dash() : formatNumber(static_cast<double>(scores->*field));
    };
    rows.push_back({translated("Token"), {}, true});
    rows.push_back(
        {translated("Position"), input.token < 0 ? dash() : QString::number(input.token)});
    rows.push_back({translated("Text"), tokenText(prompt, input.token)});
    rows.push_back({translated("Kind"), tokenKind(prompt, input.token)});
    rows.push_back({translated("Vocabulary id"), tokenIdText(prompt, input.token)});
    rows.push_back({translated("Patch, px"), patchBox(prompt, input.token)});
    rows.push_back({translated("Importance"), number(&analysis::ScatterPoint::importance)});
    rows.push_back({translated("Diversity"), number(&analysis::ScatterPoint::diversity)});
    rows.push_back({translated("Score"), number(&analysis::ScatterPoint::score)});
    rows.push_back({translated("Rank in head"), rank(input, scores)});
    rows.push_back({translated("In this head"), fate(input, scores)});
    rows.push_back({translated("Share shown"), shareOfHeads(input)});
}

void addPolicy(std::vector<InspectorRow>& rows, const InspectorInput& input) {
    rows.push_back({translated("Policy"), {}, true});
    const auto attribute = [&](const char* name) {
        const QString text = input.policy == nullptr
                                 ? QString()
                                 : attributeText(input.policy->record.attributes, name);
        return text.isEmpty() ? dash() : text;
    };
    rows.push_back({translated("Name"), attribute("policy")});
    rows.push_back({translated("Budget"), attribute("budget")});
    rows.push_back({translated("Window"), attribute("window")});
}

} // namespace

std::vector<InspectorRow> inspectorRows(const InspectorInput& input) {
    std::vector<InspectorRow> rows;
    addToken(rows, input);
    addHead(rows, input);
    addPolicy(rows, input);
    return rows;
}

} // namespace ecokv::ui

// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/csv_export.h"
#include "base/error.h"
#include "ui/plots/builder_support.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

namespace ecokv::ui {
namespace {

struct MetricText {
    const char* name;
    const char* label;
    const char* axis;
    const char* description;
    ColorMap map;
};

constexpr std::array kMetrics = {
    MetricText{
        "redundancy", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Redundancy"),
        QT_TRANSLATE_NOOP("ecokv::ui::Builders", "redundancy r"),
        QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                          "How alike the keys of a head are, Euclid and cosine combined: 0 = "
                          "all different, 1 = all the same."),
        ColorMap::Viridis},
    MetricText{"redundancy_cosine", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Redundancy (cosine)"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "mean cosine similarity"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                                 "Mean cosine similarity of two different keys of the head."),
               ColorMap::Viridis},
    MetricText{"redundancy_euclid", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Redundancy (Euclid)"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Euclidean redundancy"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                                 "1 minus the mean squared distance of two keys over twice their "
                                 "mean squared norm."),
               ColorMap::Viridis},
    MetricText{"anisotropy", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Anisotropy"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "length of the mean direction"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                                 "Length of the mean of the keys' directions: 0 = they point "
                                 "everywhere, 1 = all one way."),
               ColorMap::Viridis},
    MetricText{
        "participation_ratio", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Participation ratio"),
        QT_TRANSLATE_NOOP("ecokv::ui::Builders", "effective dimensions"),
        QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                          "How many directions the keys really use, out of the head's size."),
        ColorMap::Cividis},
    MetricText{"mean_key_norm", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Mean key norm"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "mean length of a key"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Mean Euclidean length of the keys."),
               ColorMap::Cividis},
    MetricText{"kept_budget", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Kept tokens"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "kept (tokens)"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Tokens the policy keeps in each head."),
               ColorMap::Cividis},
    MetricText{"output_error", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Output error"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "relative error of the attention output"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                                 "How far the head's attention output moves when only the kept "
                                 "tokens are left."),
               ColorMap::Viridis},
    MetricText{"measured_error",
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Output error while answering"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "relative error of the attention output"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                                 "The same on the answer's own tokens, measured by a comparison."),
               ColorMap::Viridis},
    MetricText{"retained_mass", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Retained attention"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders", "share of attention kept"),
               QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                                 "Share of the window's attention that the kept tokens hold."),
               ColorMap::Viridis},
};

const MetricText* textOf(const std::string& name) {
    const auto found = std::find_if(kMetrics.begin(), kMetrics.end(),
                                    [&](const MetricText& text) { return name == text.name; });
    return found != kMetrics.end() ? &*found : nullptr;
}

/// Which keys a metric is of, by the ending of its name.
struct KeyText {
    const char* ending;
    const char* label;
    const char* description;
};

constexpr std::array kKeys = {
    KeyText{"_image", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "image tokens"),
            QT_TRANSLATE_NOOP("ecokv::ui::Builders", "Of the keys of image tokens alone.")},
    KeyText{"_text", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "text tokens"),
            QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                              "Of the keys of all tokens that belong to no image.")},
    KeyText{"_pre", QT_TRANSLATE_NOOP("ecokv::ui::Builders", "RoPE undone"),
            QT_TRANSLATE_NOOP("ecokv::ui::Builders",
                              "Of keys as they were before their rotation by position.")},
};

/// A recorded name in words: "anisotropy_pre_image" is the anisotropy, RoPE undone, of image
/// tokens. `text` is null for names that nobody has told us of.
struct NamedMetric {
    const MetricText* text = nullptr;
    QString keys;        ///< " · RoPE undone · image tokens"
    QString description; ///< sentences to add
};

NamedMetric namedMetric(std::string name) {
    NamedMetric metric;
    for (const KeyText& keys : kKeys) {
        if (!textOf(name) && name.ends_with(keys.ending)) {
            name.resize(name.size() - std::string_view(keys.ending).size());
            metric.keys.prepend(QStringLiteral(" · ") + Builders::tr(keys.label));
            metric.description += QLatin1Char(' ') + Builders::tr(keys.description);
        }
    }
    metric.text = textOf(name);
    return metric;
}

HeadMetric metricOf(const std::string& name, const analysis::PolicyView* policy) {
    HeadMetric metric;
    metric.name = name;
    const NamedMetric named = namedMetric(name);
    const MetricText* text = named.text;
    metric.label = text ? Builders::tr(text->label) + named.keys : QString::fromStdString(name);
    metric.description = text ? Builders::tr(text->description) + named.description : QString();
    if (policy) {
        metric.policyId = policy->id;
        metric.label += QStringLiteral(" · ") + QString::fromStdString(policy->title);
    }
    return metric;
}

std::vector<float> valuesOf(const analysis::TraceDocument& document, const HeadMetric& metric) {
    if (!metric.policyId.empty()) {
        return analysis::policyMetric(policyOf(document, metric.policyId), metric.name);
    }
    const auto* values = document.headMetric(metric.name);
    return values ? *values : std::vector<float>();
}

} // namespace

std::vector<HeadMetric> headMetrics(const analysis::TraceDocument& document) {
    std::vector<HeadMetric> metrics;
    for (const MetricText& text : kMetrics) {
        if (document.headMetric(text.name)) {
            metrics.push_back(metricOf(text.name, nullptr));
        }
    }
    for (const analysis::PolicyView& policy : document.policies) {
        for (const std::string_view known : analysis::kPolicyMetrics) {
            const std::string name(known);
            if (!analysis::policyMetric(policy, name).empty()) {
                metrics.push_back(metricOf(name, &policy));
            }
        }
    }
    // Last the many of image, text and un-rotated keys, and what newer writers add, by its own
    // name.
    for (const auto& [name, values] : document.headMetrics) {
        if (!textOf(name)) {
            metrics.push_back(metricOf(name, nullptr));
        }
    }
    return metrics;
}

std::shared_ptr<const HeadMapFigure> headMapFigure(const DocumentPtr& document,
                                                   const HeadMetric& metric) {
    HeadMapData data;
    data.layers = static_cast<int>(document->dimensions.layers);
    data.kvHeads = static_cast<int>(document->dimensions.kvHeads);
    data.values = valuesOf(*document, metric);
    if (data.values.empty()) {
        throwUsage("The trace " + document->path.string() + " holds no head metric \"" +
                       metric.name + "\".",
                   "`ecokv info` lists what it holds.");
    }
    // A trace that stops early holds fewer layers: the rest is "not measured".
    data.values.resize(static_cast<std::size_t>(data.layers) *
                           static_cast<std::size_t>(data.kvHeads),
                       std::numeric_limits<float>::quiet_NaN());
    for (int layer = 0; layer < data.layers; ++layer) {
        if (document->isLinear(layer)) { // nothing kept is not a budget of nothing
            data.linearLayers.insert(layer);
            std::fill_n(data.values.begin() + std::ptrdiff_t{layer} * data.kvHeads, data.kvHeads,
                        std::numeric_limits<float>::quiet_NaN());
        }
    }
    data.notFinite = {document->notFinite.begin(), document->notFinite.end()};
    const MetricText* text = namedMetric(metric.name).text;
    const auto* policy = metric.policyId.empty() ? nullptr : &policyOf(*document, metric.policyId);
    if (policy != nullptr) { // what a policy did, it did to these layers (field case F034)
        data.counted = document->kinds().counted(data.layers);
        data.slidingLeftOut = document->kinds().slidingLeftOut(data.layers);
    }
    data.title = metricOf(metric.name, policy).label;
    data.metricLabel = text ? Builders::tr(text->axis) : QString::fromStdString(metric.name);
    data.colorMap = text ? text->map : ColorMap::Viridis;
    auto csv = [document, metric] {
        return QString::fromStdString(
            metric.policyId.empty()
                ? analysis::headMetricCsv(*document, metric.name)
                : analysis::policyMetricCsv(*document, metric.policyId, metric.name));
    };
    const std::string drawn = metric.policyId.empty() ? document->mainPolicy() : metric.policyId;
    return std::make_shared<HeadMapFigure>(std::move(data),
                                           sourceOf(document, drawn, std::move(csv)));
}

} // namespace ecokv::ui

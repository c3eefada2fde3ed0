// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/trace_document.h"

#include "analysis/finite_layers.h"
#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

namespace ecokv::analysis {

namespace {

std::string textOf(const trace::Attributes& attributes, const std::string& name) {
    const auto found = attributes.find(name);
    if (found == attributes.end()) {
        return {};
    }
    return std::visit([](const auto& value) { return fmt::format("{}", value); }, found->second);
}

/// A damaged part must not keep the rest from being seen: its sentence joins the problems.
template <class Read> auto orProblem(TraceDocument& document, Read read) -> decltype(read()) {
    try {
        return read();
    } catch (const Error& error) {
        document.problems.push_back(error.message());
        return {};
    }
}

std::string titleOf(const PolicyView& policy) {
    std::string title = policy.name;
    for (const char* setting : {"budget", "window"}) {
        if (const auto value = textOf(policy.record.attributes, setting); !value.empty()) {
            title += fmt::format(", {} {}", setting, value);
        }
    }
    return title;
}

/// Policies that differ in something the title leaves out get it added.
void tellApart(std::vector<PolicyView>& policies) {
    std::map<std::string, std::vector<PolicyView*>> byTitle;
    for (PolicyView& policy : policies) {
        byTitle[policy.title].push_back(&policy);
    }
    for (const auto& [title, alike] : byTitle) {
        for (const char* setting : {"allocator", "recent", "sink", "geometry", "alpha", "beta",
                                    "value_norm", "pool", "pool_mode", "seed"}) {
            const auto value = [&](const PolicyView* policy) {
                return textOf(policy->record.attributes, setting);
            };
            const bool differs = std::any_of(alike.begin(), alike.end(), [&](const auto* policy) {
                return value(policy) != value(alike.front());
            });
            const std::string_view name = setting;
            const bool speaks = name == "allocator" || name == "geometry"; // "uniform", "pre"
            for (PolicyView* policy : alike) {
                policy->title += !differs ? std::string()
                                 : speaks ? ", " + value(policy)
                                          : fmt::format(", {} {}", name, value(policy));
            }
        }
    }
}

void readPolicies(TraceDocument& document) {
    for (const auto& id : document.reader->policyIds()) {
        PolicyView policy;
        policy.id = id;
        policy.record = orProblem(document, [&] { return document.reader->policy(id); });
        if (policy.record.kept.empty()) {
            continue;
        }
        policy.name = textOf(policy.record.attributes, "policy");
        if (policy.name.empty()) {
            policy.name = "policy " + id;
        }
        policy.title = titleOf(policy);
        policy.decode = orProblem(document, [&] { return document.reader->policyDecode(id); });
        document.policies.push_back(std::move(policy));
    }
    tellApart(document.policies);
}

/// The metrics people look at first come first.
int displayRank(const std::string& name) {
    constexpr std::array<const char*, 4> first{"redundancy", "redundancy_cosine",
                                               "redundancy_euclid", "anisotropy"};
    return static_cast<int>(std::find(first.begin(), first.end(), name) - first.begin());
}

void readHeadMetrics(TraceDocument& document) {
    auto names = document.reader->headMetrics();
    std::stable_sort(names.begin(), names.end(),
                     [](const auto& a, const auto& b) { return displayRank(a) < displayRank(b); });
    for (const auto& name : names) {
        auto values = orProblem(document, [&] { return document.reader->headMetric(name); });
        if (!values.empty()) {
            document.headMetrics.emplace_back(name, std::move(values));
        }
    }
}

/// What was recorded of layers with NaN or Inf are the zeros in their place.
void blankDamaged(TraceDocument& document) {
    document.notFinite = orProblem(document, [&] { return notedNotFinite(*document.reader); });
    const std::vector<std::int64_t>& damaged = document.notFinite;
    if (damaged.empty()) {
        return;
    }
    const std::int64_t layers = document.dimensions.layers;
    for (auto& [name, values] : document.headMetrics) {
        blankLayers(damaged, layers, values);
    }
    for (PolicyView& policy : document.policies) {
        blankLayers(damaged, layers, policy.record.outputError);
        blankLayers(damaged, layers, policy.record.measuredError);
        blankLayers(damaged, layers, policy.record.retainedMass);
    }
    document.problems.push_back(notFiniteNote(damaged));
}

/// Image indices must lead somewhere even if the pictures could not be read.
void checkImageIndices(TraceDocument& document) {
    if (document.prompt) {
        const auto images = static_cast<std::int32_t>(document.images.size());
        auto& indices = document.prompt->imageIndex;
        std::replace_if(
            indices.begin(), indices.end(), [images](std::int32_t i) { return i >= images; }, -1);
    }
}

/// "model, prompt of 269 tokens".
std::string origin(const TraceDocument& document) {
    const std::string name =
        document.model ? textOf(document.model->attributes, "name") : std::string();
    return fmt::format("{}, prompt of {} tokens",
                       name.empty() ? document.path.filename().string() : name,
                       document.dimensions.tokens);
}

} // namespace

std::string TraceDocument::provenance() const {
    std::string text = origin(*this);
    if (const PolicyView* main = policy(mainPolicy())) {
        const auto budget = textOf(main->record.attributes, "budget");
        text += ", " + main->name + (budget.empty() ? "" : " budget " + budget);
    }
    if (policies.size() > 1) {
        text += fmt::format(" and {} more", policies.size() - 1);
    }
    return text;
}

std::string TraceDocument::provenance(const std::string& policyId) const {
    std::string text = origin(*this);
    if (const PolicyView* drawn = policy(policyId)) {
        text += ", " + drawn->title;
        text += policies.size() > 1 ? fmt::format(" (1 of {} policies)", policies.size()) : "";
    }
    return text;
}

std::string TraceDocument::mainPolicy() const {
    const std::string named = run ? textOf(run->attributes, "scores_policy") : std::string();
    if (policy(named) != nullptr) {
        return named;
    }
    const auto evicting =
        std::ranges::find_if(policies, [](const PolicyView& view) { return view.name != "full"; });
    if (evicting != policies.end()) {
        return evicting->id;
    }
    return policies.empty() ? std::string() : policies.front().id;
}

const PolicyView* TraceDocument::policy(const std::string& id) const {
    const auto found = std::find_if(policies.begin(), policies.end(),
                                    [&](const PolicyView& view) { return view.id == id; });
    return found == policies.end() ? nullptr : &*found;
}

LayerKinds TraceDocument::kinds() const {
    return model ? model->kinds() : LayerKinds{};
}

std::int64_t TraceDocument::slidingWindow(std::int64_t layer) const {
    const auto at = static_cast<std::size_t>(layer);
    return model && at < model->slidingWindows.size() ? model->slidingWindows[at] : 0;
}

const std::vector<float>* TraceDocument::headMetric(const std::string& name) const {
    for (const auto& [metric, values] : headMetrics) {
        if (metric == name) {
            return &values;
        }
    }
    return nullptr;
}

std::vector<float> policyMetric(const PolicyView& policy, const std::string& name) {
    if (name == "kept_budget") {
        return {policy.record.budgetPerHead.begin(), policy.record.budgetPerHead.end()};
    }
    if (name == "output_error") {
        return policy.record.outputError;
    }
    if (name == "measured_error") {
        return policy.record.measuredError;
    }
    return name == "retained_mass" ? policy.record.retainedMass : std::vector<float>();
}

std::shared_ptr<const TraceDocument> openTrace(const std::filesystem::path& path) {
    auto document = std::make_shared<TraceDocument>();
    document->path = path;
    document->reader = std::make_shared<trace::TraceReader>(path);
    const trace::TraceReader& reader = *document->reader;
    document->dimensions = reader.dimensions();
    document->complete = reader.complete();
    document->problems = reader.problems();
    document->root = reader.rootAttributes();
    document->entries = reader.entries();
    document->model = orProblem(*document, [&] { return reader.model(); });
    document->run = orProblem(*document, [&] { return reader.run(); });
    document->prompt = orProblem(*document, [&] { return reader.prompt(); });
    document->images = orProblem(*document, [&] { return reader.images(); });
    document->fullDecode = orProblem(*document, [&] { return reader.decode(); });
    readPolicies(*document);
    readHeadMetrics(*document);
    blankDamaged(*document);
    checkImageIndices(*document);
    return document;
}

} // namespace ecokv::analysis

// SPDX-License-Identifier: GPL-3.0-or-later
#include "ui/plots/render_recipe.h"

#include "base/error.h"
#include "ui/plots/figure_builders.h"
#include "ui/plots/figure_export.h"
#include "ui/plots/recipe_reader.h"

#include <algorithm>
#include <set>

namespace ecokv::ui {
namespace {

/// A part of the trace that a figure needs is missing: its damage is not the recipe's fault. Names
/// what was damaged, or the part.
[[noreturn]] void throwMissing(const analysis::TraceDocument& document, const std::string& part) {
    const auto damage = std::ranges::find_if(document.problems, [&](const std::string& problem) {
        return problem.find(part) != std::string::npos;
    });
    throwBadInput("The trace " + document.path.string() + " lacks what the figure shows. " +
                      (damage != document.problems.end() ? *damage : "It holds no " + part + "."),
                  "Record the trace again; `ecokv info` lists what it holds.");
}

/// The policy of this id, name or title; the first that evicts anything if none is asked for.
std::string policyId(const analysis::TraceDocument& document, const RecipeEntry& entry) {
    if (document.policies.empty()) {
        throwMissing(document, "/policies");
    }
    const std::string wanted = entry.text("policy", "");
    for (const analysis::PolicyView& view : document.policies) {
        const bool isDefault = wanted.empty() && view.name != "full";
        if (isDefault || view.id == wanted || view.name == wanted || view.title == wanted) {
            return view.id;
        }
    }
    if (wanted.empty()) {
        return document.policies.front().id;
    }
    std::string known;
    for (const analysis::PolicyView& view : document.policies) {
        known += (known.empty() ? "" : "; ") + view.id + ": " + view.title;
    }
    entry.fail("policy", "names \"" + wanted + "\", which the trace does not hold",
               "It holds: " + known + ".");
}

std::int64_t layerOf(const analysis::TraceDocument& document, const RecipeEntry& entry) {
    return entry.integer("layer", 0, {0, document.dimensions.layers - 1});
}

std::int64_t headOf(const analysis::TraceDocument& document, const RecipeEntry& entry) {
    return entry.integer("head", 0, {0, document.dimensions.kvHeads - 1});
}

[[noreturn]] void refuseMetric(const analysis::TraceDocument& document, const RecipeEntry& entry,
                               const std::string& metric) {
    if (document.policies.empty() &&
        std::ranges::find(analysis::kPolicyMetrics, metric) != std::end(analysis::kPolicyMetrics)) {
        throwMissing(document, "/policies");
    }
    std::string names;
    std::set<std::string> told; // several policies have the same metric
    for (const HeadMetric& item : headMetrics(document)) {
        if (told.insert(item.name).second) {
            names += (names.empty() ? "" : ", ") + item.name;
        }
    }
    entry.fail("metric", "names \"" + metric + "\", which the trace does not hold",
               "It holds: " + names + ".");
}

FigurePtr makeHeadMap(const DocumentPtr& document, const RecipeEntry& entry) {
    HeadMetric metric;
    metric.name = entry.text("metric", "redundancy");
    const auto known = headMetrics(*document);
    const auto isIt = [&](const HeadMetric& item) { return item.name == metric.name; };
    const auto found = std::find_if(known.begin(), known.end(), isIt);
    if (found == known.end()) {
        refuseMetric(*document, entry, metric.name);
    }
    if (!found->policyId.empty()) {
        metric.policyId = policyId(*document, entry);
    }
    return headMapFigure(document, metric);
}

SurvivalInput survivalInput(const DocumentPtr& document, const RecipeEntry& entry) {
    using analysis::SurvivalMode;
    const std::string mode = entry.choice("mode", {"head", "union", "intersection", "count"});
    SurvivalInput input;
    input.document = document;
    input.query.policyId = policyId(*document, entry);
    input.query.mode = mode == "head"           ? SurvivalMode::Head
                       : mode == "union"        ? SurvivalMode::Union
                       : mode == "intersection" ? SurvivalMode::Intersection
                                                : SurvivalMode::Count;
    const std::int64_t lowest = mode == "head" ? 0 : -1; // -1: all layers
    input.query.layer = entry.integer("layer", lowest, {lowest, document->dimensions.layers - 1});
    input.query.kvHead = headOf(*document, entry);
    input.survival = analysis::survival(*document, input.query);
    return input;
}

FigurePtr makeSurvival(const DocumentPtr& document, const RecipeEntry& entry) {
    if (!document->prompt) { // which tokens are the picture's
        throwMissing(*document, "/prompt");
    }
    const auto images = static_cast<std::int64_t>(document->images.size());
    const auto image = entry.integer("image", 0, {0, images - 1});
    const std::string patches = entry.choice("patches", {"tiles", "thumbnail", "both"});
    SurvivalInput input = survivalInput(document, entry);
    input.patches = patches == "tiles"       ? analysis::PatchView::Tiles
                    : patches == "thumbnail" ? analysis::PatchView::Thumbnail
                                             : analysis::PatchView::Both;
    return survivalFigure(input, static_cast<std::size_t>(image));
}

FigurePtr makeScatter(const DocumentPtr& document, const RecipeEntry& entry) {
    using analysis::DiversityKind;
    const std::string kind = entry.choice("diversity", {"composite", "cosine", "euclid"});
    const auto scatter = analysis::headScatter(*document, policyId(*document, entry),
                                               layerOf(*document, entry), headOf(*document, entry),
                                               kind == "cosine"   ? DiversityKind::Cosine
                                               : kind == "euclid" ? DiversityKind::Euclid
                                                                  : DiversityKind::Composite);
    return scatterFigure(document, scatter, entry.choice("x", {"log", "linear"}) == "log");
}

FigurePtr makeCacheLength(const DocumentPtr& document, const RecipeEntry& entry) {
    const std::string id = policyId(*document, entry);
    if (!hasCacheLengths(*document, id)) {
        entry.fail("kind",
                   "asks for the cache's length, which the trace does not hold for " +
                       document->policy(id)->name,
                   "Record a run that generates an answer.");
    }
    return cacheLengthFigure(document, id);
}

std::string kindOf(const RecipeEntry& entry) {
    return entry.required("kind", {"head-map", "survival", "scatter", "tokens", "cache-length"});
}

/// Why the trace has nothing for the figure, "" if it has. What is wrong with the recipe is no such
/// reason.
std::string reasonToLeaveOut(const analysis::TraceDocument& document, const RecipeEntry& entry) {
    return kindOf(entry) == "survival" && document.images.empty()
               ? "it shows a picture, and the prompt of the trace has none"
               : "";
}

FigurePtr makeFigure(const DocumentPtr& document, const RecipeEntry& entry) {
    const std::string kind = kindOf(entry);
    if (kind == "head-map") {
        return makeHeadMap(document, entry);
    }
    if (kind == "survival") {
        return makeSurvival(document, entry);
    }
    if (kind == "cache-length") {
        return makeCacheLength(document, entry);
    }
    return kind == "scatter" ? makeScatter(document, entry)
                             : tokenTextFigure(survivalInput(document, entry));
}

ExportOptions optionsOf(const RecipeEntry& entry) {
    ExportOptions options;
    options.width = static_cast<int>(entry.integer("width", options.width, {100, 20000}));
    options.height = static_cast<int>(entry.integer("height", options.height, {0, 20000}));
    options.scale = static_cast<double>(entry.number("scale", options.scale, {0.25, 8.0}));
    options.theme =
        entry.choice("theme", {"light", "dark"}) == "dark" ? Theme::night() : Theme::light();
    return options;
}

std::vector<std::filesystem::path> drawFigures(const RenderRequest& request, const Recipe& recipe,
                                               const DocumentPtr& document) {
    std::vector<std::filesystem::path> written;
    std::int64_t done = 0;
    std::string reason;
    for (const RecipeEntry& entry : recipe.figures) {
        const auto path = request.out / entry.fileName();
        reason = reasonToLeaveOut(*document, entry);
        if (reason.empty()) {
            exportFigure(*makeFigure(document, entry), path, optionsOf(entry));
            written.push_back(path);
        } else if (request.leftOut) {
            request.leftOut(path.filename().string() + " is left out: " + reason + ".");
        }
        if (request.progress) {
            request.progress(
                {"Drawing", ++done, static_cast<std::int64_t>(recipe.figures.size()), "figures"});
        }
    }
    if (written.empty()) {
        throwBadInput("No figure of the recipe " + request.recipe.string() +
                          " can be drawn: " + reason + ".",
                      "Use figures of the kind \"tokens\" for text.");
    }
    return written;
}

} // namespace

std::vector<std::filesystem::path> renderRecipe(const RenderRequest& request) {
    const Recipe recipe = readRecipe(request.recipe);
    const auto tracePath = request.trace.empty() ? recipe.trace : request.trace;
    if (tracePath.empty()) {
        throwUsage("The recipe " + request.recipe.string() +
                       " has no field \"trace\" and no trace was given.",
                   "Add --trace FILE.");
    }
    const DocumentPtr document = analysis::openTrace(tracePath);
    std::error_code failed;
    std::filesystem::create_directories(request.out, failed);
    if (failed || !std::filesystem::is_directory(request.out)) {
        throwBadInput("The folder " + request.out.string() + " cannot be made.",
                      "Name a folder you may write to.");
    }
    return drawFigures(request, recipe, document);
}

} // namespace ecokv::ui

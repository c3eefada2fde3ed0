// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/sweep.h"

#include "analysis/csv_text.h"
#include "analysis/finite_layers.h"
#include "analysis/matrix_stats.h"
#include "base/error.h"
#include "policy/head_geometry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace ecokv::analysis {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Mean share of the tokens of a kind that heads keep: [image, other].
std::array<double, 2> keptByKind(const ReplayResult& replayed, const std::vector<bool>& isImage) {
    std::array<double, 2> kept{0, 0};
    const std::vector<bool> counted =
        replayed.policy.shape.kinds().counted(std::ssize(replayed.plans));
    for (std::size_t layer = 0; layer < counted.size(); ++layer) {
        for (const auto& rows : replayed.plans[layer].keptRows) {
            for (const std::int32_t row : rows) {
                kept[isImage[static_cast<std::size_t>(row)] ? 0 : 1] += counted[layer] ? 1 : 0;
            }
        }
    }
    const auto heads = static_cast<double>(replayed.counted(replayed.budgetPerHead).size());
    const auto images = static_cast<double>(std::count(isImage.begin(), isImage.end(), true));
    const double others = static_cast<double>(isImage.size()) - images;
    return {images > 0 ? kept[0] / (heads * images) : kNone,
            others > 0 ? kept[1] / (heads * others) : kNone};
}

std::vector<bool> imageTokens(const trace::TraceReader& reader) {
    std::vector<bool> isImage(static_cast<std::size_t>(reader.dimensions().tokens), false);
    if (const auto prompt = reader.prompt()) {
        for (std::size_t token = 0; token < isImage.size(); ++token) {
            isImage[token] = prompt->tokenKind[token] == policy::kImageKind;
        }
    }
    return isImage;
}

void fillRow(const ReplayResult& replayed, const std::vector<bool>& isImage, SweepRow& row) {
    row.policy = replayed.policy;
    row.keptPerHead = meanOf(replayed.counted(replayed.budgetPerHead));
    row.keptBytes = static_cast<double>(replayed.keptBytes());
    const std::vector<float> mass = finiteOf(replayed.counted(replayed.retainedMass));
    row.retainedMass = meanOf(mass);
    row.worstMass = mass.empty() ? kNone : *std::min_element(mass.begin(), mass.end());
    row.outputError = row.worstError = kNone;
    const auto shares = keptByKind(replayed, isImage);
    row.imageShare = shares[0];
    row.textShare = shares[1];
    row.redundancy = meanOf(finiteOf(replayed.countedRedundancy()));
    if (!replayed.notFinite.empty()) {
        row.policy.note += fmt::format(
            "{}not finite: layer{} {}", row.policy.note.empty() ? "" : "; ",
            replayed.notFinite.size() > 1 ? "s" : "", fmt::join(replayed.notFinite, ", "));
    }
}

/// Survivors of the rows that have some, for the output errors of all of them in one pass.
struct Pending {
    std::vector<std::size_t> rows;
    std::vector<SurvivorPlans> plans;
    std::vector<std::int64_t> notFinite; ///< layers, the same for every row
};

void fillErrors(Replayer& replayer, const Pending& pending, const ProgressSink& progress,
                const CancellationToken& cancel, std::vector<SweepRow>& rows) {
    auto errors = replayer.outputErrors(pending.plans, progress, cancel);
    for (std::size_t i = 0; i < pending.rows.size(); ++i) {
        SweepRow& row = rows[pending.rows[i]];
        const policy::ModelShape& shape = row.policy.shape;
        blankLayers(pending.notFinite, shape.layers, errors[i]);
        const std::vector<float> finite =
            finiteOf(shape.kinds().countedOf(errors[i], shape.layers));
        row.outputError = meanOf(finite);
        row.worstError = finite.empty() ? kNone : *std::max_element(finite.begin(), finite.end());
    }
}

/// The largest window that can be measured on.
std::int64_t commonRows(const std::vector<policy::PolicyConfig>& policies,
                        const trace::Dimensions& d) {
    std::int64_t rows = 1;
    for (const policy::PolicyConfig& config : policies) {
        try {
            const std::int64_t window = policy::resolve(config, d.tokens).judgedRows();
            rows = window <= d.window ? std::max(rows, window) : rows;
        } catch (const Error&) {
            continue; // its row will say why
        }
    }
    return rows;
}

std::string number(double value) {
    return csvCell(static_cast<float>(value));
}

/// Numbers of a row; as many empty cells where it was refused.
std::string numberCells(const SweepRow& row) {
    if (!row.refused.empty()) {
        return ",,,,,,,,,,,,,,";
    }
    const policy::ResolvedPolicy& p = row.policy;
    return fmt::format("{},{},{},{},{},{},{},{:.0f},{},{},{},{},{},{},{}", p.window, p.recent,
                       p.sink, p.tokens, row.rows, number(row.keptPerHead),
                       number(row.keptPerHead / static_cast<double>(p.tokens)), row.keptBytes,
                       number(row.retainedMass), number(row.worstMass), number(row.outputError),
                       number(row.worstError), number(row.imageShare), number(row.textShare),
                       number(row.redundancy));
}

} // namespace

std::optional<std::int64_t> budgetOf(const SweepRow& row) {
    if (!row.config.ratio) {
        return row.config.budget;
    }
    return row.refused.empty() ? std::optional(row.policy.budget) : std::nullopt;
}

std::vector<SweepRow> sweep(Replayer& replayer, const SweepRequest& request,
                            const ProgressSink& progress, const CancellationToken& cancel) {
    const trace::TraceReader& reader = replayer.reader();
    const std::vector<bool> isImage = imageTokens(reader);
    const bool withErrors = request.outputError && reader.has("tensors/values");
    const std::int64_t measured =
        request.rows > 0 ? request.rows : commonRows(request.policies, reader.dimensions());
    const auto total = static_cast<std::int64_t>(request.policies.size());
    std::vector<SweepRow> rows;
    Pending pending;
    for (const policy::PolicyConfig& config : request.policies) {
        SweepRow& row = rows.emplace_back();
        row.config = config;
        try {
            ReplayResult replayed =
                replayer.replay({.policy = config, .measureRows = measured}, {}, cancel);
            row.rows = measured;
            fillRow(replayed, isImage, row);
            if (withErrors) {
                pending.rows.push_back(rows.size() - 1);
                pending.plans.push_back({std::move(replayed.plans), measured});
                pending.notFinite = replayed.notFinite;
            }
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::Usage && error.kind() != ErrorKind::BadInput) {
                throw;
            }
            row.refused = error.message();
        }
        if (progress) {
            progress({"Sweeping", static_cast<std::int64_t>(rows.size()), total, "settings"});
        }
    }
    const bool allRefused = std::all_of(rows.begin(), rows.end(),
                                        [](const SweepRow& row) { return !row.refused.empty(); });
    if (allRefused && !rows.empty()) {
        throwUsage(rows.front().refused, "None of the settings can be replayed from this trace.");
    }
    if (withErrors) {
        fillErrors(replayer, pending, progress, cancel, rows);
    }
    return rows;
}

std::string sweepCsv(const trace::TraceReader& reader, const std::vector<SweepRow>& rows) {
    std::string csv =
        fmt::format("# sweep of {}, {} tokens, {} layers of {} KV heads\n",
                    csvComment(reader.path().filename().string()), reader.dimensions().tokens,
                    reader.dimensions().layers, reader.dimensions().kvHeads);
    csv += "policy,allocator,budget,settings,refused,window,recent,sink,tokens,rows,kept_per_head,"
           "kept_share,"
           "kept_bytes,retained_mass,retained_mass_min,output_error,output_error_max,image_share,"
           "text_share,redundancy,note\n";
    for (const SweepRow& row : rows) {
        const auto budget = budgetOf(row);
        csv += fmt::format("{},{},{},{},{},{},{}\n", csvCell(row.config.scorer),
                           csvCell(row.config.allocator),
                           budget ? fmt::format("{}", *budget) : std::string(),
                           csvCell(policy::policyText(row.config)), csvCell(row.refused),
                           numberCells(row), csvCell(row.policy.note));
    }
    return csv;
}

} // namespace ecokv::analysis

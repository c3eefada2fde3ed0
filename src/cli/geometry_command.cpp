// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/geometry_csv.h"
#include "analysis/trace_document.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/csv_file.h"
#include "cli/geometry_report.h"
#include "cli/signal_cancel.h"
#include "cli/similarity_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

namespace ecokv::cli {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  ecokv geometry out.ecokv.h5\n"
    "  ecokv geometry out.ecokv.h5 --csv heads.csv --spectrum-csv spectra.csv\n"
    "  ecokv geometry out.ecokv.h5 --similarity-csv alike.csv --layer 2 --head 0 --metric euclid\n"
    "  ecokv geometry keys-of-others.h5 --policy ecokv:budget=64,window=16 --json";

struct GeometryOptions {
    std::filesystem::path trace, csv, spectrumCsv, survivorsCsv;
    std::string policy;
    std::int64_t layer = -1;
    bool json = false, noSplit = false;
    SimilarityOptions similarity;
};

/// Scores and survivors: of the trace, or replayed.
class ScoreFinder {
public:
    ScoreFinder(const analysis::TraceDocument& document, const GeometryOptions& options,
                CancellationToken cancel)
        : m_document(document), m_options(options), m_cancel(std::move(cancel)) {}

    void find(GeometryReport& report) {
        const analysis::PolicyView* stored = storedPolicy();
        const bool scored = stored != nullptr && stored->id == m_document.mainPolicy();
        if (stored != nullptr) {
            addSurvivors(stored->record.kept, stored->title, report);
            report.survivorsLine = lineOf(stored, "");
        }
        if (m_options.policy.empty() || scored) { // /scores are those of the main policy
            report.relations =
                analysis::importanceRelations(*m_document.reader, report.table.notes);
            report.scores = report.relations.empty() ? "" : "recorded";
            report.scoresLine = m_document.provenance(stored != nullptr ? stored->id : "");
        }
        if (report.relations.empty()) {
            replay(stored, report);
        }
    }

private:
    const analysis::PolicyView* storedPolicy() const {
        return m_document.policy(m_options.policy.empty() ? m_document.mainPolicy()
                                                          : m_options.policy);
    }

    /// The line above tables: of a stored policy, or of one that was replayed.
    std::string lineOf(const analysis::PolicyView* stored, const std::string& replayed) const {
        return stored != nullptr ? m_document.provenance(stored->id)
                                 : m_document.provenance("") + ", " + replayed + " replayed";
    }

    void addSurvivors(const std::vector<std::uint8_t>& kept, const std::string& policy,
                      GeometryReport& report) const {
        report.survivors = analysis::clusterSurvivors(
            m_document.dimensions, {policy, kept, m_document.kinds()}, m_options.layer);
    }

    void replay(const analysis::PolicyView* stored, GeometryReport& report) {
        if (m_options.policy.empty() && !canReplay()) {
            report.table.notes.emplace_back(
                "The trace holds no scores and cannot be replayed (it needs keys and window "
                "queries): importance is left out.");
            return;
        }
        const std::string text = m_options.policy.empty() ? "ecokv" : m_options.policy;
        analysis::ReplayRequest request;
        request.policy = stored != nullptr ? analysis::recordedPolicy(stored->record.attributes)
                                           : policy::parsePolicy(text);
        request.tokenScores = true;
        analysis::Replayer replayer(m_document.reader);
        const analysis::ReplayResult result = replayer.replay(request, {}, m_cancel);
        report.relations = analysis::importanceRelations(result);
        report.scores = stored != nullptr ? stored->title : text;
        report.scoresLine = lineOf(stored, text);
        if (stored == nullptr && result.policy.compresses) {
            addSurvivors(result.kept(), text, report);
            report.survivorsLine = report.scoresLine;
        }
    }

    bool canReplay() const {
        return m_document.reader->has("tensors/keys") &&
               m_document.reader->has("tensors/window_queries");
    }

    const analysis::TraceDocument& m_document;
    const GeometryOptions& m_options;
    CancellationToken m_cancel;
};

void checkOptions(const GeometryOptions& options) {
    std::set<std::filesystem::path> files;
    for (const auto* path :
         {&options.csv, &options.spectrumCsv, &options.survivorsCsv, &options.similarity.csv}) {
        if (path->empty()) {
            continue;
        }
        if (!files.insert(*path).second) {
            throwUsage("Two of the tables were given the same file.", "Name a file for each.");
        }
        checkCsvPath(*path);
    }
    checkSimilarityOptions(options.similarity, options.layer);
}

void checkHasCache(const analysis::TraceDocument& document, std::int64_t layer) {
    if (document.isLinear(layer)) {
        std::vector<std::int64_t> others;
        for (std::int64_t other = 0; other < document.dimensions.layers; ++other) {
            if (!document.isLinear(other)) {
                others.push_back(other);
            }
        }
        throwUsage(fmt::format("Layer {} has no KV cache (linear attention): it has neither keys "
                               "nor survivors.",
                               layer),
                   others.empty() ? "No layer of this trace has one."
                                  : fmt::format("These have one: {}.", fmt::join(others, ", ")));
    }
}

void writeTables(const GeometryOptions& options, const GeometryReport& report,
                 const std::string& provenance) {
    if (!options.csv.empty()) {
        writeCsv(options.csv,
                 analysis::geometryCsv(report.relations.empty() ? provenance : report.scoresLine,
                                       report.table, report.relations));
    }
    if (!options.spectrumCsv.empty()) {
        writeCsv(options.spectrumCsv, analysis::spectrumCsv(provenance, report.table));
    }
    if (!options.survivorsCsv.empty()) {
        if (!report.survivors) {
            throwUsage("The trace holds no survivors for --survivors-csv.",
                       "Name a policy with a budget: --policy ecokv:budget=64.");
        }
        writeCsv(options.survivorsCsv,
                 analysis::survivorDistanceCsv(report.survivorsLine, *report.survivors,
                                               report.table.kvHeads));
    }
}

void geometryCommand(const GeometryOptions& options) {
    checkOptions(options);
    const SignalCancel cancel;
    const auto document = analysis::openTrace(options.trace);
    checkHasCache(*document, options.layer);
    writeSimilarity(options.similarity, options.layer, *document); // cheap, and may refuse
    const bool stored = document->policy(options.policy) != nullptr;
    GeometryReport report;
    report.trace = options.trace.string();
    report.split = !options.noSplit;
    analysis::GeometryRequest request;
    request.policyId = stored ? options.policy : document->mainPolicy();
    request.cancel = cancel.token();
    report.kinds = document->kinds();
    report.table = analysis::geometryTable(*document->reader, request);
    report.table.counted = report.kinds.counted(report.table.layers);
    ScoreFinder(*document, options, cancel.token()).find(report);
    std::erase_if(report.relations, [&](const analysis::ImportanceRelation& relation) {
        return std::ranges::binary_search(report.table.notFinite, relation.layer);
    });
    writeTables(options, report, document->provenance());
    if (options.json) {
        fmt::print("{}\n", geometryJson(report));
    } else {
        fmt::print("{}", geometryText(report));
    }
}

} // namespace

void addGeometryCommand(CLI::App& app) {
    CLI::App* geometry = app.add_subcommand(
        "geometry", "Say how alike the keys of each head are: images, text, with and without RoPE");
    const auto options = std::make_shared<GeometryOptions>();
    geometry->add_option("trace", options->trace, "Trace (*.ecokv.h5) or a file with /tensors/keys")
        ->required();
    geometry->add_option("--policy", options->policy,
                         "Whose scores and survivors: an id under /policies, or NAME:key=value,... "
                         "to replay (default: as recorded)");
    geometry
        ->add_option("--layer", options->layer,
                     "Cluster the heads of one layer (and show one of --similarity-csv); -1 = all "
                     "layers")
        ->capture_default_str();
    geometry->add_flag("--no-split", options->noSplit,
                       "One table for all tokens, without columns of image and text tokens");
    geometry->add_option("--csv", options->csv, "Write every metric of every head (*.csv)");
    geometry->add_option("--spectrum-csv", options->spectrumCsv, "Write the eigenvalues (*.csv)");
    geometry->add_option("--survivors-csv", options->survivorsCsv,
                         "Write how far apart heads are in what they keep (*.csv)");
    addSimilarityOptions(*geometry, options->similarity);
    geometry->add_flag("--json", options->json, "One JSON object on stdout");
    geometry->footer(kExamples);
    geometry->callback([options] { geometryCommand(*options); });
}

} // namespace ecokv::cli

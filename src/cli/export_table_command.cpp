// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/head_table_of.h"
#include "base/error.h"
#include "base/whole_file.h"
#include "cli/commands.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace ecokv::cli {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  ecokv export-table a.ecokv.h5 b.ecokv.h5 --metric redundancy --out table.json\n"
    "  ecokv run ... --policy mixkv:redundancy=table:table.json --budget 48\n"
    "  ecokv export-table a.ecokv.h5 --metric participation_ratio --out weights.json\n"
    "  ecokv run ... --policy ecokv:head_weights=weights.json --allocator static --budget 48";

struct ExportTable {
    std::vector<std::filesystem::path> traces;
    std::filesystem::path out;
    std::string metric = "redundancy", kind;
};

policy::HeadTableKind kindOf(const ExportTable& options) {
    const bool redundancy = options.kind.empty() ? options.metric.starts_with("redundancy")
                                                 : options.kind == "redundancy";
    return redundancy ? policy::HeadTableKind::Redundancy : policy::HeadTableKind::Weights;
}

/// A table may replace an older one, never a picture, a model file or anything else.
void checkTablePath(const std::filesystem::path& path) {
    std::error_code error;
    if (!std::filesystem::exists(path, error)) {
        return;
    }
    std::ifstream file(path, std::ios::binary);
    std::string head(256, '\0');
    file.read(head.data(), std::ssize(head));
    const std::streamsize count = file.gcount();
    if (count > 0 && head.find("\"ecokv-head-table\"") == std::string::npos) {
        throwBadInput(
            fmt::format("{} exists and is not a head table; it is left as it is.", path.string()),
            "Name a new file that ends in .json.");
    }
}

/// "; layers 0, 2 have no KV cache: null in the table", or nothing.
std::string uncachedText(const policy::HeadTable& table) {
    std::vector<std::int32_t> layers;
    for (std::int32_t layer = 0; layer < table.layers; ++layer) {
        if (table.isUncached(layer)) {
            layers.push_back(layer);
        }
    }
    return layers.empty() ? std::string()
                          : fmt::format("; no KV cache, null in the table: layer{} {}",
                                        layers.size() > 1 ? "s" : "", fmt::join(layers, ", "));
}

void exportTable(const ExportTable& options) {
    std::vector<std::shared_ptr<const trace::TraceReader>> readers;
    for (const auto& path : options.traces) {
        readers.push_back(std::make_shared<const trace::TraceReader>(path));
        std::error_code missing;
        if (std::filesystem::equivalent(path, options.out, missing)) {
            throwUsage(fmt::format("--out names the trace {} itself.", path.string()),
                       "Write the table to another file.");
        }
    }
    checkTablePath(options.out);
    const policy::HeadTable table = analysis::headTableOf(readers, options.metric, kindOf(options));
    writeWholeFile(options.out, policy::headTableJson(table));
    fmt::print("{}: mean {} of {} trace(s), {} layers x {} KV heads of {}{}\n",
               options.out.string(), options.metric, readers.size(), table.layers, table.kvHeads,
               table.model, uncachedText(table));
}

} // namespace

void addExportTableCommand(CLI::App& app) {
    CLI::App* command = app.add_subcommand(
        "export-table", "Write a head metric of traces as a table that policies read");
    const auto options = std::make_shared<ExportTable>();
    command->add_option("traces", options->traces, "Traces of one model; the mean is taken")
        ->required();
    command->add_option("--metric", options->metric, "A head metric, as `ecokv info` lists them")
        ->capture_default_str();
    command
        ->add_option("--kind", options->kind,
                     "redundancy (limited to 0..1) or weights; by default as the metric says")
        ->check(CLI::IsMember({"redundancy", "weights"}));
    command->add_option("--out", options->out, "The table to write (*.json)")->required();
    command->footer(kExamples);
    command->callback([options] { exportTable(*options); });
}

} // namespace ecokv::cli

// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/sweep.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/csv_file.h"
#include "cli/json_text.h"
#include "cli/policy_options.h"
#include "cli/replay_tools.h"
#include "cli/run_report.h"
#include "cli/signal_cancel.h"
#include "cli/text_table.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

namespace ecokv::cli {

namespace {

using Json = nlohmann::json;

constexpr const char* kExamples =
    "Examples:\n"
    "  ecokv sweep out.ecokv.h5 --policies ecokv,snapkv,random,full --budgets 16,32,64 "
    "--csv sweep.csv\n"
    "  ecokv sweep out.ecokv.h5 --policies ecokv:alpha=0.7,window=16,snapkv:window=16 --budgets "
    "32\n"
    "  ecokv sweep out.ecokv.h5 --policies ecokv --policies mixkv --budgets 32 "
    "--allocators uniform\n"
    "Commas separate policies; NAME:key=value,key=value goes on until the next part without '='.\n"
    "Columns: budget (tokens per head, a ratio's too; 0 = all), settings (as --policy reads\n"
    "them), refused (why a row is empty), kept_per_head (tokens, mean over heads),\n"
    "kept_bytes, rows (last query rows that the next four are measured on, the same for all),\n"
    "retained_mass (share of their attention; mean and worst head), output_error (of the\n"
    "attention output; mean and worst head), image_share and text_share (of\n"
    "the picture's and of the other tokens that are kept), redundancy, note (what a policy "
    "changed).";

struct SweepCommand {
    ReplayInput input;
    PolicyOptions settings;
    policy::PolicyGrid grid;
    std::filesystem::path csv;
    std::int64_t rows = 0;
    bool json = false, noOutputError = false;
};

void addSweepOptions(CLI::App& sweep, SweepCommand& o) {
    addReplayInput(sweep, o.input);
    sweep.add_option("--policies", o.grid.lists, "Policies with commas between; may be repeated")
        ->required()
        ->allow_extra_args(false);
    sweep
        .add_option("--budgets", o.grid.budgets, "Budgets with commas between; left out: the run's")
        ->delimiter(',')
        ->allow_extra_args(false);
    sweep.add_option("--allocators", o.grid.allocators, "Allocators with commas between")
        ->delimiter(',')
        ->allow_extra_args(false);
    addPolicySettings(sweep, o.settings);
    sweep.add_option("--csv", o.csv, "Write the table to this file (*.csv)");
    sweep.add_flag("--json", o.json, "One JSON object on stdout");
    sweep.add_option("--rows", o.rows,
                     "Window rows that mass and error of every policy are measured on; left out: "
                     "the largest window");
    sweep.add_flag("--no-output-error", o.noOutputError,
                   "Leave the error of the attention output out (faster)");
    sweep.footer(kExamples);
}

Json rowJson(const analysis::SweepRow& row) {
    const auto budget = analysis::budgetOf(row);
    Json json{{"policy", row.config.scorer},
              {"allocator", row.config.allocator},
              {"budget", budget ? Json(*budget) : Json(nullptr)},
              {"settings", policy::policyText(row.config)},
              {"refused", row.refused.empty() ? Json(nullptr) : Json(row.refused)}};
    if (!row.refused.empty()) {
        return json;
    }
    json.update({{"window", row.policy.window},
                 {"recent", row.policy.recent},
                 {"sink", row.policy.sink},
                 {"rows", row.rows},
                 {"kept_per_head", jsonNumber(row.keptPerHead)},
                 {"kept_bytes", jsonNumber(row.keptBytes)},
                 {"retained_mass", jsonNumber(row.retainedMass)},
                 {"retained_mass_min", jsonNumber(row.worstMass)},
                 {"output_error", jsonNumber(row.outputError)},
                 {"output_error_max", jsonNumber(row.worstError)},
                 {"image_share", jsonNumber(row.imageShare)},
                 {"text_share", jsonNumber(row.textShare)},
                 {"redundancy", jsonNumber(row.redundancy)},
                 {"note", row.policy.note}});
    return json;
}

std::string sweepJson(const trace::TraceReader& reader,
                      const std::vector<analysis::SweepRow>& rows) {
    Json json{{"trace", reader.path().string()},
              {"tokens", reader.dimensions().tokens},
              {"rows", Json::array()}};
    for (const analysis::SweepRow& row : rows) {
        json["rows"].push_back(rowJson(row));
    }
    return jsonText(json);
}

std::string budgetCell(const analysis::SweepRow& row) {
    const auto budget = analysis::budgetOf(row);
    if (!budget) {
        return "-";
    }
    return *budget > 0 ? fmt::format("{}", *budget) : std::string("all");
}

void printTable(const std::vector<analysis::SweepRow>& rows) {
    TextTable table(1);
    table.addRow({"policy", "budget", "kept/head", "bytes", "mass kept", "output error",
                  "image kept", "text kept", ""});
    for (const analysis::SweepRow& row : rows) {
        policy::PolicyConfig named = row.config;
        named.budget = 0; // has a column
        const std::string name = policy::policyText(named);
        if (!row.refused.empty()) {
            table.addRow({name, budgetCell(row), "", "", "", "", "", "", row.refused});
            continue;
        }
        table.addRow({name, budgetCell(row), fmt::format("{:.1f}", row.keptPerHead),
                      byteText(row.keptBytes), numberCell(row.retainedMass),
                      numberCell(row.outputError), numberCell(row.imageShare),
                      numberCell(row.textShare), row.policy.note});
    }
    fmt::print("{}", table.text());
}

void sweepCommand(const CLI::App& command, SweepCommand options) {
    refuseBesideLists(command);
    if (!options.csv.empty()) {
        checkCsvPath(options.csv);
    }
    const SignalCancel cancel;
    const auto replayer = openReplayer(options.input);
    const trace::TraceReader& reader = replayer->reader();
    policy::PolicyConfig defaults = policySettings(command, options.settings);
    if (defaults.budget == 0 && !defaults.ratio) {
        defaults.budget = recordedBudget(reader);
    }
    analysis::SweepRequest request;
    request.policies = policy::expandPolicies(options.grid, defaults);
    request.outputError = !options.noOutputError;
    request.rows = options.rows;
    std::vector<analysis::SweepRow> rows;
    {
        ReplayProgress progress;
        rows = analysis::sweep(
            *replayer, request, [&](const Progress& now) { progress.show(now); }, cancel.token());
    }
    if (!options.csv.empty()) {
        writeCsv(options.csv, analysis::sweepCsv(reader, rows));
    }
    if (options.json) {
        fmt::print("{}\n", sweepJson(reader, rows));
    } else {
        printTable(rows);
    }
}

} // namespace

void addSweepCommand(CLI::App& app) {
    CLI::App* sweep =
        app.add_subcommand("sweep", "Replay a trace for many policies and budgets into a table");
    const auto options = std::make_shared<SweepCommand>();
    addSweepOptions(*sweep, *options);
    sweep->callback([sweep, options] { sweepCommand(*sweep, *options); });
}

} // namespace ecokv::cli

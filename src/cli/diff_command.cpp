// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/finite_layers.h"
#include "analysis/policy_diff.h"
#include "cli/commands.h"
#include "cli/csv_file.h"
#include "cli/diff_sides.h"
#include "cli/json_text.h"
#include "cli/layer_remark.h"
#include "cli/signal_cancel.h"
#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>

namespace ecokv::cli {

namespace {

using Json = nlohmann::json;
using Prompt = std::optional<trace::PromptRecord>;

constexpr const char* kExamples =
    "Examples:\n"
    "  ecokv diff out.ecokv.h5 --a 0 --b snapkv          the run's policy against another\n"
    "  ecokv diff out.ecokv.h5 --a ecokv --b ecokv:geometry=pre --budget 32\n"
    "  ecokv diff out.ecokv.h5 --a ecokv:budget=32 --b ecokv:budget=64 --csv diff.csv\n"
    "Jaccard: tokens that both keep / tokens that either keeps. Spearman: rank correlation of the\n"
    "scores of the tokens that both may choose.";

struct DiffCommand {
    ReplayInput input;
    std::string a, b;
    std::int64_t budget = 0;
    std::filesystem::path csv;
    bool json = false;
};

const char* kindOf(const Prompt& prompt, std::int64_t token) {
    constexpr std::array<const char*, 3> kNames{"text", "special", "image"};
    return prompt ? kNames[prompt->tokenKind[static_cast<std::size_t>(token)]] : "";
}

Json tokenJson(const Prompt& prompt, std::int64_t token) {
    Json json{{"token", token}};
    if (prompt) {
        json["text"] = prompt->tokenText[static_cast<std::size_t>(token)];
        json["kind"] = kindOf(prompt, token);
    }
    return json;
}

Json tokensJson(const Prompt& prompt, const std::vector<std::int32_t>& tokens) {
    Json json = Json::array();
    for (const std::int32_t token : tokens) {
        json.push_back(tokenJson(prompt, token));
    }
    return json;
}

std::string diffJson(const analysis::PolicyDiff& diff, const Prompt& prompt,
                     const std::vector<std::string>& notes) {
    Json json{{"a", diff.nameA},
              {"b", diff.nameB},
              {"mean_jaccard", jsonNumber(diff.jaccard)},
              {"mean_spearman", jsonNumber(diff.spearman)},
              {"heads", Json::array()},
              {"tokens", Json::array()},
              {"not_finite", diff.notFinite},
              {"notes", notes}};
    for (const analysis::HeadDiff& head : diff.heads) {
        json["heads"].push_back({{"layer", head.layer},
                                 {"kv_head", head.kvHead},
                                 {"kept_a", head.keptA},
                                 {"kept_b", head.keptB},
                                 {"both", head.both},
                                 {"jaccard", jsonNumber(head.jaccard)},
                                 {"spearman", jsonNumber(head.spearman)},
                                 {"only_a", tokensJson(prompt, head.onlyA)},
                                 {"only_b", tokensJson(prompt, head.onlyB)}});
    }
    for (const analysis::TokenDiff& token : diff.tokens) {
        Json entry = tokenJson(prompt, token.token);
        entry["heads_only_a"] = token.headsOnlyA;
        entry["heads_only_b"] = token.headsOnlyB;
        json["tokens"].push_back(std::move(entry));
    }
    return jsonText(json);
}

/// The word, or where in its picture an image token lies.
std::string placeOf(const Prompt& prompt, std::int64_t token) {
    constexpr std::size_t kWidest = 30;
    if (!prompt) {
        return {};
    }
    const auto at = static_cast<std::size_t>(token);
    if (prompt->imageIndex[at] < 0) {
        return quoted(prompt->tokenText[at], kWidest);
    }
    const std::array<float, 4>& box = prompt->patchBox[at];
    return fmt::format("picture {}, x {:.0f} to {:.0f}, y {:.0f} to {:.0f}", prompt->imageIndex[at],
                       box[0], box[2], box[1], box[3]);
}

void printTokens(const analysis::PolicyDiff& diff, const Prompt& prompt, bool ofA) {
    constexpr std::size_t kShown = 10;
    std::vector<analysis::TokenDiff> tokens = diff.tokens;
    const auto heads = [ofA](const analysis::TokenDiff& token) {
        return ofA ? token.headsOnlyA : token.headsOnlyB;
    };
    std::erase_if(tokens, [&](const analysis::TokenDiff& token) { return heads(token) == 0; });
    std::stable_sort(tokens.begin(), tokens.end(),
                     [&](const auto& x, const auto& y) { return heads(x) > heads(y); });
    fmt::print("\nOnly {} keeps ({} tokens in some head{})\n", ofA ? "a" : "b", tokens.size(),
               tokens.size() > kShown ? fmt::format(", the {} of most heads", kShown) : "");
    TextTable table(0);
    for (std::size_t i = 0; i < std::min(kShown, tokens.size()); ++i) {
        const std::int64_t token = tokens[i].token;
        table.addRow({fmt::format("  token {}", token), kindOf(prompt, token),
                      fmt::format("{} heads", heads(tokens[i])), placeOf(prompt, token)});
    }
    fmt::print("{}", table.text());
}

void printDiff(const analysis::PolicyDiff& diff, const Prompt& prompt, const LayerKinds& kinds) {
    fmt::print("a  {}\nb  {}\n\n", diff.nameA, diff.nameB);
    TextTable table(0);
    table.addRow({"layer", "head", "kept a", "kept b", "both", "Jaccard", "Spearman", ""});
    for (const analysis::HeadDiff& head : diff.heads) {
        table.addRow({fmt::format("{}", head.layer), fmt::format("{}", head.kvHead),
                      fmt::format("{}", head.keptA), fmt::format("{}", head.keptB),
                      fmt::format("{}", head.both), numberCell(head.jaccard),
                      numberCell(head.spearman),
                      std::ranges::binary_search(diff.notFinite, head.layer)
                          ? "not finite"
                          : layerRemark(kinds, head.layer)});
    }
    table.addRow(
        {"all", "mean", "", "", "", numberCell(diff.jaccard), numberCell(diff.spearman), ""});
    fmt::print("{}", table.text());
    printTokens(diff, prompt, true);
    printTokens(diff, prompt, false);
}

void diffCommand(const DiffCommand& options) {
    if (!options.csv.empty()) {
        checkCsvPath(options.csv);
    }
    const SignalCancel cancel;
    DiffSides sides(options.input, cancel.token());
    const analysis::DiffSide a = sides.side(options.a, options.budget);
    const analysis::DiffSide b = sides.side(options.b, options.budget);
    const trace::ModelRecord model = sides.reader().model().value_or(trace::ModelRecord{});
    const LayerKinds kinds = model.kinds();
    const analysis::PolicyDiff diff =
        analysis::diffPolicies(sides.reader().dimensions(), a, b, kinds);
    std::vector<std::string> notes = sides.notes();
    if (!diff.notFinite.empty()) {
        notes.push_back(analysis::notFiniteNote(diff.notFinite));
    }
    for (const std::string& note : notes) {
        fmt::print(stderr, "note: {}\n", note);
    }
    if (!options.csv.empty()) {
        writeCsv(options.csv, analysis::policyDiffCsv(diff));
    }
    const Prompt prompt = sides.reader().prompt();
    if (options.json) {
        fmt::print("{}\n", diffJson(diff, prompt, notes));
    } else {
        printDiff(diff, prompt, kinds);
    }
}

} // namespace

void addDiffCommand(CLI::App& app) {
    CLI::App* diff =
        app.add_subcommand("diff", "Compare what two policies keep of a trace, head by head");
    const auto options = std::make_shared<DiffCommand>();
    addReplayInput(*diff, options->input);
    diff->add_option("--a", options->a,
                     "Id of a policy stored in the trace (0, 1, ...), or a policy to replay")
        ->required();
    diff->add_option("--b", options->b, "The other one, likewise")->required();
    diff->add_option("--budget", options->budget,
                     "Of replayed policies that name none; left out: the run's");
    diff->add_option("--csv", options->csv, "Write a line per head to this file (*.csv)");
    diff->add_flag("--json", options->json, "One JSON object on stdout");
    diff->footer(kExamples);
    diff->callback([options] { diffCommand(*options); });
}

} // namespace ecokv::cli

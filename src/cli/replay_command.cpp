// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/replay_file.h"
#include "base/error.h"
#include "cli/commands.h"
#include "cli/policy_options.h"
#include "cli/replay_report.h"
#include "cli/replay_tools.h"
#include "cli/signal_cancel.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

namespace ecokv::cli {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  ecokv replay out.ecokv.h5                     the run's own settings again\n"
    "  ecokv replay out.ecokv.h5 --budget 24         its policy with another budget\n"
    "  ecokv replay out.ecokv.h5 --policy snapkv:window=16 --budget 32\n"
    "  ecokv replay out.ecokv.h5 --policy mixkv --budget 64 --out mixkv.ecokv.h5\n"
    "Without --policy it is that of the run; without --budget, the run's budget.";

struct ReplayCommand {
    ReplayInput input;
    PolicyOptions policy;
    std::filesystem::path out;
    bool json = false, compact = false, noOutputError = false;
};

/// The run's own settings, changed by the flags that were given.
policy::PolicyConfig ownPolicy(const trace::TraceReader& reader, const CLI::App& command,
                               const PolicyOptions& options) {
    const auto ids = reader.policyIds();
    if (ids.empty()) {
        throwUsage(fmt::format("{} names no policy to replay.", reader.path().string()),
                   "Name one, for example --policy ecokv --budget 64.");
    }
    return policySettings(command, options,
                          analysis::recordedPolicy(reader.policy(ids.front()).attributes));
}

policy::PolicyConfig wantedPolicy(const trace::TraceReader& reader, const CLI::App& command,
                                  const PolicyOptions& options) {
    if (command.count("--policy") == 0) {
        return ownPolicy(reader, command, options);
    }
    policy::PolicyConfig config = chosenPolicy(command, options);
    // A budget of 0 that was typed keeps everything, as in a run.
    const bool named =
        command.count("--budget") > 0 || options.policy.find("budget=") != std::string::npos;
    if (!named && config.budget == 0 && !config.ratio && config.scorer != "full") {
        config.budget = recordedBudget(reader);
        if (config.budget == 0) {
            throwUsage(fmt::format("The policy {} needs a budget.", config.scorer),
                       "Add --budget N (tokens kept per KV head).");
        }
    }
    return config;
}

void checkOut(const CLI::App& command, const ReplayCommand& options) {
    if (command.count("--out") == 0) {
        return;
    }
    if (options.out.empty()) {
        throwUsage("--out was given an empty file name.", "Name a file that ends in .ecokv.h5.");
    }
    std::error_code error;
    if (std::filesystem::equivalent(options.out, options.input.trace, error)) {
        throwUsage(fmt::format("--out names the trace itself, {}.", options.out.string()),
                   "Write the replay to another file.");
    }
}

void replayCommand(const CLI::App& command, const ReplayCommand& options) {
    checkOut(command, options);
    const SignalCancel cancel;
    const auto replayer = openReplayer(options.input);
    const trace::TraceReader& reader = replayer->reader();
    analysis::ReplayRequest request;
    request.policy = wantedPolicy(reader, command, options.policy);
    request.tokenScores = request.participation = !options.out.empty();
    request.outputError = !options.noOutputError && reader.has("tensors/values");
    analysis::ReplayResult replayed;
    {
        ReplayProgress progress;
        replayed = replayer->replay(
            request, [&](const Progress& now) { progress.show(now); }, cancel.token());
    }
    for (const std::string& note : replayed.notes) {
        fmt::print(stderr, "note: {}\n", note);
    }
    if (!options.out.empty()) {
        analysis::writeReplay(reader, replayed,
                              {options.out, "ecokv " ECOKV_VERSION, options.compact});
    }
    const Reproduction reproduction = compareWithRecorded(reader, replayed);
    if (options.json) {
        fmt::print("{}\n", replayJson(reader, replayed, reproduction));
        return;
    }
    fmt::print("{}", replayText(reader, replayed, reproduction));
    if (!reader.has("tensors/values")) {
        fmt::print("No output error: {} has no /tensors/values.\n", reader.path().string());
    }
    if (!options.out.empty()) {
        fmt::print("Written to {}\n", options.out.string());
    }
}

} // namespace

void addReplayCommand(CLI::App& app) {
    CLI::App* replay =
        app.add_subcommand("replay", "Ask a trace what another policy or budget would have kept");
    const auto options = std::make_shared<ReplayCommand>();
    addReplayInput(*replay, options->input);
    options->policy.policy.clear(); // left out: the run's own
    addPolicyOptions(*replay, options->policy);
    replay->add_option("--out", options->out, "Write scores and survivors to this new trace");
    replay->add_flag("--compact", options->compact, "Compress the new trace (shuffle + deflate)");
    replay->add_flag("--no-output-error", options->noOutputError,
                     "Leave the error of the attention output out (faster)");
    replay->add_flag("--json", options->json, "One JSON object on stdout");
    replay->footer(kExamples);
    replay->callback([replay, options] { replayCommand(*replay, *options); });
}

} // namespace ecokv::cli

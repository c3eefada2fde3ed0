// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands.h"

#include "base/error.h"
#include "cli/comparison_report.h"
#include "cli/csv_file.h"
#include "cli/listener_log_sink.h"
#include "cli/load_cache_options.h"
#include "cli/picture_options.h"
#include "cli/policy_options.h"
#include "cli/run_report.h"
#include "cli/signal_cancel.h"
#include "cli/terminal_listener.h"
#include "session/engine.h"
#include "session/policy_catalogue.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <unistd.h>
#include <utility>

namespace ecokv::cli {

namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  ecokv run --model resources/demo-model \\\n"
    "            --image resources/demo-documents/notice-board.png --prompt \"ZXY?\" \\\n"
    "            --policy ecokv --budget 48 --trace out.ecokv.h5\n"
    "  ecokv run --model DIR --image PIC --prompt \"What is the total?\" --policy full --json\n"
    "  ecokv run --model DIR --image PIC --prompt \"...\" --policy ecokv:alpha=0.7,window=16 \\\n"
    "            --budget 64 --with-full\n"
    "  ecokv run --model DIR --image PIC --prompt \"...\" --budgets 16,32,64 --csv table.csv \\\n"
    "            --compare snapkv,mixkv:window=16,ecokv:window=16,alpha=0.7\n"
    "  ecokv run --model DIR --image PIC --budget 64 --ask \"Who sent it?\" --ask \"When?\"\n"
    "  ecokv run --model DIR --image PIC --budget 64 --save-cache receipt.cache.h5\n"
    "  ecokv run --model DIR --load-cache receipt.cache.h5 --ask \"What is the total?\"\n"
    "  ecokv run --model DIR --prompt \"Tell a story.\" --decode-budget 128 --max-new-tokens 1000\n"
    "Exit codes: 0 done, 1 bug, 2 usage, 3 bad input, 4 cancelled.";

/// Options as typed; turned into a RunConfig when the command runs.
struct RunOptions {
    session::RunConfig config;
    PictureOptions pictures;
    PolicyOptions policy;
    std::string device = "auto", dtype = "auto";
    policy::PolicyGrid compare;
    std::filesystem::path csv;
    bool json = false, plain = false, noValues = false, noGeometry = false;
};

void addPromptOptions(CLI::App& run, RunOptions& o) {
    run.add_option("--model", o.config.model, "Hugging Face model folder")->required();
    run.add_option("--image", o.config.images, "Picture (JPEG, PNG, WebP); repeat for several");
    run.add_option("--prompt", o.config.prompt,
                   "What to ask. With --ask: words of the context before every question, verbatim "
                   "(end them with a space or line break of your own)");
    run.add_option("--ask", o.config.asks,
                   "A question about the context (pictures and --prompt), which is compressed once "
                   "without knowing it; repeat for several, none sees another")
        ->allow_extra_args(false);
    run.add_option("--max-new-tokens", o.config.maxNewTokens, "Longest answer, in tokens")
        ->capture_default_str();
    run.add_flag("--plain-prompt", o.plain, "Do not apply the model's chat template");
    addPictureOptions(run, o.pictures);
    run.add_option("--temperature", o.config.temperature, "0 = greedy")->capture_default_str();
    run.add_option("--top-k", o.config.topK, "Sample from the k best; 0 = off")
        ->capture_default_str();
    run.add_option("--top-p", o.config.topP, "Sample from this probability mass")
        ->capture_default_str();
}

void addCompareOptions(CLI::App& run, RunOptions& o) {
    run.add_option("--compare", o.compare.lists,
                   "Instead of --policy: policies to compare with the full cache, as "
                   "A,B:key=value,key=value,C; repeat for more");
    run.add_option("--budgets", o.compare.budgets, "With --compare: budgets, as 16,32,64")
        ->delimiter(',');
    run.add_option("--allocators", o.compare.allocators, "With --compare: allocators, as a,b")
        ->delimiter(',');
    run.add_option("--csv", o.csv, "With --compare: also write the table to this file (*.csv)");
}

void addCacheOptions(CLI::App& run, RunOptions& o) {
    run.add_option(
           "--decode-budget", o.config.decodeBudget,
           "Tokens per KV head that the cache is brought back to while it answers; 0 = only "
           "the prompt is evicted and the cache grows")
        ->capture_default_str();
    run.add_option("--decode-every", o.config.decodeEvery,
                   "Tokens between two of these evictions; the cache never holds more than "
                   "decode-budget + decode-every - 1 tokens per head")
        ->capture_default_str();
    run.add_option("--save-cache", o.config.saveCache,
                   "Write the compressed context to this file, to be asked later");
    run.add_option("--load-cache", o.config.loadCache,
                   "Ask a context saved before; needs --ask and no picture");
}

void addMachineOptions(CLI::App& run, RunOptions& o) {
    run.add_option("--threads", o.config.threads,
                   "CPU threads; 0 = one for small models, else all cores")
        ->capture_default_str();
    run.add_option("--prefill-chunk", o.config.prefillChunk,
                   "Tokens that a layer takes at once while the prompt is read; 0 = all")
        ->capture_default_str();
    run.add_option("--dtype", o.dtype, "Compute type: auto, f32, bf16")
        ->check(CLI::IsMember({"auto", "f32", "bf16"}))
        ->capture_default_str();
    run.add_option("--device", o.device, "auto, cpu, cuda")
        ->check(CLI::IsMember({"auto", "cpu", "cuda"}))
        ->capture_default_str();
    run.add_option("--trace", o.config.trace, "Record the run to this file (*.ecokv.h5)");
    run.add_option("--record-window", o.config.recordWindow, "Query rows the trace records")
        ->capture_default_str();
    run.add_flag("--no-values", o.noValues, "Leave the values out of the trace");
    run.add_flag("--no-geometry", o.noGeometry,
                 "Leave spectra and the geometry of image, text and un-rotated keys out of it");
    run.add_flag("--compact", o.config.compactTrace, "Compress the trace (shuffle + deflate)");
    run.add_flag("--with-full", o.config.compareFull, "Also answer from the full cache");
    run.add_flag("--json", o.json, "One JSON object on stdout, everything else on stderr");
}

/// The policies of --compare; --budget and the other flags are what they have in common.
void finishComparison(const CLI::App& run, const RunOptions& o, session::RunConfig& config) {
    if (run.count("--compare") == 0) {
        for (const char* option : {"--budgets", "--allocators", "--csv"}) {
            if (run.count(option) > 0) {
                throwUsage(fmt::format("{} goes with --compare.", option),
                           "Name the policies, for example --compare snapkv,ecokv.");
            }
        }
        return;
    }
    for (const char* option : {"--policy", "--with-full"}) {
        if (run.count(option) > 0) {
            throwUsage(fmt::format("{} does not go with --compare.", option),
                       "Name every policy in --compare; the full cache is always part of it.");
        }
    }
    refuseBesideLists(run);
    if (run.count("--csv") > 0) {
        checkCsvPath(o.csv);
        std::error_code error;
        if (!config.trace.empty() && std::filesystem::weakly_canonical(o.csv, error) ==
                                         std::filesystem::weakly_canonical(config.trace, error)) {
            throwUsage(fmt::format("{} cannot be both the trace and the table.", o.csv.string()),
                       "Name two files.");
        }
    }
    config.compare = policy::expandPolicies(o.compare, policySettings(run, o.policy));
    config.policy.scorer = "full";
}

session::RunConfig finishConfig(const CLI::App& run, const RunOptions& o) {
    session::RunConfig config = o.config;
    config.policy = chosenPolicy(run, o.policy);
    finishComparison(run, o, config);
    config.applyTemplate = !o.plain;
    config.pictureReading = chosenReading(o.pictures);
    config.recordValues = !o.noValues;
    config.recordGeometry = !o.noGeometry;
    config.device = session::parseDeviceChoice(o.device);
    config.dtype = session::parseDTypeChoice(o.dtype);
    if (run.count("--trace") > 0 && config.trace.empty()) {
        throwUsage("--trace was given an empty file name.",
                   "Name a file that ends in .ecokv.h5, or leave --trace out.");
    }
    for (const auto& [option, file] : {std::pair{"--save-cache", config.saveCache},
                                       std::pair{"--load-cache", config.loadCache}}) {
        if (run.count(option) > 0 && file.empty()) {
            throwUsage(fmt::format("{} was given an empty file name.", option),
                       fmt::format("Name a file, or leave {} out.", option));
        }
    }
    if (!config.loadCache.empty() && config.compare.empty()) {
        adoptSavedContext(run, config);
    }
    if (run.count("--decode-every") > 0 && run.count("--decode-budget") == 0) {
        throwUsage("--decode-every goes with --decode-budget.",
                   "Add --decode-budget N, the tokens per KV head to come back to.");
    }
    const bool isContext =
        !config.asks.empty() || !config.saveCache.empty() || !config.loadCache.empty();
    if (run.count("--prompt") == 0 && !isContext) {
        throwUsage("--prompt is missing.", "Give --prompt \"...\", or --ask \"...\" for several "
                                           "questions about the same pictures.");
    }
    const bool budgetGiven = run.count("--budget") > 0 || config.policy.budget > 0 ||
                             config.policy.ratio.has_value() || config.decodeBudget != 0 ||
                             !config.loadCache.empty();
    if (config.policy.scorer != "full" && !budgetGiven) {
        throwUsage(fmt::format("The policy {} needs a budget.", config.policy.scorer),
                   "Add --budget N (tokens kept per KV head) or --ratio R, or use --policy full.");
    }
    return config;
}

void printForPeople(const session::RunResult& result) {
    fmt::print("\n{}", result.compared.empty() ? ledgerText(result.ledger) + generationText(result)
                                               : comparisonTable(result));
    fmt::print("Prompt {} tokens ({} of pictures), policy {}, {} on {} with {} thread(s)\n",
               result.promptTokens, result.imageTokens, result.policy, result.dtype, result.device,
               result.threads);
    const double speed = result.timings.decodeTokensPerSecond; // 0 = nothing was decoded
    fmt::print("Load {:.2f} s, prefill {:.2f} s (scoring {:.3f} s){}\n", result.timings.loadSeconds,
               result.timings.prefillSeconds, result.timings.scoringSeconds,
               speed > 0 ? fmt::format(", {:.1f} tokens/s", speed) : "");
    if (!result.trace.empty()) {
        fmt::print("Trace {}\n", result.trace.string());
    }
    if (!result.savedCache.empty()) {
        fmt::print("Saved cache {}\n", result.savedCache.string());
    }
}

/// After a stop or a failure: says where the recording of the run so far is.
void namePartialTrace(const std::filesystem::path& trace, TerminalListener& listener) {
    const std::filesystem::path part = trace.string() + ".part";
    if (!trace.empty() && std::filesystem::exists(part)) {
        listener.line(fmt::format("note: What was recorded so far is in {}.", part.string()));
    }
}

void runCommand(const CLI::App& run, const RunOptions& options) {
    const session::RunConfig config = finishConfig(run, options);
    const SignalCancel cancel;
    TerminalListener listener({stdout, stderr, isatty(STDERR_FILENO) != 0, !options.json});
    const ListenerLog log(listener);
    const auto engine = session::loadEngine();
    session::RunResult result;
    try {
        result = engine->run(config, listener, cancel.token());
    } catch (...) {
        listener.finish();
        namePartialTrace(config.trace, listener);
        throw;
    }
    listener.finish();
    if (!options.csv.empty()) {
        writeCsv(options.csv, comparisonCsv(result));
    }
    if (options.json) {
        fmt::print("{}\n", runResultJson(result));
    } else {
        printForPeople(result);
    }
}

} // namespace

void addRunCommand(CLI::App& app) {
    CLI::App* run = app.add_subcommand("run", "Answer a prompt from an evicted cache");
    const auto options = std::make_shared<RunOptions>();
    addPromptOptions(*run, *options);
    addPolicyOptions(*run, options->policy);
    addCompareOptions(*run, *options);
    addCacheOptions(*run, *options);
    addMachineOptions(*run, *options);
    run->footer(kExamples);
    run->callback([run, options] { runCommand(*run, *options); });
}

} // namespace ecokv::cli

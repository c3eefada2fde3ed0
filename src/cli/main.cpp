// SPDX-License-Identifier: GPL-3.0-or-later
// The `ecokv` command: everything the desktop does, without a display and without Qt.

#include "base/error.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/whole_numbers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <system_error>
#include <vector>

namespace {

using ecokv::cli::ExitCode;

constexpr const char* kFooter =
    "Examples:\n"
    "  ecokv run --model resources/demo-model --image PIC.png --prompt \"ABC?\" --budget 48\n"
    "  ecokv replay out.ecokv.h5 --budget 24\n"
    "  ecokv info out.ecokv.h5\n"
    "Exit codes: 0 done, 1 bug, 2 usage, 3 bad input, 4 cancelled.";

int fail(const ecokv::Error& error) {
    fmt::print(stderr, "ecokv: {}\n", error.message());
    if (!error.advice().empty()) {
        fmt::print(stderr, "       {}\n", error.advice());
    }
    return static_cast<int>(ecokv::cli::exitCodeOf(error.kind()));
}

int outputLost(const char* why) {
    fmt::print(stderr, "ecokv: The output could not be written: {}.\n", why);
    return static_cast<int>(ExitCode::BadInput);
}

/// The first word, where it is no option and names no command: with CLI11's own words a newcomer
/// would not learn which commands there are.
std::string unknownCommand(const CLI::App& app, int argc, char** argv) {
    const std::string word = argc > 1 ? argv[1] : "";
    if (word.empty() || word.front() == '-') {
        return {};
    }
    const auto commands = app.get_subcommands({});
    const bool known = std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
        return command->check_name(word);
    });
    return known ? std::string() : word;
}

int failUnknown(const CLI::App& app, const std::string& word) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands({})) {
        names.push_back(command->get_name());
    }
    fmt::print(stderr,
               "ecokv: There is no command \"{}\".\n"
               "       Use one of {}; `ecokv COMMAND --help` says more.\n",
               word, fmt::join(names, ", "));
    return static_cast<int>(ExitCode::Usage);
}

int runProgram(int argc, char** argv) {
    CLI::App app("See which image patches and words a KV cache policy keeps.", "ecokv");
    app.set_version_flag("--version", "ecokv " ECOKV_VERSION);
    app.require_subcommand(1);
    app.footer(kFooter);
    ecokv::cli::addRunCommand(app);
    ecokv::cli::addReplayCommand(app);
    ecokv::cli::addSweepCommand(app);
    ecokv::cli::addDiffCommand(app);
    ecokv::cli::addExportTableCommand(app);
    ecokv::cli::addInfoCommand(app);
    ecokv::cli::addDoctorCommand(app);
    ecokv::cli::addGeometryCommand(app);
    ecokv::cli::addPoliciesCommand(app);
    ecokv::cli::addDevicesCommand(app);
    ecokv::cli::checkNumbers(app);
    if (const std::string word = unknownCommand(app, argc, argv); !word.empty()) {
        return failUnknown(app, word);
    }
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        const int shown = app.exit(error);
        return shown == 0 ? 0 : static_cast<int>(ExitCode::Usage);
    } catch (const ecokv::Error& error) {
        return fail(error);
    }
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
        return outputLost("the disk or pipe it goes to is full or closed");
    }
    return static_cast<int>(ExitCode::Done);
}

} // namespace

int main(int argc, char** argv) {
    try {
        return runProgram(argc, argv);
    } catch (const std::system_error& error) { // what fmt::print throws on a full disk
        return outputLost(error.what());
    } catch (const std::exception& error) {
        fmt::print(stderr, "ecokv: internal error: {}\n", error.what());
    } catch (...) {
        fmt::print(stderr, "ecokv: internal error without a message\n");
    }
    return static_cast<int>(ExitCode::Bug);
}

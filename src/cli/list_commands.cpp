// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands.h"
#include "session/engine.h"
#include "session/policy_catalogue.h"

#include <fmt/format.h>

namespace ecokv::cli {

namespace {

void policiesCommand() {
    for (const session::PolicyEntry& policy : session::policyCatalogue()) {
        fmt::print("{}\n  {}\n  formula  {}\n  source   {}\n", policy.name, policy.summary,
                   policy.formula, policy.source);
        for (const auto& parameter : policy.parameters) {
            fmt::print("    {:<10} {} (default {})\n", parameter.name, parameter.meaning,
                       parameter.defaultText);
        }
    }
}

void devicesCommand() {
    for (const std::string& line : session::loadEngine()->devices().lines) {
        fmt::print("{}\n", line);
    }
}

} // namespace

void addPoliciesCommand(CLI::App& app) {
    CLI::App* policies = app.add_subcommand("policies", "List the policies and their parameters");
    policies->footer("Example:\n  ecokv policies");
    policies->callback(policiesCommand);
}

void addDevicesCommand(CLI::App& app) {
    CLI::App* devices =
        app.add_subcommand("devices", "Say what was built, what was found and what `auto` uses");
    devices->footer("Example:\n  ecokv devices");
    devices->callback(devicesCommand);
}

} // namespace ecokv::cli

// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/commands.h"
#include "session/engine.h"
#include "session/policy_catalogue.h"

#include <fmt/format.h>

#include <vector>

namespace ecokv::cli {

namespace {

void printParameters(const std::vector<session::PolicyParameterEntry>& parameters) {
    for (const auto& parameter : parameters) {
        fmt::print("    {:<12} {} (default {})\n", parameter.name, parameter.meaning,
                   parameter.defaultText);
    }
}

void printEntry(const session::PolicyEntry& entry) {
    fmt::print("{}\n  {}\n  formula  {}\n  source   {}\n", entry.name, entry.summary, entry.formula,
               entry.source);
    printParameters(entry.parameters);
}

void policiesCommand() {
    fmt::print("Policies: --policy NAME or NAME:key=value,key=value\n\n");
    for (const session::PolicyEntry& policy : session::policyCatalogue()) {
        printEntry(policy);
        if (!policy.runsAtDecode()) {
            fmt::print("  {} needs the attention of every row and cannot evict while decoding\n",
                       policy.name);
        }
    }
    fmt::print("\nAllocators: --allocator NAME or allocator=NAME, with any policy\n\n");
    for (const session::PolicyEntry& allocator : session::allocatorCatalogue()) {
        printEntry(allocator);
    }
    fmt::print("\nEvery policy also takes these for the statistics that are recorded beside its "
               "scores:\n");
    printParameters(session::statisticsCatalogue());
}

void devicesCommand() {
    for (const std::string& line : session::loadEngine()->devices().lines) {
        fmt::print("{}\n", line);
    }
}

} // namespace

void addPoliciesCommand(CLI::App& app) {
    CLI::App* policies =
        app.add_subcommand("policies", "List the policies, the allocators and their parameters");
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

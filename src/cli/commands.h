#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The commands of `ecokv`. Each registers its options on the parser and runs when chosen; errors
// are thrown as ecokv::Error and become exit codes in main.

#include <CLI/CLI.hpp>

#include <string>

namespace ecokv::cli {

void addRunCommand(CLI::App& app);
void addGeometryCommand(CLI::App& app);
void addInfoCommand(CLI::App& app);
void addDoctorCommand(CLI::App& app);
void addReplayCommand(CLI::App& app);
void addSweepCommand(CLI::App& app);
void addDiffCommand(CLI::App& app);
void addExportTableCommand(CLI::App& app);
void addPoliciesCommand(CLI::App& app);
void addDevicesCommand(CLI::App& app);

} // namespace ecokv::cli

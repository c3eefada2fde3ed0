#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// How a comparison of policies is told: a table for people, rows of JSON and CSV for programs.

#include "session/run_result.h"

#include <nlohmann/json.hpp>

#include <string>

namespace ecokv::cli {

/// Aligned columns with units; the best of each budget is marked.
std::string comparisonTable(const session::RunResult& result);

/// One object per policy; fields as documented in README ("Compare policies").
nlohmann::json comparisonJson(const session::RunResult& result);

/// A header line and one line per policy, RFC 4180.
std::string comparisonCsv(const session::RunResult& result);

} // namespace ecokv::cli

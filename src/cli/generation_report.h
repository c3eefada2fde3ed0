#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a trace says of the answers of a policy and of the cache meanwhile, over the layers that
// count (LayerKinds).

#include "trace/trace_reader.h"

#include <nlohmann/json.hpp>

#include <string>

namespace ecokv::cli {

/// {"decode": ..., "questions": [...]}, each where it is recorded.
nlohmann::json generationsJson(const trace::TraceReader& reader, const std::string& policyId);

/// Two lines for each answer.
std::string generationsText(const trace::TraceReader& reader, const std::string& policyId);

} // namespace ecokv::cli

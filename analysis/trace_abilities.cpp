// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/trace_abilities.h"

#include "analysis/replay_source.h"
#include "analysis/trace_values.h"
#include "base/error.h"

#include <fmt/format.h>

namespace ecokv::analysis {

namespace {

bool isOurs(const trace::TraceReader& reader) {
    return textAttribute(reader.rootAttributes(), "schema") == "ecokv-trace";
}

std::string kindOf(const trace::TraceReader& reader, bool ours, bool hasKeys) {
    if (!ours) {
        return "a foreign trace: keys and queries that another program wrote";
    }
    if (!hasKeys) {
        return "the results of a replay, without tensors";
    }
    return reader.complete() ? "a recorded run" : "a run that did not finish";
}

/// Opens the file as a replay would; the sentence it is refused with, or "".
std::string replayProblem(const trace::TraceReader& reader) {
    try {
        const ReplaySource source(std::make_shared<trace::TraceReader>(reader.path()), 0);
        return reader.layersComplete()
                   ? std::string()
                   : std::string(
                         "not every layer is recorded, so the whole model cannot be replayed");
    } catch (const Error& error) {
        return error.message();
    }
}

TraceAbility replayAbility(const trace::TraceReader& reader) {
    const std::string problem = replayProblem(reader);
    if (!problem.empty()) {
        return {"replay, sweep, diff", false, problem};
    }
    return {"replay, sweep, diff", true,
            fmt::format("windows up to {} rows", reader.dimensions().window)};
}

TraceAbility errorAbility(const trace::TraceReader& reader) {
    const bool works = reader.has("tensors/values");
    return {"output error", works,
            works ? "values are recorded"
                  : "/tensors/values is missing; vnorm cannot be used either"};
}

TraceAbility geometryAbility(const trace::TraceReader& reader, bool hasKeys) {
    bool known = false;
    std::string problem = "rope_theta and rope_style are not given";
    try {
        known = hasKeys && reader.rotation().has_value();
    } catch (const Error& error) {
        problem = error.message();
    }
    return {"geometry=pre", known, known ? "the rotation of the keys is known" : problem};
}

TraceAbility headGeometryAbility(const trace::TraceReader& reader, bool hasKeys) {
    const bool recorded = !reader.headSpectra().empty();
    if (!recorded && !hasKeys) {
        return {"geometry of heads", false, "neither spectra nor keys are recorded"};
    }
    return {"geometry of heads", true,
            recorded ? "recorded; `ecokv geometry` shows it"
                     : "`ecokv geometry` measures it from the keys"};
}

TraceAbility textAbility(const trace::TraceReader& reader) {
    const bool works = reader.prompt().has_value();
    return {"text and pictures", works,
            works ? "tokens are named" : "/prompt is missing; tokens are numbers"};
}

} // namespace

TraceNature describeTrace(const trace::TraceReader& reader) {
    const bool hasKeys = reader.has("tensors/keys");
    TraceNature nature{kindOf(reader, isOurs(reader), hasKeys), {}};
    const std::size_t policies = reader.policyIds().size();
    nature.abilities = {
        replayAbility(reader),
        errorAbility(reader),
        geometryAbility(reader, hasKeys),
        headGeometryAbility(reader, hasKeys),
        {"stored survivors", policies > 0,
         policies > 0 ? fmt::format("{} {}", policies, policies == 1 ? "policy" : "policies")
                      : std::string("/policies is missing; `ecokv replay --out` makes them")},
        {"head maps and scores", !reader.headMetrics().empty() && !reader.scoreNames().empty(),
         reader.headMetrics().empty()
             ? std::string("/heads is missing; `ecokv replay --out` makes it")
             : fmt::format("{} head metrics, {} scores", reader.headMetrics().size(),
                           reader.scoreNames().size())},
        textAbility(reader),
    };
    return nature;
}

} // namespace ecokv::analysis

// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/diff_sides.h"

#include "analysis/finite_layers.h"
#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ecokv::cli {

namespace {

/// /scores/score of all layers [layer, kvHead, token].
std::vector<float> recordedScores(const trace::TraceReader& reader) {
    std::vector<float> all;
    for (std::int64_t layer = 0; layer < reader.dimensions().layers; ++layer) {
        for (std::int64_t head = 0; head < reader.dimensions().kvHeads; ++head) {
            const std::vector<float> scores = reader.scores("score", layer, head);
            all.insert(all.end(), scores.begin(), scores.end());
        }
    }
    return all;
}

std::string storedName(const trace::PolicyRecord& record) {
    try {
        return fmt::format("{} ({})", record.id,
                           policy::policyText(analysis::recordedPolicy(record.attributes)));
    } catch (const Error&) {
        return record.id; // survivors of a program that names its settings otherwise
    }
}

} // namespace

DiffSides::DiffSides(const ReplayInput& input, CancellationToken cancel)
    : m_input(input), m_cancel(std::move(cancel)),
      m_reader(std::make_shared<trace::TraceReader>(input.trace)) {}

analysis::Replayer& DiffSides::replayer() {
    if (!m_replayer) {
        m_replayer = openReplayer(m_input);
    }
    return *m_replayer;
}

analysis::DiffSide DiffSides::side(const std::string& text, std::int64_t budget) {
    const std::vector<std::string> ids = m_reader->policyIds();
    if (std::find(ids.begin(), ids.end(), text) != ids.end()) {
        return storedSide(text);
    }
    policy::PolicyConfig config;
    try {
        config = policy::parsePolicy(text);
    } catch (const Error& error) {
        throwUsage(error.message(),
                   fmt::format("{} Or give the id of a stored policy{}.", error.advice(),
                               ids.empty() ? "; this trace has none"
                                           : ": " + ids.front() +
                                                 (ids.size() > 1 ? " to " + ids.back() : "")));
    }
    const bool unlimited = config.budget == 0 && !config.ratio && config.scorer != "full";
    if (unlimited) {
        config.budget = budget > 0 ? budget : recordedBudget(*m_reader);
    }
    if (unlimited && config.budget == 0) {
        throwUsage(fmt::format("The policy {} needs a budget.", text),
                   "Add --budget N (tokens kept per KV head).");
    }
    return replayedSide(config);
}

analysis::DiffSide DiffSides::replayedSide(const policy::PolicyConfig& config) {
    ReplayProgress progress;
    const analysis::ReplayResult replayed = replayer().replay(
        {config}, [&](const Progress& now) { progress.show(now); }, m_cancel);
    analysis::DiffSide side{policy::policyText(config), replayed.kept(), {}, replayed.notFinite};
    for (const auto& layer : replayed.layers) {
        side.score.insert(side.score.end(), layer->score.begin(), layer->score.end());
    }
    return side;
}

analysis::DiffSide DiffSides::storedSide(const std::string& id) {
    const trace::PolicyRecord record = m_reader->policy(id);
    return {storedName(record), record.kept, storedScores(id, record),
            analysis::notedNotFinite(*m_reader)};
}

// A trace holds the scores of its first policy; those of others are computed again, and used if
// they lead to the survivors that are stored.
std::vector<float> DiffSides::storedScores(const std::string& id,
                                           const trace::PolicyRecord& record) {
    try {
        if (id == m_reader->policyIds().front()) {
            return recordedScores(*m_reader);
        }
        analysis::DiffSide again = replayedSide(analysis::recordedPolicy(record.attributes));
        if (again.kept == record.kept) {
            return std::move(again.score);
        }
        m_notes.push_back(fmt::format("The scores of policy {} are not recorded, and a replay of "
                                      "its settings keeps other tokens: no rank correlation.",
                                      id));
    } catch (const Error& error) {
        if (error.kind() == ErrorKind::Cancelled) {
            throw;
        }
        m_notes.push_back(
            fmt::format("The scores of policy {} cannot be had: {}", id, error.message()));
    }
    return {};
}

} // namespace ecokv::cli

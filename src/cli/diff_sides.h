#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The two sides of `ecokv diff`: a policy that the trace stores, by its id, or any other by its
// settings, replayed.

#include "analysis/policy_diff.h"
#include "base/cancellation.h"
#include "cli/replay_tools.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ecokv::cli {

class DiffSides {
public:
    DiffSides(const ReplayInput& input, CancellationToken cancel);

    const trace::TraceReader& reader() const { return *m_reader; }
    /// `text` is an id of /policies or a policy as --policy takes it; `budget` for one that names
    /// none, 0 = that of the run.
    analysis::DiffSide side(const std::string& text, std::int64_t budget);
    /// What could not be had, for people.
    const std::vector<std::string>& notes() const { return m_notes; }

private:
    analysis::DiffSide storedSide(const std::string& id);
    analysis::DiffSide replayedSide(const policy::PolicyConfig& config);
    std::vector<float> storedScores(const std::string& id, const trace::PolicyRecord& record);
    analysis::Replayer& replayer();

    ReplayInput m_input;
    CancellationToken m_cancel;
    std::shared_ptr<const trace::TraceReader> m_reader;
    std::unique_ptr<analysis::Replayer> m_replayer; ///< made when first needed
    std::vector<std::string> m_notes;
};

} // namespace ecokv::cli

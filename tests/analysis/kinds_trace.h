#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A trace of four layers of two KV heads and 90 tokens, some of which are not evicted, and replays
// of it. One test, one folder.

#include "analysis/replay.h"
#include "support/sample_trace.h"
#include "support/synthetic_trace.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace ecokv::analysis {

class KindsTrace : public testing::Test {
protected:
    /// `options` say of which kinds the layers are.
    explicit KindsTrace(test::SyntheticOptions options) {
        options.dimensions = {4, 4, 2, 90, 16, 40};
        m_reader = std::make_shared<trace::TraceReader>(
            test::writeSyntheticTrace(m_folder / "a.ecokv.h5", options));
    }

    ReplayResult replay(const std::string& policy) const {
        return Replayer(m_reader).replay({.policy = policy::parsePolicy(policy),
                                          .tokenScores = true,
                                          .outputError = true,
                                          .participation = true});
    }

    test::TemporaryFolder m_folder;
    std::shared_ptr<const trace::TraceReader> m_reader;
};

} // namespace ecokv::analysis

// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/trace_abilities.h"
#include "support/foreign_file.h"
#include "support/sample_trace.h"
#include "support/synthetic_trace.h"

#include <gtest/gtest.h>

#include <map>

namespace ecokv::analysis {

namespace {

std::map<std::string, TraceAbility> abilitiesOf(const std::filesystem::path& path) {
    std::map<std::string, TraceAbility> named;
    for (const TraceAbility& ability : describeTrace(trace::TraceReader(path)).abilities) {
        named[ability.what] = ability;
    }
    return named;
}

} // namespace

TEST(TraceAbilities, ofARunAreAll) {
    const test::TemporaryFolder folder;
    const auto path = test::writeSampleTrace(folder / "a.ecokv.h5");
    EXPECT_EQ(describeTrace(trace::TraceReader(path)).kind, "a recorded run");
    auto named = abilitiesOf(path);
    for (const char* what : {"replay, sweep, diff", "output error", "stored survivors",
                             "head maps and scores", "text and pictures"}) {
        EXPECT_TRUE(named[what].works) << what;
    }
    EXPECT_EQ(named["replay, sweep, diff"].detail, "windows up to 6 rows");
    EXPECT_TRUE(named["geometry of heads"].works); // from its keys: it records no spectra
    EXPECT_NE(named["geometry of heads"].detail.find("ecokv geometry"), std::string::npos);
}

TEST(TraceAbilities, ofAForeignTraceSayWhatIsMissing) {
    const test::TemporaryFolder folder;
    {
        test::ForeignFile file(folder / "a.h5");
        file.add("tensors/keys", {1, 1, 4, 2});
        file.add("tensors/window_queries", {1, 1, 2, 2});
    }
    EXPECT_NE(describeTrace(trace::TraceReader(folder / "a.h5")).kind.find("foreign"),
              std::string::npos);
    auto named = abilitiesOf(folder / "a.h5");
    EXPECT_TRUE(named["replay, sweep, diff"].works);
    EXPECT_FALSE(named["output error"].works);
    EXPECT_NE(named["output error"].detail.find("/tensors/values"), std::string::npos);
    EXPECT_FALSE(named["geometry=pre"].works);
    EXPECT_FALSE(named["text and pictures"].works);
    EXPECT_FALSE(named["stored survivors"].works);
}

TEST(TraceAbilities, ofOddFilesNameTheReasonAReplayWouldBeRefusedWith) {
    const test::TemporaryFolder folder;
    {
        test::ForeignFile file(folder / "a.h5");
        file.add("tensors/keys", {1, 1, 4, 2});
        file.add("tensors/window_queries", {1, 1, 2, 2});
        file.addIntegers("tensors/positions", {0, 1, 2});
    }
    auto named = abilitiesOf(folder / "a.h5");
    EXPECT_FALSE(named["replay, sweep, diff"].works);
    EXPECT_NE(named["replay, sweep, diff"].detail.find("has shape [3]; [4] was expected"),
              std::string::npos);
    test::SampleOptions cut;
    cut.layersWritten = 2;
    const auto part = test::writeSampleTrace(folder / "b.ecokv.h5", cut);
    EXPECT_EQ(describeTrace(trace::TraceReader(part)).kind, "a run that did not finish");
    EXPECT_FALSE(abilitiesOf(part)["replay, sweep, diff"].works);
}

} // namespace ecokv::analysis

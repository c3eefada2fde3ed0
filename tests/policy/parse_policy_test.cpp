// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/policy.h"
#include "sentence.h"

#include <clocale>

namespace ecokv::policy {
namespace {

using test::expectRefusal;

TEST(ParsePolicy, readsEveryOption) {
    const PolicyConfig config = parsePolicy(
        "mixkv:budget=48,window=16,recent=12,sink=4,alpha=0.25,beta=1,pool=7,"
        "pool_mode=max,vnorm=off,geometry=pre,allocator=uniform,seed=18446744073709551615");
    EXPECT_EQ(config.scorer, "mixkv");
    EXPECT_EQ(config.budget, 48);
    EXPECT_EQ(config.window, 16);
    EXPECT_EQ(config.recent, 12);
    EXPECT_EQ(config.sink, 4);
    EXPECT_EQ(config.alpha, 0.25);
    EXPECT_EQ(config.beta, 1.0);
    EXPECT_EQ(config.pool, 7);
    EXPECT_EQ(config.poolMode, kernels::PoolMode::Max);
    EXPECT_EQ(config.valueNorm, false);
    EXPECT_EQ(config.geometry, Geometry::Pre);
    EXPECT_EQ(config.allocator, "uniform");
    EXPECT_EQ(config.seed, 18446744073709551615ULL);
}

TEST(ParsePolicy, keepsTheDefaultsItIsGiven) {
    PolicyConfig defaults;
    defaults.budget = 99;
    defaults.alpha = 0.75;
    const PolicyConfig config = parsePolicy("snapkv:alpha=0.5", defaults);
    EXPECT_EQ(config.scorer, "snapkv");
    EXPECT_EQ(config.budget, 99);
    EXPECT_EQ(config.alpha, 0.5);
    EXPECT_FALSE(config.window.has_value());
    EXPECT_EQ(parsePolicy("ecokv:").scorer, "ecokv");
}

TEST(ParsePolicy, listsWhatItKnowsWhenANameIsWrong) {
    expectRefusal(ErrorKind::Usage, {"'snapvk'", "full, random, streaming, snapkv, mixkv, ecokv"},
                  [] { parsePolicy("snapvk"); });
    expectRefusal(ErrorKind::Usage, {"'pyramid'", "uniform"},
                  [] { parsePolicy("ecokv:allocator=pyramid"); });
    expectRefusal(ErrorKind::Usage, {"'widow=3'", "window", "recent", "alpha"},
                  [] { parsePolicy("ecokv:widow=3"); });
    expectRefusal(ErrorKind::Usage, {"'median'", "avg, avg-padded, max"},
                  [] { parsePolicy("ecokv:pool_mode=median"); });
    expectRefusal(ErrorKind::Usage, {"'mid'", "post, pre"},
                  [] { parsePolicy("ecokv:geometry=mid"); });
    expectRefusal(ErrorKind::Usage, {"''", "Known policies"}, [] { parsePolicy(""); });
}

TEST(ParsePolicy, refusesNumbersItCannotReadWhole) {
    for (const char* text : {"ecokv:window=8.5", "ecokv:window=", "ecokv:window=8x",
                             "ecokv:window=99999999999", "ecokv:seed=-1"}) {
        expectRefusal(ErrorKind::Usage, {"not a whole number"}, [&] { parsePolicy(text); });
    }
    expectRefusal(ErrorKind::Usage, {"'half'", "alpha"}, [] { parsePolicy("ecokv:alpha=half"); });
    expectRefusal(ErrorKind::Usage, {"'window'"}, [] { parsePolicy("ecokv:window"); });
    expectRefusal(ErrorKind::Usage, {"not a policy option"}, [] { parsePolicy("ecokv:,sink=1"); });
}

// F155, F156: the decimal sign is a point whatever the locale says.
TEST(ParsePolicy, readsNumbersWithoutTheLocale) {
    const bool changed = std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
    const PolicyConfig config = parsePolicy("ecokv:alpha=0.2");
    std::setlocale(LC_NUMERIC, "C");
    EXPECT_EQ(config.alpha, 0.2) << (changed ? "in de_DE" : "in the C locale");
    // "0,2" ends the option at the comma and leaves "2", which is refused and never becomes 2.
    expectRefusal(ErrorKind::Usage, {"'2'"}, [] { parsePolicy("ecokv:alpha=0,2"); });
}

TEST(Policies, listEveryScorerWithReadableParameters) {
    std::vector<std::string> names;
    for (const PolicyInfo& info : policies()) {
        names.push_back(info.name);
        EXPECT_EQ(info.summary.back(), '.') << info.name;
        EXPECT_FALSE(info.formula.empty()) << info.name;
        EXPECT_FALSE(info.source.empty()) << info.name;
        for (const PolicyParameter& parameter : info.parameters) {
            EXPECT_FALSE(parameter.meaning.empty()) << info.name << " " << parameter.name;
            EXPECT_FALSE(parameter.defaultText.empty()) << info.name << " " << parameter.name;
        }
    }
    EXPECT_EQ(names, (std::vector<std::string>{"full", "random", "streaming", "snapkv", "mixkv",
                                               "ecokv"}));
}

TEST(Policies, shownParametersAreOptionsThatParse) {
    for (const PolicyInfo& info : policies()) {
        for (const PolicyParameter& parameter : info.parameters) {
            // Constant defaults parse as they are shown; computed ones are text.
            const bool isText = parameter.name == "window" || parameter.name == "recent";
            const std::string value = isText ? "3" : parameter.defaultText;
            EXPECT_NO_THROW(parsePolicy(info.name + ":" + parameter.name + "=" + value))
                << info.name << " " << parameter.name;
        }
    }
}

} // namespace
} // namespace ecokv::policy

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/policy.h"
#include "sentence.h"

#include <algorithm>
#include <clocale>

namespace ecokv::policy {
namespace {

using test::expectRefusal;

TEST(ParsePolicy, readsEveryOption) {
    const PolicyConfig config = parsePolicy(
        "mixkv:budget=48,window=16,recent=12,sink=4,alpha=0.25,beta=1,pool=7,"
        "pool_mode=max,vnorm=off,geometry=pre,redundancy=0.25,lambda=0.3,allocator=pyramid,"
        "floor=0.1,pyramid_beta=7.5,head_weights=w.json,seed=18446744073709551615");
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
    EXPECT_EQ(config.redundancy.source, RedundancySource::Constant);
    EXPECT_EQ(config.redundancy.constant, 0.25);
    EXPECT_EQ(config.lambda, 0.3);
    EXPECT_EQ(config.allocator, "pyramid");
    EXPECT_EQ(config.floor, 0.1);
    EXPECT_EQ(config.pyramidBeta, 7.5);
    EXPECT_EQ(config.headWeights, "w.json");
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
    expectRefusal(ErrorKind::Usage, {"'snapvk'", "full, random, streaming, snapkv, knorm, vnorm"},
                  [] { parsePolicy("snapvk"); });
    expectRefusal(ErrorKind::Usage, {"'pyramids'", "uniform, pyramid, adaptive, static"},
                  [] { parsePolicy("ecokv:allocator=pyramids"); });
    expectRefusal(ErrorKind::Usage, {"'tabel:x'", "table:FILE"},
                  [] { parsePolicy("ecokv:redundancy=tabel:x"); });
    expectRefusal(ErrorKind::Usage, {"names no table"},
                  [] { parsePolicy("ecokv:redundancy=table:"); });
    expectRefusal(ErrorKind::Usage, {"'head_weights' has no value"},
                  [] { parsePolicy("ecokv:head_weights="); });
    expectRefusal(ErrorKind::Usage, {"'widow=3'", "window", "recent", "alpha"},
                  [] { parsePolicy("ecokv:widow=3"); });
    expectRefusal(ErrorKind::Usage, {"'median'", "avg, avg-padded, max"},
                  [] { parsePolicy("ecokv:pool_mode=median"); });
    expectRefusal(ErrorKind::Usage, {"'mid'", "post, pre"},
                  [] { parsePolicy("ecokv:geometry=mid"); });
    expectRefusal(ErrorKind::Usage, {"''", "Known policies"}, [] { parsePolicy(""); });
}

TEST(ParsePolicy, refusesNumbersItCannotReadWhole) {
    for (const char* text :
         {"ecokv:window=8.5", "ecokv:window=", "ecokv:window=8x", "ecokv:window=99999999999",
          "ecokv:budget=9223372036854775808", "ecokv:seed=18446744073709551616", "ecokv:seed=-1"}) {
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
    const std::vector<std::string> expected = {"full",  "random",  "streaming",  "snapkv", "knorm",
                                               "vnorm", "keydiff", "manifoldkv", "tova",   "h2o",
                                               "rkv",   "mixkv",   "ecokv"};
    EXPECT_EQ(names, expected);
}

TEST(Policies, shownParametersAreOptionsThatParse) {
    for (const PolicyInfo& info : policies()) {
        for (const PolicyParameter& parameter : info.parameters) {
            // Constant defaults parse as they are shown; computed ones are text.
            const bool isText = parameter.name == "window" || parameter.name == "recent";
            const std::string value = isText                      ? "3"
                                      : parameter.name == "ratio" ? "0.5"
                                                                  : parameter.defaultText;
            EXPECT_NO_THROW(parsePolicy(info.name + ":" + parameter.name + "=" + value))
                << info.name << " " << parameter.name;
        }
    }
}

// What a policy does not read does not change what it keeps; what it lists, it reads.
TEST(Policies, listOnlyWhatTheyRead) {
    const auto lists = [](const char* policy, const char* name) {
        const auto& infos = policies();
        const auto info = std::ranges::find(infos, policy, &PolicyInfo::name);
        return std::ranges::find(info->parameters, name, &PolicyParameter::name) !=
               info->parameters.end();
    };
    EXPECT_TRUE(lists("ecokv", "alpha"));
    EXPECT_FALSE(lists("mixkv", "alpha")); // the cosine alone
    EXPECT_FALSE(lists("snapkv", "geometry"));
    EXPECT_TRUE(lists("keydiff", "geometry"));
    EXPECT_FALSE(lists("knorm", "window"));
    EXPECT_FALSE(lists("tova", "window")); // always the last row
    EXPECT_TRUE(lists("rkv", "lambda"));
    EXPECT_TRUE(lists("random", "seed"));
    EXPECT_FALSE(lists("full", "budget"));
}

TEST(ParsePolicy, valueNormIsSwitchedInEveryUsualWay) {
    for (const char* on : {"on", "1", "true"}) {
        EXPECT_EQ(parsePolicy(std::string("ecokv:vnorm=") + on).valueNorm, true);
    }
    for (const char* off : {"off", "0", "false"}) {
        EXPECT_EQ(parsePolicy(std::string("ecokv:vnorm=") + off).valueNorm, false);
    }
    EXPECT_EQ(policyText(parsePolicy("ecokv:vnorm=1")), "ecokv:vnorm=on");
    expectRefusal(ErrorKind::Usage, {"'yes'"}, [] { parsePolicy("ecokv:vnorm=yes"); });
}

TEST(ParsePolicy, namesTheOptionsThatATextSets) {
    EXPECT_EQ(namedOptions("ecokv"), (std::vector<std::string>{}));
    EXPECT_EQ(namedOptions("ecokv:budget=6,pool_mode=max,redundancy=table:a.json"),
              (std::vector<std::string>{"budget", "pool_mode", "redundancy"}));
    EXPECT_EQ(optionText(parsePolicy("ecokv:budget=6"), "budget"), "6");
    EXPECT_EQ(optionText(parsePolicy("ecokv"), "window"), "");
}

TEST(ParsePolicy, budgetAndRatioReplaceEachOther) {
    PolicyConfig flags;
    flags.budget = 48;
    const PolicyConfig ratio = parsePolicy("ecokv:ratio=0.5", flags);
    EXPECT_EQ(ratio.budget, 0);
    EXPECT_EQ(ratio.ratio, 0.5);
    EXPECT_FALSE(parsePolicy("ecokv:budget=4", ratio).ratio.has_value());
    EXPECT_EQ(policyText(ratio), "ecokv:ratio=0.5");
}

TEST(ParsePolicy, textsOfAllOptionsReadBackTheSame) {
    for (const char* text :
         {"rkv:budget=9,lambda=0.25", "ecokv:redundancy=table:a/b.json", "ecokv:redundancy=0.125",
          "knorm:allocator=static,head_weights=w.json", "h2o:allocator=adaptive,floor=0.35",
          "tova:allocator=pyramid,pyramid_beta=3.5"}) {
        EXPECT_EQ(policyText(parsePolicy(text)), text);
    }
}

} // namespace
} // namespace ecokv::policy

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/policy_list.h"

#include "sentence.h"

namespace ecokv::policy {
namespace {

using test::expectRefusal;
using Texts = std::vector<std::string>;

Texts textsOf(const std::vector<PolicyConfig>& policies) {
    Texts texts;
    for (const PolicyConfig& policy : policies) {
        texts.push_back(policyText(policy));
    }
    return texts;
}

} // namespace

TEST(PolicyList, commasJoinOptionsAndSeparatePolicies) {
    EXPECT_EQ(splitPolicyList("full"), (Texts{"full"}));
    EXPECT_EQ(splitPolicyList("full,snapkv,random"), (Texts{"full", "snapkv", "random"}));
    EXPECT_EQ(splitPolicyList("ecokv:window=16,alpha=0.7,snapkv,mixkv:recent=4"),
              (Texts{"ecokv:window=16,alpha=0.7", "snapkv", "mixkv:recent=4"}));
    EXPECT_EQ(splitPolicyList("ecokv,window=16"), (Texts{"ecokv:window=16"})); // a slip, but clear
}

TEST(PolicyList, emptyEntriesAndLooseOptionsAreRefused) {
    expectRefusal(ErrorKind::Usage, {"\"a,,b\"", "empty entry"}, [] { splitPolicyList("a,,b"); });
    expectRefusal(ErrorKind::Usage, {"empty entry"}, [] { splitPolicyList(""); });
    expectRefusal(ErrorKind::Usage, {"empty entry"}, [] { splitPolicyList("full,"); });
    expectRefusal(ErrorKind::Usage, {"begins with the option", "window=8"},
                  [] { splitPolicyList("window=8,full"); });
}

TEST(PolicyList, everyPolicyMeetsEveryBudgetAndFullMeetsNone) {
    const auto all = expandPolicies({{"full,snapkv", "ecokv:window=16"}, {16, 32}, {}});
    EXPECT_EQ(textsOf(all), (Texts{"full", "snapkv:budget=16", "snapkv:budget=32",
                                   "ecokv:budget=16,window=16", "ecokv:budget=32,window=16"}));
}

TEST(PolicyList, optionsOfAPolicyWinOverTheGridAndDuplicatesGo) {
    const auto all = expandPolicies({{"snapkv:budget=24,random,random"}, {16, 32}, {"uniform"}});
    EXPECT_EQ(textsOf(all), (Texts{"snapkv:budget=24", "random:budget=16", "random:budget=32"}));
}

TEST(PolicyList, defaultsHoldWhereTheGridSaysNothing) {
    PolicyConfig defaults;
    defaults.budget = 48;
    defaults.seed = 7;
    const auto all = expandPolicies({{"random"}, {}, {}}, defaults);
    EXPECT_EQ(textsOf(all), (Texts{"random:budget=48,seed=7"}));
}

TEST(PolicyList, aBudgetThatIsMissingAndNamesThatAreUnknownAreRefused) {
    expectRefusal(ErrorKind::Usage, {"snapkv needs a budget", "--budgets"}, [] {
        expandPolicies({{"full,snapkv"}, {}, {}});
    });
    expectRefusal(ErrorKind::Usage, {"A budget of 0", "0, 16", "at least 1", "full"}, [] {
        expandPolicies({{"snapkv"}, {0, 16}, {}});
    });
    expectRefusal(ErrorKind::Usage, {"A budget of -4"}, [] {
        expandPolicies({{"full"}, {8, -4}, {}});
    });
    expectRefusal(ErrorKind::Usage, {"'snapvk'"}, [] { expandPolicies({{"snapvk"}, {8}, {}}); });
    expectRefusal(ErrorKind::Usage, {"'square'"}, [] {
        expandPolicies({{"snapkv"}, {8}, {"square"}});
    });
}

TEST(PolicyText, isReadBackToTheSameConfiguration) {
    for (const char* text :
         {"ecokv", "full",
          "mixkv:budget=48,window=16,recent=12,sink=4,pool=7,pool_mode=max,vnorm="
          "off,alpha=0.25,beta=1,geometry=pre,seed=18446744073709551615",
          "snapkv:alpha=0.1", "ecokv:recent=0", "ecokv:vnorm=on"}) {
        EXPECT_EQ(policyText(parsePolicy(text)), text);
        EXPECT_EQ(parsePolicy(policyText(parsePolicy(text))), parsePolicy(text));
    }
}

} // namespace ecokv::policy

// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "policy/scorer.h"

#include <algorithm>
#include <array>

namespace ecokv::policy {

namespace {

struct Known {
    const char* name;
    const char* meaning;
    const char* defaultText;
};

constexpr std::array kKnown = {
    Known{"budget", "mean tokens kept per KV head, protected ones included; 0 keeps all", "0"},
    Known{"ratio", "share evicted instead of a budget: floor(N (1 - ratio)) tokens stay", "unset"},
    Known{"window", "last query rows whose attention is observed", "8"},
    Known{"recent", "tokens always kept at the end", "0"},
    Known{"sink", "tokens always kept at the start", "0"},
    Known{"pool", "odd width of the pooling over token order; 1 = none", "5"},
    Known{"pool_mode", "avg (covered positions), avg-padded (divides by the width) or max", "avg"},
    Known{"vnorm", "adds the value norm to the importance: on or off", "off"},
    Known{"alpha", "share of the cosine in the diversity, 0 to 1", "0.5"},
    Known{"beta", "share of the cosine in the redundancy, 0 to 1", "0.5"},
    Known{"geometry", "diversity of keys as cached (post) or with rotation undone (pre)", "post"},
    Known{"redundancy", "weight r of each head: measured, a number, or table:FILE", "measured"},
    Known{"lambda", "share of the attention beside the similarity, 0 to 1", "0.1"},
    Known{"allocator", "how the budget is shared over the heads", "uniform"},
    Known{"seed", "of the generator; the same seed picks the same tokens everywhere", "0"},
    Known{"floor", "share of the mean budget that every head is sure of, 0 to 1", "0.2"},
    Known{"pyramid_beta", "mean budget over that of the last layer; 1 = flat", "20"},
    Known{"head_weights", "file with a weight per head, see the README", "none"},
};

} // namespace

PolicyParameter parameter(const std::string& name, const std::string& defaultText) {
    const auto* known = std::ranges::find(kKnown, name, &Known::name);
    if (known == kKnown.end()) {
        throwInternal("A policy names the parameter '" + name + "', which nothing reads.");
    }
    return {name, known->meaning, defaultText.empty() ? known->defaultText : defaultText};
}

std::vector<PolicyParameter> evictionParameters(const std::string& recent,
                                                std::vector<PolicyParameter> more) {
    std::vector<PolicyParameter> all = {parameter("budget"), parameter("ratio"),
                                        parameter("recent", recent), parameter("sink")};
    all.insert(all.end(), more.begin(), more.end());
    all.push_back(parameter("allocator"));
    return all;
}

std::vector<PolicyParameter> statisticsParameters() {
    return {parameter("window"), parameter("pool"), parameter("pool_mode"), parameter("vnorm"),
            parameter("alpha"),  parameter("beta"), parameter("geometry")};
}

} // namespace ecokv::policy

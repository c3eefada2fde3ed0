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
    Known{"window", "last query rows whose attention is observed", "8"},
    Known{"recent", "tokens always kept at the end", "0"},
    Known{"sink", "tokens always kept at the start", "0"},
    Known{"pool", "odd width of the pooling over token order; 1 = none", "5"},
    Known{"pool_mode", "avg (covered positions), avg-padded (divides by the width) or max", "avg"},
    Known{"vnorm", "adds the value norm to the importance: on or off", "off"},
    Known{"alpha", "share of the cosine in the diversity, 0 to 1", "0.5"},
    Known{"beta", "share of the cosine in the redundancy, 0 to 1", "0.5"},
    Known{"geometry", "diversity of keys as cached (post) or with rotation undone (pre)", "post"},
    Known{"allocator", "how the budget is shared over the heads", "uniform"},
    Known{"seed", "of the generator; the same seed picks the same tokens everywhere", "0"},
};

} // namespace

PolicyParameter parameter(const std::string& name, const std::string& defaultText) {
    const auto* known = std::ranges::find(kKnown, name, &Known::name);
    if (known == kKnown.end()) {
        throwInternal("A policy names the parameter '" + name + "', which nothing reads.");
    }
    return {name, known->meaning, defaultText.empty() ? known->defaultText : defaultText};
}

std::vector<PolicyParameter> commonParameters(const std::string& window, const std::string& recent,
                                              const std::string& poolMode,
                                              const std::string& valueNorm) {
    return {parameter("budget"),
            parameter("window", window),
            parameter("recent", recent),
            parameter("sink"),
            parameter("pool"),
            parameter("pool_mode", poolMode),
            parameter("vnorm", valueNorm),
            parameter("alpha"),
            parameter("beta"),
            parameter("geometry"),
            parameter("allocator")};
}

} // namespace ecokv::policy

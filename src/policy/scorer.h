#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// What a policy is to this project: its defaults and one score() over measured heads. Adding one
// means a file scorers/scorer_<name>.cpp and a line in scorers/scorer_registry.cpp. Stateless,
// thread-safe.

#include "policy/policy.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ecokv::policy {

class Measurement;

/// How many of the last tokens a policy protects when the user does not say.
enum class RecentRule : std::uint8_t {
    Zero,          ///< none
    LastToken,     ///< one
    QuarterBudget, ///< min(32, floor(B / 4))
    HalfBudget,    ///< floor(B / 2)
    TiedToWindow,  ///< as many as the observation window
};

struct ScorerDefaults {
    int window = 8;
    RecentRule recent = RecentRule::Zero;
    kernels::PoolMode poolMode = kernels::PoolMode::Average;
    bool valueNorm = false;
};

struct Scorer {
    PolicyInfo info;
    ScorerDefaults defaults;
    bool keepsAll = false; ///< `full`: nothing is evicted whatever the budget
    bool observesAllRows() const { return info.observes == Observation::AllRows; }
    bool runsAtDecode() const { return info.runsAtDecode(); }

    /// Scores of the candidates [kvHead, candidate]; higher stays.
    std::vector<float> (*score)(const Measurement& measured, const ResolvedPolicy& policy);
};

/// Throws Error{Usage} with the list of known names.
const Scorer& findScorer(const std::string& name);
const std::vector<Scorer>& scorers();

Scorer fullScorer();
Scorer randomScorer();
Scorer streamingScorer();
Scorer snapkvScorer();
Scorer knormScorer();
Scorer vnormScorer();
Scorer keydiffScorer();
Scorer manifoldkvScorer();
Scorer tovaScorer();
Scorer h2oScorer();
Scorer rkvScorer();
Scorer mixkvScorer();
Scorer ecokvScorer();

/// The option of that name with its meaning and general default, for PolicyInfo::parameters.
PolicyParameter parameter(const std::string& name, const std::string& defaultText = {});
/// budget, ratio, recent, sink, allocator, which every evicting policy reads, and `more`.
std::vector<PolicyParameter> evictionParameters(const std::string& recent,
                                                std::vector<PolicyParameter> more);

} // namespace ecokv::policy

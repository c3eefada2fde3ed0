#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The policies as the programs list and offer them, for those parts that do not see `policy`.

#include "policy/policy.h"
#include "policy/policy_list.h"

namespace ecokv::session {

using PolicyEntry = policy::PolicyInfo;

inline const std::vector<PolicyEntry>& policyCatalogue() {
    return policy::policies();
}

using PolicyParameterEntry = policy::PolicyParameter;

inline const std::vector<PolicyEntry>& allocatorCatalogue() {
    return policy::allocatorInfos();
}

/// Options that every policy takes for what is recorded beside its scores.
inline std::vector<PolicyParameterEntry> statisticsCatalogue() {
    return policy::statisticsParameters();
}

} // namespace ecokv::session

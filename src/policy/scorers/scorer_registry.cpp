// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "policy/scorer.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::policy {

const std::vector<Scorer>& scorers() {
    static const std::vector<Scorer> all = {
        fullScorer(),  randomScorer(),  streamingScorer(),  snapkvScorer(), knormScorer(),
        vnormScorer(), keydiffScorer(), manifoldkvScorer(), tovaScorer(),   h2oScorer(),
        rkvScorer(),   mixkvScorer(),   ecokvScorer(),
    };
    return all;
}

const std::vector<PolicyInfo>& policies() {
    static const std::vector<PolicyInfo> infos = [] {
        std::vector<PolicyInfo> list;
        for (const Scorer& scorer : scorers()) {
            list.push_back(scorer.info);
        }
        return list;
    }();
    return infos;
}

const Scorer& findScorer(const std::string& name) {
    const auto found = std::ranges::find_if(
        scorers(), [&](const Scorer& scorer) { return scorer.info.name == name; });
    if (found == scorers().end()) {
        std::vector<std::string> names;
        for (const Scorer& scorer : scorers()) {
            names.push_back(scorer.info.name);
        }
        throwUsage(fmt::format("There is no policy '{}'.", name),
                   fmt::format("Known policies: {}.", fmt::join(names, ", ")));
    }
    return *found;
}

} // namespace ecokv::policy

// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "policy/allocator.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::policy {

namespace {

const std::vector<Allocator>& registered() {
    static const std::vector<Allocator> all = {
        uniformAllocator(),
        pyramidAllocator(),
        adaptiveAllocator(),
        staticAllocator(),
    };
    return all;
}

} // namespace

const std::vector<PolicyInfo>& allocatorInfos() {
    static const std::vector<PolicyInfo> infos = [] {
        std::vector<PolicyInfo> list;
        for (const Allocator& allocator : registered()) {
            list.push_back(allocator.info);
        }
        return list;
    }();
    return infos;
}

const std::vector<std::string>& allocators() {
    static const std::vector<std::string> names = [] {
        std::vector<std::string> list;
        for (const PolicyInfo& info : allocatorInfos()) {
            list.push_back(info.name);
        }
        return list;
    }();
    return names;
}

const Allocator& findAllocator(const std::string& name) {
    const auto found = std::ranges::find_if(
        registered(), [&](const Allocator& allocator) { return allocator.info.name == name; });
    if (found == registered().end()) {
        throwUsage(fmt::format("There is no budget allocator '{}'.", name),
                   fmt::format("Known allocators: {}.", fmt::join(allocators(), ", ")));
    }
    return *found;
}

std::vector<std::int64_t> allocateLayer(std::span<const HeadCandidates> heads,
                                        const PolicyConfig& config) {
    const Allocator& allocator = findAllocator(config.allocator);
    if (allocator.shareLayer != nullptr) {
        return allocator.shareLayer(heads, config);
    }
    std::vector<std::int64_t> budgets;
    for (const HeadCandidates& head : heads) {
        const auto tokens = head.protectedTokens + static_cast<std::int64_t>(head.score.size());
        budgets.push_back(std::min(head.budget, tokens));
    }
    return budgets;
}

std::int64_t smallestShare(const ResolvedPolicy& policy) {
    return std::max<std::int64_t>(policy.sink + policy.recent, 1);
}

} // namespace ecokv::policy

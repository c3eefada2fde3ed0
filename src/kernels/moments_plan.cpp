// SPDX-License-Identifier: GPL-3.0-or-later
#include "kernels/moments_plan.h"

#include "kernels/argument_checks.h"

#include <algorithm>

namespace ecokv::kernels {

namespace {

constexpr std::int64_t kBlock = 512;

Status checkSetup(const KeyMomentsSetup& setup) {
    const bool sizes = setup.tokens >= 0 && setup.dim >= 0;
    const bool counts = setup.groupCount >= 1 && setup.groupCount <= 256;
    const bool listed =
        setup.groups.empty() || static_cast<std::int64_t>(setup.groups.size()) == setup.tokens;
    const bool known = std::all_of(setup.groups.begin(), setup.groups.end(),
                                   [&](std::uint8_t group) { return group < setup.groupCount; });
    if (!sizes || !counts || !listed || !known) {
        return Status::BadShape;
    }
    return setup.rotation != nullptr ? checkRotation(*setup.rotation, setup.dim) : Status::Ok;
}

} // namespace

KeyMomentsPlan::KeyMomentsPlan(const KeyMomentsSetup& setup)
    : m_data(std::make_shared<const Data>(setup)) {}

KeyMomentsPlan::Data::Data(const KeyMomentsSetup& setup)
    : tokens(setup.tokens), dim(setup.dim), groupCount(setup.groupCount),
      status(checkSetup(setup)) {
    if (status != Status::Ok) {
        return;
    }
    groups.assign(static_cast<std::size_t>(tokens), 0);
    std::copy(setup.groups.begin(), setup.groups.end(), groups.begin());
    for (int group = 0; group < groupCount; ++group) {
        const auto begin = static_cast<std::int64_t>(tokenOfRow.size());
        for (std::int64_t token = 0; token < tokens; ++token) {
            if (groups[static_cast<std::size_t>(token)] == group) {
                tokenOfRow.push_back(token);
            }
        }
        const std::int64_t count = static_cast<std::int64_t>(tokenOfRow.size()) - begin;
        for (std::int64_t first = 0; first < count; first += kBlock) {
            blocks.push_back({group, begin + first, begin + std::min(first + kBlock, count)});
        }
    }
    if (setup.rotation == nullptr) {
        return;
    }
    rotated = true;
    const Rotation& given = *setup.rotation;
    m_frequencies.assign(given.inverseFrequencies, given.inverseFrequencies + dim / 2);
    m_positions.assign(given.positions, given.positions + tokens);
    for (const std::int64_t token : tokenOfRow) {
        m_rowPositions.push_back(m_positions[static_cast<std::size_t>(token)]);
    }
    rotation = {given.style, m_frequencies.data(), m_positions.data(), given.attentionScaling};
    rotationOfRows = rotation;
    rotationOfRows.positions = m_rowPositions.data();
    angles = cpu::RotationTable(&rotationOfRows, tokens, dim);
}

} // namespace ecokv::kernels

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

template <class T>
std::vector<T> inRows(const std::vector<T>& ofTokens, const std::vector<std::int64_t>& tokenOfRow) {
    std::vector<T> ofRows;
    ofRows.reserve(tokenOfRow.size());
    for (const std::int64_t token : tokenOfRow) {
        ofRows.push_back(ofTokens[static_cast<std::size_t>(token)]);
    }
    return ofRows;
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
    if (setup.rotation != nullptr) {
        rotated = true;
        copyRotation(*setup.rotation);
        angles = cpu::RotationTable(&rotationOfRows, tokens, dim);
    }
}

void KeyMomentsPlan::Data::copyRotation(const Rotation& given) {
    const std::int64_t pairs = given.pairsOf(dim);
    m_frequencies.assign(given.inverseFrequencies, given.inverseFrequencies + pairs);
    rotation = given;
    rotation.inverseFrequencies = m_frequencies.data();
    if (given.axes != nullptr) {
        m_axes.assign(given.axes, given.axes + pairs);
        rotation.axes = m_axes.data();
    }
    rotationOfRows = rotation;
    if (given.axisPositions != nullptr) {
        m_axisPositions.assign(given.axisPositions, given.axisPositions + tokens);
        m_rowAxisPositions = inRows(m_axisPositions, tokenOfRow);
        rotation.axisPositions = m_axisPositions.data();
        rotationOfRows.axisPositions = m_rowAxisPositions.data();
    } else {
        m_positions.assign(given.positions, given.positions + tokens);
        m_rowPositions = inRows(m_positions, tokenOfRow);
        rotation.positions = m_positions.data();
        rotationOfRows.positions = m_rowPositions.data();
    }
}

} // namespace ecokv::kernels

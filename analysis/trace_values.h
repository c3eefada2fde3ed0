#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Internal: small readings of a trace that several analyses share. Pure functions, any thread.

#include "kernels/kernel_types.h"
#include "trace/trace_records.h"

#include <string>
#include <variant>
#include <vector>

namespace ecokv::analysis {

/// The attribute as a T; null where it is missing or of another type.
template <class T>
const T* attributeOf(const trace::Attributes& attributes, const std::string& name) {
    const auto found = attributes.find(name);
    return found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

/// A text attribute; "" where it is missing or no text.
inline std::string textAttribute(const trace::Attributes& attributes, const std::string& name) {
    const auto* text = attributeOf<std::string>(attributes, name);
    return text != nullptr ? *text : std::string();
}

/// What undoes each rotary embedding of keys at `positions` [token]; both arguments must outlive
/// it. [rope] as `record` numbers them.
inline std::vector<kernels::Rotation> rotationsOf(const trace::RotationRecord& record,
                                                  const std::vector<std::int64_t>& positions) {
    std::vector<kernels::Rotation> rotations;
    for (const trace::RopeRecord& rope : record.ropes) {
        kernels::Rotation rotation = kernels::Rotation::none(positions.data());
        if (!rope.inverseFrequencies.empty()) {
            rotation.style =
                record.interleaved ? kernels::RopeStyle::Interleaved : kernels::RopeStyle::Half;
            rotation.inverseFrequencies = rope.inverseFrequencies.data();
            rotation.pairs = static_cast<std::int64_t>(rope.inverseFrequencies.size());
            rotation.attentionScaling = static_cast<float>(rope.attentionScaling);
            if (!record.positions.empty()) {
                rotation.axes = rope.axes.empty() ? nullptr : rope.axes.data();
                rotation.axisPositions = record.positions.data();
            }
        }
        rotations.push_back(rotation);
    }
    return rotations;
}

} // namespace ecokv::analysis

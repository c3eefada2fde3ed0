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

/// What undoes the rotation of keys at `positions` [token]; both arguments must outlive it.
inline kernels::Rotation rotationOf(const trace::RotationRecord& record,
                                    const std::vector<std::int64_t>& positions) {
    kernels::Rotation rotation;
    rotation.style =
        record.interleaved ? kernels::RopeStyle::Interleaved : kernels::RopeStyle::Half;
    rotation.inverseFrequencies = record.inverseFrequencies.data();
    rotation.positions = positions.data();
    return rotation;
}

} // namespace ecokv::analysis

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The golden files as inputs of scoreLayer: one LayerInput per layer and one PolicyConfig per case.

#include "policy/policy.h"
#include "support/golden_file.h"

#include <string>
#include <vector>

namespace ecokv::policy::test {

class GoldenLayers {
public:
    explicit GoldenLayers(const ecokv::test::GoldenFile& file);

    std::int64_t layers() const { return m_keyShape[0]; }
    std::int64_t tokens() const { return m_keyShape[2]; }
    /// Views into this object.
    LayerInput layer(std::int64_t index);

private:
    std::vector<float> m_keys, m_values, m_queries, m_frequencies;
    std::vector<std::int64_t> m_keyShape, m_queryShape, m_positions, m_windowPositions;
    kernels::Rotation m_rotation;
};

/// The attributes of /expected/<case>; defaults as tests/data/golden/README.md states them.
PolicyConfig goldenConfig(const ecokv::test::GoldenFile& file, const std::string& name);

} // namespace ecokv::policy::test

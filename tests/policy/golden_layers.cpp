// SPDX-License-Identifier: GPL-3.0-or-later
#include "golden_layers.h"

#include <cmath>
#include <numeric>

namespace ecokv::policy::test {

using ecokv::test::GoldenArray;
using ecokv::test::GoldenFile;

GoldenLayers::GoldenLayers(const GoldenFile& file) {
    const GoldenArray keys = file.read("tensors/keys");
    const GoldenArray queries = file.read("tensors/window_queries");
    m_keys = keys.floats();
    m_keyShape = keys.shape;
    m_queries = queries.floats();
    m_queryShape = queries.shape;
    m_values = file.read("tensors/values").floats();
    m_windowPositions = file.read("tensors/window_positions").integers();
    m_positions.resize(static_cast<std::size_t>(tokens()));
    std::iota(m_positions.begin(), m_positions.end(), 0);
    if (const auto theta = file.number("tensors/keys", "rope_theta")) {
        const auto dim = static_cast<double>(m_keyShape[3]);
        for (std::int64_t i = 0; i < m_keyShape[3] / 2; ++i) {
            m_frequencies.push_back(
                static_cast<float>(std::pow(*theta, -2.0 * static_cast<double>(i) / dim)));
        }
        m_rotation.style = file.text("tensors/keys", "rope_style") == "half"
                               ? kernels::RopeStyle::Half
                               : kernels::RopeStyle::Interleaved;
        m_rotation.inverseFrequencies = m_frequencies.data();
        m_rotation.positions = m_positions.data();
    }
}

LayerInput GoldenLayers::layer(std::int64_t index) {
    const auto view = [index](std::vector<float>& data, const std::vector<std::int64_t>& shape) {
        return TensorView::contiguous(data.data(), DType::F32,
                                      {shape[0], shape[1], shape[2], shape[3]})[index];
    };
    return {
        .layer = LayerId{static_cast<std::int32_t>(index)},
        .keys = view(m_keys, m_keyShape),
        .values = view(m_values, m_keyShape),
        .windowQueries = view(m_queries, m_queryShape),
        .positions = m_positions,
        .windowPositions = m_windowPositions,
        .rotation = m_frequencies.empty() ? nullptr : &m_rotation,
    };
}

PolicyConfig goldenConfig(const GoldenFile& file, const std::string& name) {
    const std::string path = "expected/" + name;
    const auto number = [&](const char* key, double fallback) {
        return file.number(path, key).value_or(fallback);
    };
    const std::string mode = file.text(path, "mode").value_or("avg");
    PolicyConfig config;
    config.scorer = file.text(path, "policy").value();
    config.budget = static_cast<std::int64_t>(number("budget", 0));
    config.window = static_cast<int>(number("window", 0));
    config.recent = static_cast<std::int64_t>(number("recent", 0));
    config.sink = static_cast<std::int64_t>(number("sink", 0));
    config.alpha = number("alpha", 0.5);
    config.beta = number("beta", 0.5);
    config.pool = static_cast<int>(number("kernel", 5));
    config.poolMode = mode == "max"   ? kernels::PoolMode::Max
                      : mode == "avg" ? kernels::PoolMode::Average
                                      : kernels::PoolMode::AveragePadded;
    config.valueNorm = number("vnorm", 0) != 0;
    if (file.text(path, "geometry").value_or("post") == "pre") {
        config.geometry = Geometry::Pre;
    }
    return config;
}

} // namespace ecokv::policy::test

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// The names under which the geometry of heads is recorded and shown: a quantity, then "_pre" where
// the rotation is undone, then "_image" or "_text" where only such tokens count. Stateless.

#include "policy/head_geometry.h"

#include <array>
#include <map>
#include <string>
#include <vector>

namespace ecokv::policy {

enum class KeySet : std::uint8_t { All, Image, Text };
inline constexpr std::array kKeySets{KeySet::All, KeySet::Image, KeySet::Text};

struct GeometryQuantity {
    const char* name; ///< "anisotropy"
    double SubsetGeometry::*value;
};

inline constexpr std::array kGeometryQuantities{
    GeometryQuantity{"redundancy_cosine", &SubsetGeometry::redundancyCosine},
    GeometryQuantity{"redundancy_euclid", &SubsetGeometry::redundancyEuclid},
    GeometryQuantity{"anisotropy", &SubsetGeometry::anisotropy},
    GeometryQuantity{"participation_ratio", &SubsetGeometry::participationRatio},
    GeometryQuantity{"mean_key_norm", &SubsetGeometry::meanKeyNorm},
};

/// "anisotropy", "anisotropy_pre", "anisotropy_image", "anisotropy_pre_image", ...
std::string geometryName(const std::string& quantity, bool pre, KeySet keys);
const SubsetGeometry& subsetOf(const HeadGeometry& head, KeySet keys);

/// name -> [kvHead]. Image and text tokens are named only where the prompt has both; lengths do
/// not change with the rotation, so there is no mean_key_norm_pre.
std::map<std::string, std::vector<float>> geometryMetrics(const LayerGeometry& layer);
/// "spectrum" and "spectrum_pre" -> [kvHead, dim], of the candidates; what was not computed is left
/// out.
std::map<std::string, std::vector<float>> geometrySpectra(const LayerGeometry& layer);

} // namespace ecokv::policy

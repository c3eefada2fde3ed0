// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/geometry_metrics.h"

#include <algorithm>
#include <string_view>

namespace ecokv::policy {

namespace {

/// A prompt of one kind of token alone: that kind is already "all".
bool isMixed(const std::vector<HeadGeometry>& heads) {
    return std::any_of(heads.begin(), heads.end(), [](const HeadGeometry& head) {
        return head.image.tokens > 0 && head.text.tokens > 0;
    });
}

void addMetrics(const std::vector<HeadGeometry>& heads, bool pre,
                std::map<std::string, std::vector<float>>& metrics) {
    if (heads.empty()) {
        return;
    }
    for (const KeySet keys : kKeySets) {
        if (keys != KeySet::All && !isMixed(heads)) {
            continue;
        }
        for (const GeometryQuantity& quantity : kGeometryQuantities) {
            if (pre && std::string_view(quantity.name) == "mean_key_norm") {
                continue;
            }
            auto& values = metrics[geometryName(quantity.name, pre, keys)];
            for (const HeadGeometry& head : heads) {
                values.push_back(static_cast<float>(subsetOf(head, keys).*quantity.value));
            }
        }
    }
}

void addSpectra(const std::vector<HeadGeometry>& heads, const char* name,
                std::map<std::string, std::vector<float>>& spectra) {
    const bool computed = std::any_of(heads.begin(), heads.end(), [](const HeadGeometry& head) {
        return !head.all.spectrum.empty();
    });
    for (const HeadGeometry& head : heads) {
        if (computed) {
            auto& values = spectra[name];
            std::transform(head.all.spectrum.begin(), head.all.spectrum.end(),
                           std::back_inserter(values),
                           [](double value) { return static_cast<float>(value); });
        }
    }
}

} // namespace

std::string geometryName(const std::string& quantity, bool pre, KeySet keys) {
    const char* set = keys == KeySet::All ? "" : keys == KeySet::Image ? "_image" : "_text";
    return quantity + (pre ? "_pre" : "") + set;
}

const SubsetGeometry& subsetOf(const HeadGeometry& head, KeySet keys) {
    return keys == KeySet::All ? head.all : keys == KeySet::Image ? head.image : head.text;
}

std::map<std::string, std::vector<float>> geometryMetrics(const LayerGeometry& layer) {
    std::map<std::string, std::vector<float>> metrics;
    addMetrics(layer.post, false, metrics);
    addMetrics(layer.pre, true, metrics);
    return metrics;
}

std::map<std::string, std::vector<float>> geometrySpectra(const LayerGeometry& layer) {
    std::map<std::string, std::vector<float>> spectra;
    addSpectra(layer.post, "spectrum", spectra);
    addSpectra(layer.pre, "spectrum_pre", spectra);
    return spectra;
}

} // namespace ecokv::policy

// SPDX-License-Identifier: GPL-3.0-or-later
#include "policy/head_geometry.h"

#include "base/error.h"

#include <Eigen/Eigenvalues>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace ecokv::policy {

namespace {

/// Tokens are summed in four groups, from which every set of keys is put together.
constexpr int kText = 0, kImage = 1, kProtectedText = 2, kProtectedImage = 3, kGroups = 4;

std::vector<std::uint8_t> groupsOf(const GeometrySetup& setup) {
    const TokenRange candidates = setup.candidates.value_or(TokenRange{0, setup.tokens});
    std::vector<std::uint8_t> groups(setup.kinds.empty() ? static_cast<std::size_t>(setup.tokens)
                                                         : setup.kinds.size());
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const auto token = static_cast<std::int64_t>(i);
        const bool isCandidate = token >= candidates.first && token < candidates.end();
        const bool isImage = !setup.kinds.empty() && setup.kinds[i] == kImageKind;
        groups[i] = static_cast<std::uint8_t>((isImage ? kImage : kText) +
                                              (isCandidate ? 0 : kProtectedText));
    }
    return groups;
}

std::vector<double> spectrumOf(const kernels::KeyMoments& moments) {
    const auto dim = static_cast<Eigen::Index>(moments.key.size());
    std::vector<double> spectrum(moments.key.size(), 0.0);
    const Eigen::Map<const Eigen::MatrixXd> scatter(moments.scatter.data(), dim, dim);
    const double largest = dim > 0 ? scatter.diagonal().maxCoeff() : 0.0;
    if (!(largest > 0)) {
        return spectrum;
    }
    // Scaled to 1, so that keys of any length stay inside the solver's range.
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(scatter / largest,
                                                                Eigen::EigenvaluesOnly);
    const double scale = largest / static_cast<double>(moments.tokens);
    for (Eigen::Index i = 0; i < dim; ++i) { // rounding may take the smallest below 0
        spectrum[static_cast<std::size_t>(dim - 1 - i)] =
            scale * std::max(0.0, solver.eigenvalues()[i]);
    }
    return spectrum;
}

SubsetGeometry subsetGeometry(const kernels::KeyMoments& moments, bool spectrum) {
    SubsetGeometry result;
    result.tokens = moments.tokens;
    if (moments.tokens == 0) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        result.redundancyCosine = result.redundancyEuclid = nan;
        result.anisotropy = result.meanKeyNorm = result.participationRatio = nan;
        return result;
    }
    const kernels::HeadStatistics statistics = kernels::statisticsOf(moments);
    result.redundancyCosine = statistics.redundancyCosine;
    result.redundancyEuclid = statistics.redundancyEuclid;
    result.anisotropy = statistics.anisotropy;
    result.meanKeyNorm = statistics.meanKeyNorm;
    result.participationRatio = kernels::participationRatioOf(moments);
    if (spectrum) {
        result.spectrum = spectrumOf(moments);
    }
    return result;
}

/// `moments` [kvHead, group].
std::vector<HeadGeometry> headsOf(const std::vector<kernels::KeyMoments>& moments,
                                  Spectra spectra) {
    const bool each = spectra == Spectra::EverySubset;
    std::vector<HeadGeometry> heads;
    for (std::size_t at = 0; at < moments.size(); at += kGroups) {
        const kernels::KeyMoments* groups = moments.data() + at;
        heads.push_back(
            {subsetGeometry(merged(groups[kText], groups[kImage]), spectra != Spectra::None),
             subsetGeometry(merged(groups[kImage], groups[kProtectedImage]), each),
             subsetGeometry(merged(groups[kText], groups[kProtectedText]), each)});
    }
    return heads;
}

} // namespace

LayerGeometry geometryOf(const LayerMoments& moments, Spectra spectra) {
    return {headsOf(moments.sums.post, spectra), headsOf(moments.sums.pre, spectra)};
}

GeometryMeter::GeometryMeter(const GeometrySetup& setup)
    : m_plan({setup.tokens, setup.dim, setup.rotation, groupsOf(setup), kGroups}) {}

LayerMoments GeometryMeter::moments(LayerId layer, const TensorView& keys,
                                    kernels::Backend backend) const {
    LayerMoments moments;
    const kernels::Status status = kernels::keyMoments(keys, m_plan, moments.sums, backend);
    if (status != kernels::Status::Ok) {
        throwBadInput(fmt::format("The geometry of layer {} could not be measured from keys {}: "
                                  "{}.",
                                  layer.value, keys.describe(), kernels::statusText(status)));
    }
    return moments;
}

} // namespace ecokv::policy

// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/geometry_record.h"

#include "policy/geometry_metrics.h"

#include <memory>
#include <utility>

namespace ecokv::session {

GeometryRecorder::GeometryRecorder(const policy::ResolvedPolicy& policy,
                                   std::vector<std::uint8_t> kinds, bool detailed)
    : m_candidates(policy.candidates()), m_kinds(std::move(kinds)), m_detailed(detailed) {}

const policy::GeometryMeter& GeometryRecorder::meterOf(const policy::LayerInput& input) {
    const bool turned = m_detailed && input.rotation != nullptr;
    const float* frequencies = turned ? input.rotation->inverseFrequencies : nullptr;
    if (const auto found = m_meters.find(frequencies); found != m_meters.end()) {
        return found->second;
    }
    policy::GeometrySetup setup{.tokens = input.keys.shape[1], .dim = input.keys.shape[2]};
    setup.candidates = m_candidates;
    if (m_detailed) {
        setup.kinds = m_kinds;
        setup.rotation = input.rotation;
    }
    return m_meters.emplace(frequencies, setup).first->second;
}

void GeometryRecorder::add(const policy::LayerInput& input, trace::LayerRecord& record) {
    const auto moments = std::make_shared<const policy::LayerMoments>(
        meterOf(input).moments(input.layer, input.keys));
    const auto spectra = m_detailed ? policy::Spectra::All : policy::Spectra::None;
    record.derive = [moments, spectra] {
        const policy::LayerGeometry geometry = policy::geometryOf(*moments, spectra);
        return trace::DerivedHeads{policy::geometryMetrics(geometry),
                                   policy::geometrySpectra(geometry)};
    };
    const auto groups = moments->sums.post.size() + moments->sums.pre.size();
    const auto dim = static_cast<std::size_t>(input.keys.shape[2]);
    record.deriveBytes = groups * dim * (dim + 2) * sizeof(double);
}

} // namespace ecokv::session

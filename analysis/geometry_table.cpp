// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/geometry_table.h"

#include "analysis/finite_layers.h"
#include "analysis/trace_values.h"
#include "base/error.h"
#include "policy/damaged_rows.h"
#include "policy/geometry_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace ecokv::analysis {

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::int64_t integerOf(const trace::Attributes& attributes, const std::string& name) {
    const auto* value = attributeOf<std::int64_t>(attributes, name);
    return value != nullptr ? *value : 0;
}

/// What lies between the protected tokens of a policy; every token where the trace has none.
policy::TokenRange candidatesOf(const trace::TraceReader& reader, const std::string& policyId) {
    const std::int64_t tokens = reader.dimensions().tokens;
    const std::vector<std::string> ids = reader.policyIds();
    if (ids.empty() && policyId.empty()) {
        return {0, tokens};
    }
    const trace::Attributes settings =
        reader.policy(policyId.empty() ? ids.front() : policyId).attributes;
    const std::int64_t sink = std::clamp<std::int64_t>(integerOf(settings, "sink"), 0, tokens);
    const std::int64_t recent =
        std::clamp<std::int64_t>(integerOf(settings, "recent"), 0, tokens - sink);
    return {sink, tokens - sink - recent};
}

/// A run that recorded geometry recorded at least this.
bool isRecorded(const trace::TraceReader& reader) {
    const std::vector<std::string> names = reader.headMetrics();
    return std::find(names.begin(), names.end(), "participation_ratio_pre") != names.end();
}

GeometryTable emptyTable(const trace::TraceReader& reader) {
    const trace::Dimensions& d = reader.dimensions();
    GeometryTable table;
    table.layers = d.layers;
    table.kvHeads = d.kvHeads;
    table.dim = d.headDim;
    return table;
}

void readMetrics(const trace::TraceReader& reader, GeometryTable& table) {
    for (const std::string& name : reader.headMetrics()) {
        table.metrics[name] = reader.headMetric(name);
    }
}

/// NaN where an unfinished run stopped; damage is told in a note, never shown as missing.
void readSpectra(const trace::TraceReader& reader, GeometryTable& table) {
    const std::int64_t recorded = reader.layersWritten() * table.kvHeads;
    for (const std::string& name : reader.headSpectra()) {
        auto& values = table.spectra[name];
        values.assign(static_cast<std::size_t>(table.layers * table.kvHeads * table.dim), kNaN);
        auto to = values.begin();
        for (std::int64_t head = 0; head < recorded; ++head, to += table.dim) {
            const std::int64_t layer = head / table.kvHeads, kvHead = head % table.kvHeads;
            try {
                const auto one = reader.headSpectrum(name, layer, kvHead);
                std::copy(one.begin(), one.end(), to);
            } catch (const Error& error) {
                table.notes.push_back(
                    fmt::format("/heads/{} is left out from layer {} head {} on: {}", name, layer,
                                kvHead, error.message()));
                break;
            }
        }
    }
}

/// Puts one layer's values at their place in [layer, ...]; the rest is NaN.
void place(const std::map<std::string, std::vector<float>>& values, std::int64_t layer,
           std::int64_t layers, std::map<std::string, std::vector<float>>& table) {
    for (const auto& [name, part] : values) {
        auto& whole = table[name];
        whole.resize(part.size() * static_cast<std::size_t>(layers), kNaN);
        std::copy(part.begin(), part.end(),
                  whole.begin() + static_cast<std::ptrdiff_t>(part.size()) * layer);
    }
}

/// Kernels take what is not finite as zero; its geometry is none.
void blankDamaged(GeometryTable& table) {
    if (table.notFinite.empty()) {
        return;
    }
    for (auto* numbers : {&table.metrics, &table.spectra}) {
        for (auto& [name, values] : *numbers) {
            blankLayers(table.notFinite, table.layers, values);
        }
    }
    table.notes.push_back(notFiniteNote(table.notFinite));
}

class KeyGeometry {
public:
    KeyGeometry(const trace::TraceReader& reader, const GeometryRequest& request)
        : m_reader(reader), m_request(request), m_positions(reader.positions()),
          m_rotationRecord(reader.rotation()) {
        if (const auto model = reader.model()) {
            m_linear = model->linearLayers;
        }
        makeMeters();
    }

    void measure(GeometryTable& table) {
        table.measured = true;
        noteGaps(table);
        const auto spectra = m_request.spectra ? policy::Spectra::All : policy::Spectra::None;
        for (std::int64_t layer = 0; layer < table.layers; ++layer) {
            m_request.cancel.throwIfCancelled("The geometry");
            if (m_linear.size() > static_cast<std::size_t>(layer) &&
                m_linear[static_cast<std::size_t>(layer)] != 0) {
                continue; // no keys
            }
            try {
                const trace::RawTensor keys = m_reader.layerKeys(layer);
                const std::size_t rope = m_rotationRecord ? m_rotationRecord->indexOf(layer) : 0;
                const auto geometry = m_meters[rope].measure(
                    LayerId{static_cast<std::int32_t>(layer)}, keys.view(), spectra);
                if (!policy::holdsOnlyFinite(keys.view())) {
                    table.notFinite.push_back(layer);
                }
                place(policy::geometryMetrics(geometry), layer, table.layers, table.metrics);
                place(policy::geometrySpectra(geometry), layer, table.layers, table.spectra);
            } catch (const Error& error) {
                if (layer == 0) {
                    throw;
                }
                table.notes.push_back(error.message());
                return;
            }
            if (m_request.progress) {
                m_request.progress({"Geometry", layer + 1, table.layers, "layers"});
            }
        }
    }

private:
    /// One for each rotary embedding.
    void makeMeters() {
        const trace::Dimensions& d = m_reader.dimensions();
        policy::GeometrySetup setup{.tokens = d.tokens, .dim = d.headDim};
        setup.candidates = candidatesOf(m_reader, m_request.policyId);
        if (const auto prompt = m_reader.prompt()) {
            m_kinds = prompt->tokenKind;
            setup.kinds = m_kinds;
        }
        if (!m_rotationRecord) {
            m_meters.emplace_back(setup);
            return;
        }
        m_rotations = rotationsOf(*m_rotationRecord, m_positions);
        for (const kernels::Rotation& rotation : m_rotations) {
            setup.rotation = &rotation;
            m_meters.emplace_back(setup);
        }
    }

    void noteGaps(GeometryTable& table) const {
        if (!m_rotationRecord) {
            table.notes.emplace_back(
                "The trace does not say how its keys were rotated (rope_theta, rope_style): "
                "un-rotated geometry is left out.");
        }
        if (m_kinds.empty()) {
            table.notes.emplace_back("The trace does not say which tokens are of images: image "
                                     "and text tokens are not told apart.");
        }
    }

    const trace::TraceReader& m_reader;
    const GeometryRequest& m_request;
    std::vector<std::int64_t> m_positions;
    std::vector<std::uint8_t> m_linear; ///< [layer] 1 = no KV cache, or empty
    std::optional<trace::RotationRecord> m_rotationRecord;
    std::vector<std::uint8_t> m_kinds;
    std::vector<kernels::Rotation> m_rotations;
    std::vector<policy::GeometryMeter> m_meters; ///< [rope]
};

} // namespace

float GeometryTable::value(const std::string& name, std::int64_t layer, std::int64_t kvHead) const {
    const auto found = metrics.find(name);
    return found == metrics.end()
               ? kNaN
               : found->second.at(static_cast<std::size_t>(layer * kvHeads + kvHead));
}

GeometryTable geometryTable(const trace::TraceReader& reader, const GeometryRequest& request) {
    GeometryTable table = emptyTable(reader);
    const bool hasKeys = reader.has("tensors/keys");
    readMetrics(reader, table);
    if (isRecorded(reader) || !hasKeys) {
        if (table.metrics.empty()) {
            throwBadInput(
                fmt::format("{} holds neither keys nor head metrics.", reader.path().string()),
                "Record /tensors/keys [layer, kv_head, token, dim].");
        }
        if (request.spectra) {
            readSpectra(reader, table);
        }
        if (!hasKeys && !isRecorded(reader)) {
            table.notes.emplace_back(
                "The trace holds no keys: only what its run recorded is shown.");
        }
        table.notFinite = notedNotFinite(reader, "keys");
    } else {
        KeyGeometry(reader, request).measure(table);
    }
    blankDamaged(table);
    return table;
}

} // namespace ecokv::analysis

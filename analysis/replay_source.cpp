// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/replay_source.h"

#include "analysis/trace_values.h"
#include "base/error.h"
#include "policy/policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ecokv::analysis {

namespace {

std::string nameOfModel(const trace::TraceReader& reader) {
    const auto model = reader.model();
    return model ? textAttribute(model->attributes, "name") : std::string();
}

std::string sourceOfResults(const trace::TraceReader& reader) {
    const auto run = reader.run();
    return run ? textAttribute(run->attributes, "replayed_from") : std::string();
}

bool observesAllRows(const std::string& scorer) {
    const auto& infos = policy::policies();
    const auto info = std::ranges::find(infos, scorer, &policy::PolicyInfo::name);
    return info != infos.end() && info->observes == policy::Observation::AllRows;
}

/// Refuses files without what every replay reads.
void checkTensors(const trace::TraceReader& reader) {
    const std::string path = reader.path().string();
    if (!reader.has("tensors/keys")) {
        const std::string source = sourceOfResults(reader);
        throwBadInput(
            fmt::format("{} holds results only and has no /tensors/keys to replay.", path),
            source.empty() ? "Replay the trace it was made from."
                           : fmt::format("Replay {}, which it was made from.", source));
    }
    if (!reader.has("tensors/window_queries")) {
        throwBadInput(
            fmt::format("{} has no /tensors/window_queries; importance cannot be computed.", path),
            "Record the queries of the last prompt tokens [layer, head, window, dim].");
    }
}

} // namespace

ReplaySource::ReplaySource(std::shared_ptr<const trace::TraceReader> reader, std::size_t cacheBytes)
    : m_reader(std::move(reader)), m_modelName(nameOfModel(*m_reader)), m_cache(cacheBytes) {
    checkTensors(*m_reader);
    m_hasValues = m_reader->has("tensors/values");
    m_dtype = m_reader->storedDType("tensors/keys");
    readPositions();
    readRotation();
    if (const auto model = m_reader->model()) {
        m_slidingWindows = model->slidingWindows;
        m_linearLayers = model->linearLayers;
    }
    const auto layers = static_cast<std::size_t>(dimensions().layers);
    if (!m_slidingWindows.empty() && m_slidingWindows.size() != layers) {
        throwBadInput(fmt::format("/model/sliding_windows of {} has {} entries for {} layers.",
                                  m_reader->path().string(), m_slidingWindows.size(), layers),
                      "Give every layer its window, 0 for a full layer.");
    }
    if (!m_linearLayers.empty() && m_linearLayers.size() != layers) {
        throwBadInput(fmt::format("/model/linear_layers of {} has {} entries for {} layers.",
                                  m_reader->path().string(), m_linearLayers.size(), layers),
                      "Say 1 for every layer without a KV cache, 0 for the others.");
    }
}

void ReplaySource::readPositions() {
    m_positions = m_reader->positions();
    if (m_positions.front() < 0 || !std::is_sorted(m_positions.begin(), m_positions.end())) {
        throwBadInput(fmt::format("/tensors/positions of {} are not the places of tokens in their "
                                  "order: they must not fall and not be below 0.",
                                  m_reader->path().string()),
                      "Sort the tokens by position, or leave positions out if none was evicted.");
    }
    m_windowPositions = m_reader->windowPositions();
    const auto first = *std::min_element(m_positions.begin(), m_positions.end());
    const auto last = *std::max_element(m_positions.begin(), m_positions.end());
    for (const std::int64_t position : m_windowPositions) {
        if (position < first) {
            throwBadInput(fmt::format("A window row of {} stands at position {}, before every key "
                                      "({} to {}).",
                                      m_reader->path().string(), position, first, last),
                          "Check /tensors/window_positions and /tensors/positions.");
        }
    }
}

void ReplaySource::readRotation() {
    m_rotationRecord = m_reader->rotation();
    if (m_rotationRecord) {
        m_rotations = rotationsOf(*m_rotationRecord, m_positions);
    }
}

policy::ModelShape ReplaySource::shape() const {
    const trace::Dimensions& d = dimensions();
    return {static_cast<std::int32_t>(d.layers), static_cast<std::int32_t>(d.kvHeads), m_modelName,
            m_slidingWindows, m_linearLayers};
}

void ReplaySource::checkCanReplay(const policy::ResolvedPolicy& policy) const {
    const std::string path = m_reader->path().string();
    const std::string& name = policy.config.scorer;
    if (policy.window > dimensions().window) {
        throwUsage(fmt::format("The policy {} observes {} query rows, but {} recorded the last {}.",
                               name, policy.window, path, dimensions().window),
                   fmt::format("{}ecokv run --record-window {} records enough.",
                               observesAllRows(name)
                                   ? std::string()
                                   : fmt::format("Use window={} or less, or record more rows: ",
                                                 dimensions().window),
                               policy.window));
    }
    const bool scoresValues = name == "vnorm"; // and nothing else
    if ((policy.valueNorm || scoresValues) && !m_hasValues) {
        throwUsage(fmt::format("The policy {} {} the value norm, but {} has no /tensors/values.",
                               name, scoresValues ? "is" : "adds", path),
                   scoresValues ? "Record the values, or choose another policy."
                                : "Use vnorm=off, or record the values.");
    }
    if (policy.config.geometry == policy::Geometry::Pre && !m_rotationRecord) {
        throwUsage(fmt::format("geometry=pre needs to know how the keys of {} were rotated, and "
                               "the file does not say.",
                               path),
                   "Use geometry=post, or set the attributes rope_theta and rope_style (\"half\" "
                   "or \"interleaved\") of /tensors/keys.");
    }
}

void ReplaySource::checkRows(std::int64_t rows) const {
    if (rows > dimensions().window) {
        throwUsage(fmt::format("{} window rows were asked for; {} recorded the last {}.", rows,
                               m_reader->path().string(), dimensions().window),
                   "Ask for fewer rows, or record more with ecokv run --record-window.");
    }
}

SourceLayer ReplaySource::layer(std::int64_t layer, bool withValues) {
    using Raw = trace::RawTensor;
    const auto kept = [&](const char* what, Raw (trace::TraceReader::*read)(std::int64_t) const) {
        return m_cache.get<Raw>(
            fmt::format("{} {}", what, layer),
            [&] { return std::make_shared<const Raw>((*m_reader.*read)(layer)); },
            [](const Raw& tensor) { return tensor.bytes(); });
    };
    SourceLayer source;
    source.keys = kept("keys", &trace::TraceReader::layerKeys);
    source.queries = kept("queries", &trace::TraceReader::layerWindowQueries);
    source.input.layer = LayerId{static_cast<std::int32_t>(layer)};
    source.input.keys = source.keys->view();
    source.input.windowQueries = source.queries->view();
    if (withValues && m_hasValues) {
        source.values = kept("values", &trace::TraceReader::layerValues);
        source.input.values = source.values->view();
    }
    source.input.positions = m_positions;
    source.input.windowPositions = m_windowPositions;
    source.input.rotation =
        m_rotationRecord ? &m_rotations[m_rotationRecord->indexOf(layer)] : nullptr;
    return source;
}

} // namespace ecokv::analysis

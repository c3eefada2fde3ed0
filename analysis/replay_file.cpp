// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/replay_file.h"

#include "analysis/trace_values.h"
#include "base/error.h"
#include "policy/policy_settings.h"
#include "trace/trace_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <system_error>

namespace ecokv::analysis {

namespace {

trace::LayerRecord layerRecord(const ReplayResult& replayed, std::size_t layer, bool hasValues) {
    const policy::LayerScores& scores = *replayed.layers[layer];
    trace::LayerRecord record;
    record.layer = static_cast<std::int64_t>(layer);
    record.heads = {{"redundancy", scores.redundancy},
                    {"redundancy_cosine", scores.redundancyCosine},
                    {"redundancy_euclid", scores.redundancyEuclid},
                    {"anisotropy", scores.anisotropy},
                    {"mean_key_norm", scores.meanKeyNorm}};
    if (!replayed.participationRatio.empty()) {
        const auto begin = replayed.participationRatio.begin() +
                           static_cast<std::ptrdiff_t>(layer) * scores.kvHeads;
        record.heads["participation_ratio"] = {begin, begin + scores.kvHeads};
    }
    record.scores = {{"importance", scores.importance},
                     {"diversity_cosine", scores.diversityCosine},
                     {"diversity_euclid", scores.diversityEuclid},
                     {"diversity", scores.diversity},
                     {"score", scores.score},
                     {"key_norm", scores.keyNorm}};
    if (hasValues) {
        record.scores["value_norm"] = scores.valueNorm;
    }
    return record;
}

/// Which file this came from, so that nobody takes a replay for a run.
trace::RunRecord runRecord(const trace::TraceReader& source, const ReplayResult& replayed) {
    std::error_code error;
    const auto bytes = std::filesystem::file_size(source.path(), error);
    trace::RunRecord record;
    record.attributes = {
        {"kind", std::string("replay")},
        {"replayed_from", source.path().filename().string()},
        {"replayed_from_created", textAttribute(source.rootAttributes(), "created")},
        {"replayed_from_producer", textAttribute(source.rootAttributes(), "producer")},
        {"replayed_from_bytes", static_cast<std::int64_t>(error ? 0 : bytes)},
        {"backend", std::string("cpu")},
    };
    record.argumentsJson = fmt::format(R"({{"command": "replay", "policy": "{}"}})",
                                       policy::policyText(replayed.policy.config));
    record.log = fmt::format("{}", fmt::join(replayed.notes, "\n"));
    return record;
}

void writeLayers(trace::TraceWriter& writer, const ReplayResult& replayed, bool hasValues) {
    for (std::size_t layer = 0; layer < replayed.layers.size(); ++layer) {
        if (replayed.policy.shape.isLinear(static_cast<std::int32_t>(layer))) {
            continue;
        }
        if (replayed.layers[layer]->importance.empty() && replayed.policy.tokens > 0) {
            throwInternal("A replay without token scores was to be written.");
        }
        writer.writeLayer(layerRecord(replayed, layer, hasValues));
    }
}

} // namespace

trace::PolicyRecord policyRecord(const ReplayResult& replayed, const std::string& id) {
    trace::PolicyRecord record;
    record.id = id;
    record.attributes = policy::settingsOf(replayed.policy);
    record.kept = replayed.kept();
    record.budgetPerHead = replayed.budgetPerHead;
    record.retainedMass = replayed.retainedMass;
    record.outputError = replayed.outputError;
    record.attributes["kept_bytes"] = replayed.keptBytes();
    record.attributes["full_bytes"] = replayed.fullBytes();
    return record;
}

void writeReplay(const trace::TraceReader& source, const ReplayResult& replayed,
                 const ReplayFileOptions& options) {
    trace::WriterOptions writing;
    writing.path = options.path;
    writing.dimensions = source.dimensions();
    writing.recordTensors = false;
    writing.compact = options.compact;
    writing.linearLayers = replayed.policy.shape.linearLayers;
    writing.producer = options.producer;
    trace::TraceWriter writer(writing);
    if (const auto model = source.model()) {
        writer.writeModel(*model);
    }
    if (const auto prompt = source.prompt()) {
        writer.writePrompt(*prompt);
    }
    const auto images = source.images();
    for (std::size_t i = 0; i < images.size(); ++i) {
        writer.writeImage(static_cast<std::int64_t>(i), images[i]);
    }
    writeLayers(writer, replayed, source.has("tensors/values"));
    writer.writePolicy(policyRecord(replayed, "0"));
    writer.writeRun(runRecord(source, replayed));
    writer.close();
}

} // namespace ecokv::analysis

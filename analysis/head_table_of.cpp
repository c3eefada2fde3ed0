// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/head_table_of.h"

#include "analysis/finite_layers.h"
#include "analysis/trace_values.h"
#include "base/error.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ecokv::analysis {

namespace {

std::string modelName(const trace::TraceReader& reader) {
    const auto model = reader.model();
    const auto* name = model ? attributeOf<std::string>(model->attributes, "name") : nullptr;
    if (name != nullptr) {
        return *name;
    }
    throwBadInput(fmt::format("{} does not name its model, so no table can be made of it.",
                              reader.path().string()),
                  "Use the trace of a run.");
}

std::vector<float> metricOf(const trace::TraceReader& reader, const std::string& metric) {
    const std::vector<std::string> known = reader.headMetrics();
    if (std::ranges::find(known, metric) == known.end()) {
        throwUsage(fmt::format("{} holds no head metric \"{}\".", reader.path().string(), metric),
                   known.empty() ? "Record a run with --trace."
                                 : fmt::format("It holds: {}.", fmt::join(known, ", ")));
    }
    std::vector<float> values = reader.headMetric(metric);
    blankLayers(notedNotFinite(reader), reader.dimensions().layers, values);
    return values;
}

void checkSame(const policy::HeadTable& table, const trace::TraceReader& reader) {
    const trace::Dimensions& d = reader.dimensions();
    const std::string model = modelName(reader);
    if (model != table.model || d.layers != table.layers || d.kvHeads != table.kvHeads) {
        throwBadInput(fmt::format("{} is of the model \"{}\" ({} layers x {} KV heads) and the "
                                  "traces before it of \"{}\" ({} x {}).",
                                  reader.path().string(), model, d.layers, d.kvHeads, table.model,
                                  table.layers, table.kvHeads),
                      "Make one table per model.");
    }
}

/// [layer] 1 = no KV cache; empty = every layer has one. Some layer must have one.
std::vector<std::uint8_t> linearLayersOf(const trace::TraceReader& reader) {
    const auto model = reader.model();
    std::vector<std::uint8_t> linear = model ? model->linearLayers : std::vector<std::uint8_t>();
    if (!linear.empty() && std::ranges::count(linear, 0) == 0) {
        throwBadInput(fmt::format("No layer of {} has a KV cache, so there is nothing to export.",
                                  reader.path().string()),
                      "Make the table of a model with attention layers.");
    }
    return linear;
}

/// Adds the metric of `reader`, limited as the kind of table wants it; layers without a KV cache
/// have no number.
void add(policy::HeadTable& table, const trace::TraceReader& reader, const std::string& metric) {
    const std::vector<std::uint8_t> linear = linearLayersOf(reader);
    const std::vector<float> numbers = metricOf(reader, metric);
    const auto heads = static_cast<std::size_t>(table.kvHeads);
    for (std::size_t head = 0; head < table.values.size(); ++head) {
        if (head / heads < linear.size() && linear[head / heads] != 0) {
            table.values[head] = std::numeric_limits<double>::quiet_NaN();
            continue;
        }
        const auto number = static_cast<double>(numbers[head]);
        const bool weights = table.kind == policy::HeadTableKind::Weights;
        if (weights ? !(number >= 0) : number != number) {
            throwBadInput(fmt::format("{} of layer {} head {} in {} is {}, which is no {}.", metric,
                                      head / heads, head % heads, reader.path().string(), number,
                                      weights ? "weight" : "redundancy"),
                          "Leave this trace out, or make the table of another metric.");
        }
        table.values[head] += weights ? number : std::clamp(number, 0.0, 1.0);
    }
}

} // namespace

policy::HeadTable headTableOf(const std::vector<std::shared_ptr<const trace::TraceReader>>& traces,
                              const std::string& metric, policy::HeadTableKind kind) {
    policy::HeadTable table;
    table.kind = kind;
    for (const auto& reader : traces) {
        if (table.values.empty()) {
            const trace::Dimensions& d = reader->dimensions();
            table.model = modelName(*reader);
            table.layers = static_cast<std::int32_t>(d.layers);
            table.kvHeads = static_cast<std::int32_t>(d.kvHeads);
            table.values.assign(static_cast<std::size_t>(d.layers * d.kvHeads), 0.0);
        }
        checkSame(table, *reader);
        add(table, *reader, metric);
    }
    for (double& value : table.values) {
        value /= static_cast<double>(traces.size());
    }
    return table;
}

} // namespace ecokv::analysis

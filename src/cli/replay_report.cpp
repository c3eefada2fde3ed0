// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/replay_report.h"

#include "analysis/matrix_stats.h"
#include "cli/json_text.h"
#include "cli/text_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace ecokv::cli {

namespace {

using Json = nlohmann::json;

using analysis::meanOf;

/// Entries of one layer in [layer, kvHead] numbers; empty where there are none.
template <class T>
std::span<const T> layerOf(const std::vector<T>& values, std::size_t layer, std::size_t heads) {
    return values.empty() ? std::span<const T>() : std::span(values).subspan(layer * heads, heads);
}

std::string titleOf(const trace::TraceReader& reader, const analysis::ReplayResult& replayed) {
    const policy::ResolvedPolicy& policy = replayed.policy;
    std::string title =
        fmt::format("Replay of {}\n{}", reader.path().string(), policy::policyText(policy.config));
    if (policy.compresses) {
        title +=
            fmt::format(": budget {} of {} tokens per KV head, window {}, recent {}, sinks {}",
                        policy.budget, policy.tokens, policy.window, policy.recent, policy.sink);
    }
    return title + "\n";
}

std::string reproductionText(const Reproduction& reproduction) {
    if (reproduction.policyId.empty()) {
        return {};
    }
    if (reproduction.headsEqual == reproduction.heads) {
        return fmt::format("The same {} survivor sets as recorded (policy {}).\n",
                           reproduction.heads, reproduction.policyId);
    }
    return fmt::format("note: {} of {} survivor sets differ from those recorded for these settings "
                       "(policy {}): the run scored in other arithmetic, for instance on a GPU.\n",
                       reproduction.heads - reproduction.headsEqual, reproduction.heads,
                       reproduction.policyId);
}

Json settingsJson(const policy::Settings& settings) {
    Json json = Json::object();
    for (const auto& [name, value] : settings) {
        std::visit([&json, &name = name](const auto& plain) { json[name] = plain; }, value);
    }
    return json;
}

Json headsJson(const analysis::ReplayResult& replayed) {
    Json heads = Json::array();
    std::size_t index = 0;
    for (std::size_t layer = 0; layer < replayed.plans.size(); ++layer) {
        const policy::LayerScores& scores = *replayed.layers[layer];
        for (std::size_t head = 0; head < replayed.plans[layer].keptRows.size(); ++head, ++index) {
            Json entry{{"layer", layer},
                       {"kv_head", head},
                       {"kept", replayed.budgetPerHead[index]},
                       {"redundancy", jsonNumber(scores.redundancy[head])},
                       {"redundancy_cosine", jsonNumber(scores.redundancyCosine[head])},
                       {"redundancy_euclid", jsonNumber(scores.redundancyEuclid[head])},
                       {"anisotropy", jsonNumber(scores.anisotropy[head])},
                       {"mean_key_norm", jsonNumber(scores.meanKeyNorm[head])},
                       {"retained_mass", jsonNumber(replayed.retainedMass[index])},
                       {"kept_tokens", replayed.plans[layer].keptRows[head]}};
            entry["output_error"] = replayed.outputError.empty()
                                        ? Json(nullptr)
                                        : jsonNumber(replayed.outputError[index]);
            heads.push_back(std::move(entry));
        }
    }
    return heads;
}

/// Every number agrees; how the settings were typed, and what a trace does not say, do not matter.
bool sameSettings(const trace::Attributes& recorded, const policy::Settings& replayed) {
    return recorded.contains("policy") && recorded.contains("budget") &&
           std::all_of(replayed.begin(), replayed.end(), [&](const auto& setting) {
               const auto found = recorded.find(setting.first);
               return setting.first == "settings" || found == recorded.end() ||
                      found->second == setting.second;
           });
}

} // namespace

Reproduction compareWithRecorded(const trace::TraceReader& reader,
                                 const analysis::ReplayResult& replayed) {
    const trace::Dimensions& d = reader.dimensions();
    for (const std::string& id : reader.policyIds()) {
        const trace::PolicyRecord recorded = reader.policy(id);
        if (!sameSettings(recorded.attributes, policy::settingsOf(replayed.policy))) {
            continue;
        }
        Reproduction result{id, 0, d.layers * d.kvHeads};
        const std::vector<std::uint8_t> kept = replayed.kept();
        for (std::int64_t head = 0; head < result.heads; ++head) {
            const auto begin = static_cast<std::ptrdiff_t>(head * d.tokens);
            result.headsEqual += std::equal(kept.begin() + begin, kept.begin() + begin + d.tokens,
                                            recorded.kept.begin() + begin)
                                     ? 1
                                     : 0;
        }
        return result;
    }
    return {};
}

std::string replayText(const trace::TraceReader& reader, const analysis::ReplayResult& replayed,
                       const Reproduction& reproduction) {
    const auto heads = static_cast<std::size_t>(reader.dimensions().kvHeads);
    std::string text = titleOf(reader, replayed);
    TextTable table(0);
    table.addRow(
        {"layer", "kept/head", "redundancy", "mass kept", "output error", "(means over heads)"});
    std::vector<float> redundancy;
    for (std::size_t layer = 0; layer < replayed.plans.size(); ++layer) {
        const auto& own = replayed.layers[layer]->redundancy;
        if (replayed.policy.shape.isLinear(static_cast<std::int32_t>(layer))) {
            table.addRow({fmt::format("{}", layer), "-", "-", "-", "-", "no KV cache"});
            continue;
        }
        redundancy.insert(redundancy.end(), own.begin(), own.end());
        table.addRow({fmt::format("{}", layer),
                      fmt::format("{:.1f}", meanOf(layerOf(replayed.budgetPerHead, layer, heads))),
                      numberCell(meanOf(own)),
                      numberCell(meanOf(layerOf(replayed.retainedMass, layer, heads))),
                      numberCell(meanOf(layerOf(replayed.outputError, layer, heads))), ""});
    }
    const double kept = meanOf(replayed.cachedBudgets());
    const double mass = meanOf(analysis::finiteOf(replayed.retainedMass));
    const double error = meanOf(analysis::finiteOf(replayed.outputError));
    table.addRow({"all", fmt::format("{:.1f}", kept), numberCell(meanOf(redundancy)),
                  numberCell(mass), numberCell(error), ""});
    text += fmt::format("\n{}\n", table.text());
    text += fmt::format("Keeps {:.1f} of {} tokens per KV head ({:.1f} %), which hold {:.1f} % of "
                        "the attention of the last {} row(s)",
                        kept, replayed.policy.tokens,
                        100 * kept / static_cast<double>(replayed.policy.tokens), 100 * mass,
                        replayed.rows);
    text += std::isnan(error) ? std::string(".\n")
                              : fmt::format("; their output is off by {:.1f} %.\n", 100 * error);
    return text + reproductionText(reproduction);
}

std::string replayJson(const trace::TraceReader& reader, const analysis::ReplayResult& replayed,
                       const Reproduction& reproduction) {
    Json json{{"trace", reader.path().string()},
              {"policy", settingsJson(policy::settingsOf(replayed.policy))},
              {"tokens", replayed.policy.tokens},
              {"mean_kept", meanOf(replayed.cachedBudgets())},
              {"mean_retained_mass", jsonNumber(meanOf(analysis::finiteOf(replayed.retainedMass)))},
              {"mean_output_error", jsonNumber(meanOf(analysis::finiteOf(replayed.outputError)))},
              {"heads", headsJson(replayed)},
              {"notes", replayed.notes},
              {"reproduces", nullptr}};
    if (!reproduction.policyId.empty()) {
        json["reproduces"] = {{"policy_id", reproduction.policyId},
                              {"heads", reproduction.heads},
                              {"heads_equal", reproduction.headsEqual}};
    }
    return jsonText(json);
}

} // namespace ecokv::cli

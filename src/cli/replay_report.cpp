// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/replay_report.h"

#include "analysis/matrix_stats.h"
#include "cli/json_text.h"
#include "cli/layer_remark.h"
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

/// Over the heads of the layers that count.
struct Means {
    double kept = 0, redundancy = 0, mass = 0, error = 0;
};

Means meansOf(const analysis::ReplayResult& replayed) {
    using analysis::finiteOf;
    return {meanOf(replayed.counted(replayed.budgetPerHead)),
            meanOf(finiteOf(replayed.countedRedundancy())),
            meanOf(finiteOf(replayed.counted(replayed.retainedMass))),
            meanOf(finiteOf(replayed.counted(replayed.outputError)))};
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
    const LayerKinds kinds = replayed.policy.shape.kinds();
    std::size_t index = 0;
    for (std::size_t layer = 0; layer < replayed.plans.size(); ++layer) {
        const policy::LayerScores& scores = *replayed.layers[layer];
        for (std::size_t head = 0; head < replayed.plans[layer].keptRows.size(); ++head, ++index) {
            Json entry{{"layer", layer},
                       {"kv_head", head},
                       {"evicted", kinds.isEvicted(static_cast<std::int64_t>(layer))},
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
        const std::vector<std::uint8_t> kept = replayed.counted(replayed.kept());
        const std::vector<std::uint8_t> stored = replayed.counted(recorded.kept);
        Reproduction result{id, 0, std::ssize(kept) / d.tokens};
        for (std::int64_t head = 0; head < result.heads; ++head) {
            const auto begin = static_cast<std::ptrdiff_t>(head * d.tokens);
            result.headsEqual += std::equal(kept.begin() + begin, kept.begin() + begin + d.tokens,
                                            stored.begin() + begin)
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
    const LayerKinds kinds = replayed.policy.shape.kinds();
    for (std::size_t layer = 0; layer < replayed.plans.size(); ++layer) {
        const auto& own = replayed.layers[layer]->redundancy;
        const bool isDamaged =
            std::ranges::binary_search(replayed.notFinite, static_cast<std::int64_t>(layer));
        const std::string remark =
            isDamaged ? "not finite" : layerRemark(kinds, static_cast<std::int64_t>(layer));
        if (kinds.isLinear(static_cast<std::int64_t>(layer))) {
            table.addRow({fmt::format("{}", layer), "-", "-", "-", "-", remark});
            continue;
        }
        table.addRow({fmt::format("{}", layer),
                      fmt::format("{:.1f}", meanOf(layerOf(replayed.budgetPerHead, layer, heads))),
                      numberCell(meanOf(own)),
                      numberCell(meanOf(layerOf(replayed.retainedMass, layer, heads))),
                      numberCell(meanOf(layerOf(replayed.outputError, layer, heads))), remark});
    }
    const Means means = meansOf(replayed);
    table.addRow({"all", fmt::format("{:.1f}", means.kept), numberCell(means.redundancy),
                  numberCell(means.mass), numberCell(means.error), ""});
    text += fmt::format("\n{}\n", table.text());
    text += fmt::format("Keeps {:.1f} of {} tokens per KV head ({:.1f} %), which hold {:.1f} % of "
                        "the attention of the last {} row(s)",
                        means.kept, replayed.policy.tokens,
                        100 * means.kept / static_cast<double>(replayed.policy.tokens),
                        100 * means.mass, replayed.rows);
    text += std::isnan(means.error)
                ? std::string(".\n")
                : fmt::format("; their output is off by {:.1f} %.\n", 100 * means.error);
    return text + reproductionText(reproduction);
}

std::string replayJson(const trace::TraceReader& reader, const analysis::ReplayResult& replayed,
                       const Reproduction& reproduction) {
    const Means means = meansOf(replayed);
    Json json{{"trace", reader.path().string()},
              {"policy", settingsJson(policy::settingsOf(replayed.policy))},
              {"tokens", replayed.policy.tokens},
              {"mean_kept", jsonNumber(means.kept)},
              {"mean_retained_mass", jsonNumber(means.mass)},
              {"mean_output_error", jsonNumber(means.error)},
              {"heads", headsJson(replayed)},
              {"not_finite", replayed.notFinite},
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

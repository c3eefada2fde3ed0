// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/comparison_report.h"

#include "analysis/csv_text.h"
#include "cli/run_report.h"
#include "cli/text_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <vector>

namespace ecokv::cli {

namespace {

using session::ComparedPolicy;
using Json = nlohmann::json;

constexpr std::size_t kAnswerCharacters = 24;
constexpr std::size_t kPolicyColumns = 2;

/// What is marked: a mean of the comparison and how far from perfect it is (smaller is better).
struct Measure {
    std::optional<double> ComparedPolicy::*value;
    double (*loss)(double);
};

double itself(double value) {
    return value;
}

constexpr std::array<Measure, 5> kMeasures{{
    {&ComparedPolicy::meanKl, itself},
    {&ComparedPolicy::top1Agreement, [](double share) { return 1 - share; }},
    {&ComparedPolicy::perplexityRatio, [](double ratio) { return std::abs(std::log(ratio)); }},
    {&ComparedPolicy::predictedError, itself},
    {&ComparedPolicy::measuredError, itself},
}};

/// The smallest loss of each budget, where more than one policy has it to lose.
std::map<std::int64_t, double> bestLosses(const std::vector<ComparedPolicy>& policies,
                                          const Measure& measure) {
    std::map<std::int64_t, double> best;
    std::map<std::int64_t, int> rivals;
    for (const ComparedPolicy& policy : policies) {
        const std::optional<double>& value = policy.*measure.value;
        if (policy.compressed && value) {
            const double loss = measure.loss(*value);
            const auto [at, first] = best.try_emplace(policy.budget, loss);
            at->second = std::min(at->second, loss);
            ++rivals[policy.budget];
        }
    }
    std::erase_if(best, [&](const auto& entry) { return rivals[entry.first] < 2; });
    return best;
}

/// "0.123*" for the best of its budget, "0.123 " else, so that digits stay in line.
std::vector<std::string> measureCells(const std::vector<ComparedPolicy>& policies,
                                      const Measure& measure,
                                      const std::function<std::string(double)>& format) {
    const auto best = bestLosses(policies, measure);
    std::vector<std::string> cells;
    for (const ComparedPolicy& policy : policies) {
        const std::optional<double>& value = policy.*measure.value;
        if (!value) {
            cells.emplace_back("- ");
            continue;
        }
        const auto found = best.find(policy.budget);
        const bool wins =
            policy.compressed && found != best.end() && measure.loss(*value) <= found->second;
        cells.push_back(format(*value) + (wins ? "*" : " "));
    }
    return cells;
}

std::string share(double value) {
    return fmt::format("{:.1f}", 100 * value);
}

std::string threeDigits(double value) {
    return fmt::format("{:.3f}", value);
}

std::string nats(double value) {
    return fmt::format("{:.4f}", value);
}

std::string allocatorText(const ComparedPolicy& policy) {
    return policy.allocator.empty() ? "-" : policy.allocator;
}

std::string divergenceText(const ComparedPolicy& policy) {
    if (!policy.divergence) {
        return "-";
    }
    const auto token = [](const std::string& text) {
        return text.empty() ? std::string("(end)") : quoted(text, kAnswerCharacters);
    };
    return fmt::format("{}: {} for {}", policy.divergence->step, token(policy.divergence->kept),
                       token(policy.divergence->full));
}

std::string speedText(const ComparedPolicy& policy) {
    return policy.tokensPerSecond > 0 ? fmt::format("{:.1f}", policy.tokensPerSecond) : "-";
}

template <class T> Json orNull(const std::optional<T>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json policyJson(const ComparedPolicy& policy) {
    Json json{{"policy", policy.policy},
              {"allocator", policy.allocator},
              {"budget", policy.budget},
              {"note", policy.note},
              {"refused", policy.refused.empty() ? Json(nullptr) : Json(policy.refused)}};
    if (!policy.refused.empty()) {
        return json;
    }
    json["compressed"] = policy.compressed;
    json["kept_tokens"] = policy.ledger.keptTokens;
    json["kept_bytes"] = policy.ledger.keptBytes;
    json["mean_kl"] = orNull(policy.meanKl);
    json["top1_agreement"] = orNull(policy.top1Agreement);
    json["perplexity_ratio"] = orNull(policy.perplexityRatio);
    json["predicted_output_error"] = orNull(policy.predictedError);
    json["measured_output_error"] = orNull(policy.measuredError);
    json["kl"] = policy.kl;
    json["top1_agree"] = policy.top1Agree;
    json["forced_logprob"] = policy.forcedLogprob;
    json["answer"] = policy.answer.text;
    json["token_ids"] = policy.answer.tokenIds;
    json["first_divergence"] = policy.divergence ? Json{{"step", policy.divergence->step},
                                                        {"full", policy.divergence->full},
                                                        {"kept", policy.divergence->kept}}
                                                 : Json(nullptr);
    json["seconds"] = policy.seconds;
    json["tokens_per_second"] = policy.tokensPerSecond;
    json["trace_policy"] = policy.traceId.empty() ? Json(nullptr) : Json(policy.traceId);
    return json;
}

std::string csvNumber(const std::optional<double>& value) {
    return value && std::isfinite(*value) ? fmt::format("{}", *value) : std::string();
}

std::vector<std::string> csvCells(const ComparedPolicy& policy, std::uint64_t fullBytes) {
    const bool measured = policy.refused.empty();
    const auto whole = [measured](auto value) {
        return measured ? fmt::format("{}", value) : std::string();
    };
    const session::Divergence left = policy.divergence.value_or(session::Divergence{-1, "", ""});
    return {analysis::csvCell(policy.policy),
            analysis::csvCell(policy.allocator),
            fmt::format("{}", policy.budget),
            analysis::csvCell(policy.refused),
            whole(policy.ledger.keptBytes),
            fmt::format("{}", fullBytes),
            whole(policy.kl.size()),
            csvNumber(policy.meanKl),
            csvNumber(policy.top1Agreement),
            csvNumber(policy.perplexityRatio),
            csvNumber(policy.predictedError),
            csvNumber(policy.measuredError),
            whole(left.step),
            analysis::csvCell(left.full),
            analysis::csvCell(left.kept),
            whole(policy.seconds),
            whole(policy.tokensPerSecond),
            analysis::csvCell(policy.answer.text)};
}

constexpr const char* kCsvHeader =
    "policy,allocator,budget,refused,kept_bytes,full_bytes,steps,mean_kl,top1_agreement,"
    "perplexity_ratio,predicted_output_error,measured_output_error,first_divergence,full_token,"
    "kept_token,seconds,tokens_per_second,answer";

} // namespace

std::string comparisonTable(const session::RunResult& result) {
    const std::vector<ComparedPolicy>& policies = result.compared;
    const auto kl = measureCells(policies, kMeasures[0], nats);
    const auto top = measureCells(policies, kMeasures[1], share);
    const auto ratio = measureCells(policies, kMeasures[2], threeDigits);
    const auto predicted = measureCells(policies, kMeasures[3], threeDigits);
    const auto measured = measureCells(policies, kMeasures[4], threeDigits);
    TextTable table(kPolicyColumns);
    table.addRow({"policy", "allocator", "budget", "kept", "KL ", "top-1 ", "perplexity ", "error ",
                  "error ", "speed", "leaves at", "answer"});
    table.addRow({"", "", "tokens", "", "nats ", "% ", "ratio ", "predicted ", "measured ",
                  "tokens/s", "", ""});
    std::string refusals;
    for (std::size_t i = 0; i < policies.size(); ++i) {
        const ComparedPolicy& policy = policies[i];
        if (!policy.refused.empty()) {
            table.addRow({policy.policy, allocatorText(policy), fmt::format("{}", policy.budget),
                          "-", "refused ", "", "", "", "", "", "", ""});
            refusals += fmt::format("{} at {}: {}\n", policy.policy, policy.budget, policy.refused);
            continue;
        }
        table.addRow({policy.policy, allocatorText(policy), fmt::format("{}", policy.budget),
                      byteText(static_cast<double>(policy.ledger.keptBytes)), kl[i], top[i],
                      ratio[i], predicted[i], measured[i], speedText(policy),
                      divergenceText(policy), quoted(policy.answer.text, kAnswerCharacters)});
    }
    return fmt::format(
        "{}\n{}KL, top-1 and perplexity: forced along the {} tokens of the full cache's answer, "
        "over the {} steps that read the evicted cache. Errors: |o_full - o_kept| / |o_full| of "
        "the attention, mean over heads that can be evicted, predicted on the observation window, "
        "measured "
        "on the answer's own queries. * best of its budget.\n",
        table.text(), refusals, result.fullAnswer.tokenIds.size(),
        std::max<std::size_t>(result.fullAnswer.tokenIds.size(), 1) - 1);
}

Json comparisonJson(const session::RunResult& result) {
    Json rows = Json::array();
    for (const ComparedPolicy& policy : result.compared) {
        rows.push_back(policyJson(policy));
    }
    return rows;
}

std::string comparisonCsv(const session::RunResult& result) {
    std::string text = std::string(kCsvHeader) + "\n";
    for (const ComparedPolicy& policy : result.compared) {
        text += fmt::format("{}\n", fmt::join(csvCells(policy, result.ledger.fullBytes), ","));
    }
    return text;
}

} // namespace ecokv::cli

// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/run_report.h"

#include "cli/comparison_report.h"
#include "cli/json_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>

namespace ecokv::cli {

namespace {

using Json = nlohmann::json;

Json timingsJson(const session::Timings& timings) {
    return {{"load_seconds", timings.loadSeconds},
            {"prepare_seconds", timings.prepareSeconds},
            {"prefill_seconds", timings.prefillSeconds},
            {"scoring_seconds", timings.scoringSeconds},
            {"decode_seconds", timings.decodeSeconds},
            {"decode_tokens_per_second", timings.decodeTokensPerSecond},
            {"total_seconds", timings.totalSeconds}};
}

/// Fewest, mean and most tokens kept by a head.
struct KeptSummary {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0, total = 0, heads = 0;
    std::int64_t slidingLayers = 0; ///< not among the heads above
    std::uint64_t slidingBytes = 0;
    std::int64_t linearLayers = 0; ///< without a KV cache
};

bool isSliding(const session::Ledger& ledger, std::size_t layer) {
    return layer < ledger.slidingWindows.size() && ledger.slidingWindows[layer] > 0;
}

KeptSummary summarise(const session::Ledger& ledger) {
    KeptSummary summary;
    for (std::size_t layer = 0; layer < ledger.keptTokens.size(); ++layer) {
        if (layer < ledger.linearLayers.size() && ledger.linearLayers[layer] != 0) {
            ++summary.linearLayers;
            continue;
        }
        if (isSliding(ledger, layer)) {
            ++summary.slidingLayers;
            summary.slidingBytes += ledger.layerBytes[layer];
            continue;
        }
        for (const std::int64_t kept : ledger.keptTokens[layer]) {
            summary.least = std::min(summary.least, kept);
            summary.most = std::max(summary.most, kept);
            summary.total += kept;
            ++summary.heads;
        }
    }
    return summary;
}

/// [layer] as numbers, never as the bytes of a text.
std::vector<int> numbersOf(const std::vector<std::uint8_t>& flags) {
    return {flags.begin(), flags.end()};
}

Json pathJson(const std::filesystem::path& path) {
    return path.empty() ? Json(nullptr) : Json(path.string());
}

/// Tokens per head and bytes at every step; the whole table is in the trace.
Json historyJson(const session::CacheHistory& cache) {
    Json json{{"tokens_per_head", Json::array()},
              {"longest_head", Json::array()},
              {"bytes", cache.bytes},
              {"evicted_keys", cache.evictions.size()}};
    for (std::int64_t step = 0; step < cache.steps(); ++step) {
        json["tokens_per_head"].push_back(cache.meanLength(step));
        json["longest_head"].push_back(cache.longestHead(step));
    }
    return json;
}

Json answerJson(const session::Answer& answer) {
    return {{"answer", answer.text},
            {"token_ids", answer.tokenIds},
            {"logprob", answer.logprob},
            {"stopped_at_end", answer.stoppedAtEnd},
            {"cache", historyJson(answer.cache)}};
}

Json questionJson(const session::QuestionResult& question, bool withFull) {
    Json json = answerJson(question.answer);
    json["question"] = question.question;
    json["question_ids"] = question.questionIds;
    if (withFull) {
        json["full_answer"] = question.fullAnswer.text;
        json["full_token_ids"] = question.fullAnswer.tokenIds;
    }
    return json;
}

} // namespace

std::string byteText(double bytes) {
    constexpr std::array<const char*, 5> kUnits{"B", "KB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    while (bytes >= 1000 && unit + 1 < kUnits.size()) {
        bytes /= 1000;
        ++unit;
    }
    return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

std::string runResultJson(const session::RunResult& result) {
    Json json{{"prompt_tokens", result.promptTokens},
              {"image_tokens", result.imageTokens},
              {"policy", result.policy},
              {"budget", result.budget},
              {"compressed", result.compressed},
              {"decode_eviction", result.decodeEviction},
              {"ledger",
               {{"kept_tokens", result.ledger.keptTokens},
                {"kept_bytes", result.ledger.keptBytes},
                {"full_bytes", result.ledger.fullBytes},
                {"layer_bytes", result.ledger.layerBytes},
                {"sliding_windows", result.ledger.slidingWindows},
                {"linear_layers", numbersOf(result.ledger.linearLayers)},
                {"protected_tokens", result.ledger.protectedTokens}}},
              {"timings", timingsJson(result.timings)},
              {"device", result.device},
              {"dtype", result.dtype},
              {"threads", result.threads},
              {"notes", result.notes},
              {"trace", pathJson(result.trace)},
              {"saved_cache", pathJson(result.savedCache)}};
    if (!result.questions.empty()) {
        json["questions"] = Json::array();
        for (const session::QuestionResult& question : result.questions) {
            json["questions"].push_back(questionJson(question, result.hasFullAnswer));
        }
        return jsonText(json);
    }
    json.update(answerJson(result.answer));
    if (result.hasFullAnswer) {
        json["full_answer"] = result.fullAnswer.text;
        json["full_token_ids"] = result.fullAnswer.tokenIds;
    }
    if (!result.compared.empty()) {
        json["comparison"] = comparisonJson(result);
    }
    return jsonText(json);
}

std::string generationText(const session::RunResult& result) {
    const session::CacheHistory* longest = &result.answer.cache;
    for (const session::QuestionResult& question : result.questions) {
        if (question.answer.cache.steps() > longest->steps()) {
            longest = &question.answer.cache;
        }
    }
    if (longest->steps() == 0) {
        return {};
    }
    std::int64_t most = 0;
    for (std::int64_t step = 0; step < longest->steps(); ++step) {
        most = std::max(most, longest->longestHead(step));
    }
    const double end = longest->meanLength(longest->steps() - 1);
    const std::string which = result.questions.size() > 1 ? " (longest answer)" : "";
    const bool bounded = !longest->evictions.empty() || result.decodeEviction != "prefill-only";
    return fmt::format("While answering{}: {}\n  {} tokens generated, {:.1f} tokens/head at the "
                       "end, at most {} in one head; {} at the most\n",
                       which,
                       bounded ? fmt::format("evicted {} per head, {} keys left",
                                             result.decodeEviction, longest->evictions.size())
                               : std::string("prefill-only eviction, so the cache grows by every "
                                             "token (--decode-budget bounds it)"),
                       longest->steps(), end, most,
                       byteText(static_cast<double>(longest->peakBytes())));
}

std::string ledgerText(const session::Ledger& ledger) {
    const KeptSummary kept = summarise(ledger);
    std::string others;
    if (kept.slidingLayers > 0) {
        others = fmt::format("  {} layer(s) slide and are not evicted: {} more\n",
                             kept.slidingLayers, byteText(static_cast<double>(kept.slidingBytes)));
    }
    if (kept.linearLayers > 0) {
        others +=
            fmt::format("  {} layer(s) have no KV cache (linear attention)\n", kept.linearLayers);
    }
    if (kept.heads == 0) {
        return others;
    }
    const auto heads = static_cast<double>(kept.heads);
    const double mean = static_cast<double>(kept.total) / heads;
    const auto keptBytes = static_cast<double>(ledger.keptBytes);
    const auto fullBytes = static_cast<double>(ledger.fullBytes);
    const double saved = fullBytes > 0 ? 100 * (1 - keptBytes / fullBytes) : 0;
    std::string text = fmt::format(
        "KV cache after the prefill   tokens/head   bytes/head   bytes in all ({} heads)\n"
        "  full                       {:11}   {:>10}   {:>10}\n"
        "  kept                       {:11.1f}   {:>10}   {:>10}\n"
        "  of these protected         {:11}\n"
        "  saved                      {:10.1f} %   {:>10}   {:>10}\n",
        kept.heads, ledger.promptTokens, byteText(fullBytes / heads), byteText(fullBytes), mean,
        byteText(keptBytes / heads), byteText(keptBytes), ledger.protectedTokens, saved,
        byteText((fullBytes - keptBytes) / heads), byteText(fullBytes - keptBytes));
    if (kept.least != kept.most) {
        text += fmt::format("  heads keep {} to {} tokens\n", kept.least, kept.most);
    }
    return text + others;
}

} // namespace ecokv::cli

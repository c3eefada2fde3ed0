// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/run_report.h"

#include "analysis/cache_length.h"
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

/// Fewest, mean and most tokens kept by a head of the layers that count.
struct KeptSummary {
    std::int64_t least = std::numeric_limits<std::int64_t>::max(), most = 0, total = 0, heads = 0;
    std::uint64_t slidingBytes = 0; ///< of sliding layers that do not count
    std::int64_t linearLayers = 0;  ///< without a KV cache
};

KeptSummary summarise(const session::Ledger& ledger) {
    KeptSummary summary;
    const std::vector<bool> counted = ledger.kinds().counted(ledger.layers());
    for (std::size_t layer = 0; layer < ledger.keptTokens.size(); ++layer) {
        const bool linear = ledger.kinds().isLinear(static_cast<std::int64_t>(layer));
        summary.linearLayers += linear ? 1 : 0;
        if (!counted[layer]) {
            summary.slidingBytes += linear ? 0 : ledger.layerBytes[layer];
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

analysis::CacheLengths lengthsOf(const session::CacheHistory& cache, const LayerKinds& kinds) {
    return analysis::cacheLengths({cache.keptLength, cache.layers, cache.kvHeads, kinds});
}

/// Tokens per head of the layers that count, and bytes of all, at every step; the whole table is in
/// the trace.
Json historyJson(const session::CacheHistory& cache, const LayerKinds& kinds) {
    const analysis::CacheLengths lengths = lengthsOf(cache, kinds);
    return {{"tokens_per_head", lengths.mean},
            {"longest_head", lengths.longest},
            {"bytes", cache.bytes},
            {"evicted_keys", cache.evictions.size()}};
}

Json answerJson(const session::Answer& answer, const LayerKinds& kinds) {
    return {{"answer", answer.text},
            {"token_ids", answer.tokenIds},
            {"logprob", answer.logprob},
            {"stopped_at_end", answer.stoppedAtEnd},
            {"cache", historyJson(answer.cache, kinds)}};
}

Json questionJson(const session::QuestionResult& question, const session::RunResult& result) {
    Json json = answerJson(question.answer, result.ledger.kinds());
    json["question"] = question.question;
    json["question_ids"] = question.questionIds;
    if (result.hasFullAnswer) {
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
            json["questions"].push_back(questionJson(question, result));
        }
        return jsonText(json);
    }
    json.update(answerJson(result.answer, result.ledger.kinds()));
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
    const analysis::CacheLengths lengths = lengthsOf(*longest, result.ledger.kinds());
    if (lengths.empty()) {
        return {}; // no layer has a KV cache
    }
    const std::string others =
        lengths.slidingLayers > 0
            ? fmt::format(" with the {} layer(s) that slide", lengths.slidingLayers)
            : std::string();
    const std::string which = result.questions.size() > 1 ? " (longest answer)" : "";
    const bool bounded = !longest->evictions.empty() || result.decodeEviction != "prefill-only";
    return fmt::format("While answering{}: {}\n  {} tokens generated, {:.1f} tokens/head at the "
                       "end, at most {} in one head; {} at the most{}\n",
                       which,
                       bounded ? fmt::format("evicted {} per head, {} keys left",
                                             result.decodeEviction, longest->evictions.size())
                               : std::string("prefill-only eviction, so the cache grows by every "
                                             "token (--decode-budget bounds it)"),
                       longest->steps(), lengths.mean.back(), std::ranges::max(lengths.longest),
                       byteText(static_cast<double>(longest->peakBytes())), others);
}

std::string ledgerText(const session::Ledger& ledger) {
    const KeptSummary kept = summarise(ledger);
    std::string others;
    if (const std::int64_t sliding = ledger.kinds().slidingLeftOut(ledger.layers()); sliding > 0) {
        others = fmt::format("  {} layer(s) slide and are not evicted: {} more\n", sliding,
                             byteText(static_cast<double>(kept.slidingBytes)));
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
    // Where nothing is evicted, nothing is protected from it.
    const std::string guarded =
        ledger.keptBytes == ledger.fullBytes
            ? std::string()
            : fmt::format("  of these protected         {:11}\n", ledger.protectedTokens);
    std::string text = fmt::format(
        "KV cache after the prefill   tokens/head   bytes/head   bytes in all ({} heads)\n"
        "  full                       {:11}   {:>10}   {:>10}\n"
        "  kept                       {:11.1f}   {:>10}   {:>10}\n"
        "{}"
        "  saved                      {:10.1f} %   {:>10}   {:>10}\n",
        kept.heads, ledger.promptTokens, byteText(fullBytes / heads), byteText(fullBytes), mean,
        byteText(keptBytes / heads), byteText(keptBytes), guarded, saved,
        byteText((fullBytes - keptBytes) / heads), byteText(fullBytes - keptBytes));
    if (kept.least != kept.most) {
        text += fmt::format("  heads keep {} to {} tokens\n", kept.least, kept.most);
    }
    return text + others;
}

} // namespace ecokv::cli

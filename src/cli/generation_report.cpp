// SPDX-License-Identifier: GPL-3.0-or-later
#include "cli/generation_report.h"

#include "analysis/cache_length.h"

#include <fmt/format.h>

#include <algorithm>

namespace ecokv::cli {

namespace {

using Json = nlohmann::json;

/// What every answer of a trace has in common.
struct TraceModel {
    trace::Dimensions dimensions;
    trace::ModelRecord model;

    explicit TraceModel(const trace::TraceReader& reader)
        : dimensions(reader.dimensions()), model(reader.model().value_or(trace::ModelRecord{})) {}
};

/// How the cache grew or stayed while an answer was generated; null where that was not recorded.
Json decodeJson(const trace::DecodeRecord& decode, const TraceModel& of) {
    const analysis::CacheLengths lengths = analysis::cacheLengths(
        {decode.keptLength, of.dimensions.layers, of.dimensions.kvHeads, of.model.kinds()});
    if (lengths.empty()) {
        return nullptr;
    }
    return {{"steps", decode.tokenIds.size()},
            {"tokens_per_head_at_the_end", lengths.mean.back()},
            {"longest_head", std::ranges::max(lengths.longest)},
            {"evicted_keys", decode.evictions.step.size()}};
}

std::string attributeOf(const trace::DecodeRecord& decode, const char* name,
                        const char* missing = "") {
    return trace::attributeOr<std::string>(decode.attributes, name, missing);
}

std::string generationText(const std::string& title, const trace::DecodeRecord& decode,
                           const TraceModel& of) {
    const Json numbers = decodeJson(decode, of);
    std::string text = fmt::format("  {}: {}\n", title, attributeOf(decode, "answer"));
    if (!numbers.is_null()) {
        text += fmt::format("    {} tokens, {:.1f} tokens/head at the end, at most {}, {} keys "
                            "evicted meanwhile\n",
                            numbers["steps"].get<std::int64_t>(),
                            numbers["tokens_per_head_at_the_end"].get<double>(),
                            numbers["longest_head"].get<std::int64_t>(),
                            numbers["evicted_keys"].get<std::int64_t>());
    }
    return text;
}

} // namespace

Json generationsJson(const trace::TraceReader& reader, const std::string& policyId) {
    const TraceModel of(reader);
    Json json = Json::object();
    if (const auto decode = reader.policyDecode(policyId)) {
        json["decode"] = decodeJson(*decode, of);
    }
    for (const trace::DecodeRecord& question : reader.policyQuestions(policyId)) {
        json["questions"].push_back({{"question", attributeOf(question, "question")},
                                     {"answer", attributeOf(question, "answer")},
                                     {"decode", decodeJson(question, of)}});
    }
    return json;
}

std::string generationsText(const trace::TraceReader& reader, const std::string& policyId) {
    const TraceModel of(reader);
    std::string text;
    if (const auto decode = reader.policyDecode(policyId)) {
        text += generationText("answer", *decode, of);
    }
    for (const trace::DecodeRecord& question : reader.policyQuestions(policyId)) {
        text += generationText(attributeOf(question, "question", "?"), question, of);
    }
    return text;
}

} // namespace ecokv::cli

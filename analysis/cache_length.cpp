// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/cache_length.h"

#include "analysis/csv_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace ecokv::analysis {

CacheLengths cacheLengths(const CacheLengthInput& input) {
    CacheLengths lengths;
    const auto kvHeads = static_cast<std::size_t>(input.kvHeads);
    const std::size_t heads = static_cast<std::size_t>(input.layers) * kvHeads;
    const std::int64_t members = input.kinds.countedLayers(input.layers) * input.kvHeads;
    if (members == 0) {
        return lengths;
    }
    const std::vector<bool> counted = input.kinds.counted(input.layers);
    lengths.slidingLayers = input.kinds.slidingLeftOut(input.layers);
    for (std::size_t at = 0; at + heads <= input.keptLength.size(); at += heads) {
        std::int64_t sum = 0, longest = 0;
        for (std::size_t head = 0; head < heads; ++head) {
            if (counted[head / kvHeads]) {
                const std::int64_t length = input.keptLength[at + head];
                sum += length;
                longest = std::max(longest, length);
            }
        }
        lengths.mean.push_back(static_cast<double>(sum) / static_cast<double>(members));
        lengths.longest.push_back(longest);
    }
    return lengths;
}

CacheLengths cacheLengths(const TraceDocument& document, const PolicyView& policy) {
    if (!policy.decode) {
        return {};
    }
    return cacheLengths({policy.decode->keptLength, document.dimensions.layers,
                         document.dimensions.kvHeads, document.kinds()});
}

std::optional<DecodeBound> decodeBound(const std::string& decodeEviction) {
    long long every = 0, budget = 0;
    if (std::sscanf(decodeEviction.c_str(), "every %lld tokens to %lld", &every, &budget) != 2) {
        return std::nullopt;
    }
    return DecodeBound{every, budget};
}

std::string decodeEviction(const TraceDocument& document) {
    if (!document.run) {
        return {};
    }
    const auto found = document.run->attributes.find("decode_eviction");
    const auto* text = found == document.run->attributes.end()
                           ? nullptr
                           : std::get_if<std::string>(&found->second);
    return text == nullptr ? std::string() : *text;
}

std::string cacheLengthCsv(const TraceDocument& document, const PolicyView& policy) {
    const CacheLengths lengths = cacheLengths(document, policy);
    std::string csv = fmt::format("# {}\nstep,text,mean_tokens_per_head,longest_head\n",
                                  csvComment(document.provenance(policy.id)));
    for (std::size_t step = 0; step < lengths.mean.size(); ++step) {
        const auto& texts = policy.decode->tokenText;
        csv += fmt::format("{},{},{},{}\n", step,
                           step < texts.size() ? csvCell(texts[step]) : std::string(),
                           lengths.mean[step], lengths.longest[step]);
    }
    return csv;
}

} // namespace ecokv::analysis

// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/answer_generator.h"

#include "session/decode_evictor.h"

#include <algorithm>
#include <cmath>

namespace ecokv::session {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Hands out the growth of a text that is decoded anew after each token.
class TextStream {
public:
    explicit TextStream(const std::function<void(const std::string&)>& sink) : m_sink(sink) {}

    void update(const std::string& text, std::size_t stable) {
        if (stable > m_sent) {
            if (m_sink) {
                m_sink(text.substr(m_sent, stable - m_sent));
            }
            m_sent = stable;
        }
    }

private:
    const std::function<void(const std::string&)>& m_sink;
    std::size_t m_sent = 0;
};

} // namespace

void noteLengths(const cache::KvCache& cache, CacheHistory& history) {
    const cache::CacheShape& shape = cache.shape();
    history.layers = shape.layers;
    history.kvHeads = shape.kvHeads;
    history.bytes.push_back(cache.bytes());
    for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
        for (std::int32_t head = 0; head < shape.kvHeads; ++head) {
            // A layer without a KV cache holds nothing, also not the token that comes.
            const std::int64_t held = cache.length(LayerId{layer}, HeadId{head});
            const std::int64_t length = held > 0 ? held + 1 : 0;
            history.keptLength.push_back(static_cast<std::int32_t>(length));
        }
    }
}

float logProbability(const std::vector<float>& logits, TokenId id) {
    const float top = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const float logit : logits) {
        sum += std::exp(static_cast<double>(logit - top));
    }
    return static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(id)] - top) -
                              std::log(sum));
}

std::size_t stablePrefix(const std::string& text) {
    std::size_t end = text.size();
    while (end >= kReplacement.size() &&
           std::string_view(text).substr(end - kReplacement.size(), kReplacement.size()) ==
               kReplacement) {
        end -= kReplacement.size();
    }
    return end;
}

Answer generateAnswer(model::Model& model, cache::KvCache& cache, std::vector<float> logits,
                      const GenerationParams& params) {
    const std::vector<TokenId> endTokens = model.endTokens();
    model::Sampler sampler(params.sampling);
    TextStream stream(params.onText);
    model::LayerObserver* observer = params.evictor != nullptr ? params.evictor : params.observer;
    Answer answer;
    for (std::int64_t step = 0; step < params.maxNewTokens; ++step) {
        params.cancel.throwIfCancelled("The answer");
        if (params.onLogits) {
            params.onLogits(logits);
        }
        const TokenId id = sampler.next(logits);
        answer.tokenIds.push_back(id);
        answer.tokenText.push_back(model.tokenText(id));
        answer.logprob.push_back(logProbability(logits, id));
        if (params.onToken) {
            params.onToken(step + 1);
        }
        if (params.evictor != nullptr) {
            params.evictor->makeRoom(cache, step, answer.cache.evictions);
        }
        noteLengths(cache, answer.cache);
        if (std::find(endTokens.begin(), endTokens.end(), id) != endTokens.end()) {
            answer.stoppedAtEnd = true;
            break;
        }
        answer.text = model.decodeText(answer.tokenIds);
        stream.update(answer.text, stablePrefix(answer.text));
        if (step + 1 < params.maxNewTokens) {
            logits = model.decode(id, cache, params.cancel, observer);
        }
    }
    answer.text = model.decodeText(answer.tokenIds);
    stream.update(answer.text, answer.text.size());
    return answer;
}

} // namespace ecokv::session

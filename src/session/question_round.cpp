// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/question_round.h"

#include "base/error.h"
#include "session/decode_evictor.h"

#include <fmt/format.h>

#include <iterator>
#include <utility>

namespace ecokv::session {

Question prepareQuestion(const model::Model& model, const std::string& text,
                         const std::string& tail) {
    Question question{text, model.tokenize(text + tail)};
    if (question.ids.empty()) {
        throwUsage("A question is empty and nothing stands behind it.", "Give --ask some words.");
    }
    return question;
}

Answer askQuestion(model::Model& model, const cache::KvCache& context, const Question& question,
                   const GenerationParams& params) {
    const std::int64_t length = std::ssize(question.ids);
    const std::int64_t needed = context.tokensSeen() + length;
    if (model.info().maxPositions > 0 && needed > model.info().maxPositions) {
        throwBadInput(fmt::format("The context of {} tokens and the question of {} need {} "
                                  "positions, but the model was made for {}.",
                                  context.tokensSeen(), length, needed, model.info().maxPositions),
                      "Shorten the context or the question.");
    }
    const std::int64_t more = params.evictor != nullptr ? 0 : params.maxNewTokens;
    cache::KvCache cache = context.clone(length + more);
    std::vector<float> logits =
        model.extend(question.ids, cache, params.evictor, {}, params.cancel);
    return generateAnswer(model, cache, std::move(logits), params);
}

} // namespace ecokv::session

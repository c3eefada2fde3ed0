#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Puts questions to a context that was prefilled and compressed once. Every question gets a copy of
// the cache, so that none sees another (field case F009). One thread.

#include "session/answer_generator.h"

#include <string>
#include <vector>

namespace ecokv::session {

/// A question as the model reads it: its words and what the template puts behind them.
struct Question {
    std::string text;
    std::vector<TokenId> ids;
};

/// Throws Error{Usage} for a question without tokens. It is tokenised apart from the context, so a
/// token never spans the place where they meet.
Question prepareQuestion(const model::Model& model, const std::string& text,
                         const std::string& tail);

/// Appends the question to a copy of `context` and answers; `context` stays as it is. Throws
/// Error{BadInput} where the model has no positions left (field case F057).
Answer askQuestion(model::Model& model, const cache::KvCache& context, const Question& question,
                   const GenerationParams& params);

} // namespace ecokv::session

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// Turns what a run knows (model, prompt, policy, layers, answers) into the records of a trace.

#include "model/model_info.h"
#include "model/prompt.h"
#include "policy/policy.h"
#include "session/compared_variants.h"
#include "session/run_config.h"
#include "session/run_result.h"
#include "trace/trace_records.h"

namespace ecokv::session {

/// The program's name and version as traces record it.
const char* producerName();

trace::ModelRecord modelRecord(const model::ModelInfo& info);
/// [token] 0 text, 1 special, 2 image, as /prompt/token_kind.
std::vector<std::uint8_t> tokenKinds(const model::Prompt& prompt);
trace::PromptRecord promptRecord(const model::Prompt& prompt);
trace::ImageRecord imageRecord(const model::Picture& picture);
trace::Attributes policyAttributes(const policy::ResolvedPolicy& policy);
/// The last `recordWindow` rows of the window queries, keys, values, head metrics and scores.
trace::LayerRecord layerRecord(const policy::LayerInput& input, const policy::LayerScores& scores,
                               std::int64_t recordWindow, bool recordValues);
trace::DecodeRecord decodeRecord(const Answer& answer);
/// Survivors by `plans` [layer], everything where there are none; the means of `compared` become
/// attributes.
trace::PolicyRecord comparedRecord(const Variant& variant, const ComparedPolicy& compared,
                                   std::int64_t layers, std::int64_t kvHeads);
trace::ForcedRecord forcedRecord(const ComparedPolicy& compared);
/// decodeRecord() with the question's words and ids.
trace::DecodeRecord questionRecord(const QuestionResult& question, const Answer& answer);
trace::RunRecord runRecord(const RunConfig& config, const RunResult& result);

} // namespace ecokv::session

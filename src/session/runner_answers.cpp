// SPDX-License-Identifier: GPL-3.0-or-later
// The steps of a run behind the prefill: the compressed context saved or loaded, one answer or
// several.
#include "session/runner.h"

#include "base/stop_watch.h"
#include "kernels/backend_choice.h"
#include "session/context_limit.h"
#include "session/ledger_book.h"
#include "session/model_shape.h"
#include "session/question_round.h"
#include "session/saved_context.h"
#include "session/trace_records.h"

#include <fmt/format.h>

#include <utility>

namespace ecokv::session {

void Runner::saveContext() {
    if (m_config.saveCache.empty()) {
        return;
    }
    report("Saving the cache", 0, 1, "file");
    session::saveContext(m_config.saveCache, contextRecord(m_model, m_prompt, m_policy, *m_cache),
                         *m_cache, m_windows);
    m_result.savedCache = m_config.saveCache;
}

void Runner::restoreContext() {
    const StopWatch watch;
    report("Loading the cache", 0, 1, "file");
    SavedContext context = loadContext(m_config.loadCache, m_model);
    const trace::CacheRecord& record = context.record;
    m_cache = std::make_unique<cache::KvCache>(std::move(context.cache));
    m_windows = std::move(context.windows);
    m_questionTail = record.questionTail;
    m_policy.shape = shapeOf(m_model.info());
    m_policy.tokens = record.tokensSeen;
    m_policy.compresses = trace::attributeOr<std::int64_t>(record.policy, "compressed", 0) != 0;
    m_policy.sink = trace::attributeOr<std::int64_t>(record.policy, "sink", 0);
    m_policy.recent = trace::attributeOr<std::int64_t>(record.policy, "recent", 0);
    m_result.promptTokens = record.tokensSeen;
    m_result.imageTokens = record.imageTokens;
    m_result.policy = trace::attributeOr<std::string>(record.policy, "policy", "");
    m_result.budget = trace::attributeOr<std::int64_t>(record.policy, "budget", 0);
    m_result.compressed = m_policy.compresses;
    m_result.ledger = makeLedger(*m_cache, m_policy);
    m_listener.ledger(m_result.ledger);
    m_result.timings.prepareSeconds = watch.seconds();
    note(fmt::format("The context of {} tokens comes from {}, compressed by {} to {} per head.",
                     record.tokensSeen, m_config.loadCache.filename().string(), m_result.policy,
                     m_result.budget));
}

std::unique_ptr<DecodeEvictor> Runner::makeEvictor() const {
    if (m_config.decodeBudget == 0) {
        return nullptr;
    }
    DecodeEvictionSetup setup = decodeSetup(m_config);
    setup.shape = shapeOf(m_model.info());
    setup.backend = kernels::backendFor(m_model.cacheShape().device);
    setup.ropes = m_model.info().ropes;
    auto evictor = std::make_unique<DecodeEvictor>(std::move(setup));
    evictor->seed(m_windows);
    return evictor;
}

GenerationParams Runner::generation(Stream stream) {
    GenerationParams params;
    params.maxNewTokens = m_config.maxNewTokens;
    params.sampling = {m_config.temperature, m_config.topK, m_config.topP, m_config.policy.seed};
    params.cancel = m_cancel;
    params.onText = [this, stream](const std::string& piece) { m_listener.text(stream, piece); };
    const char* stage = stream == Stream::Policy ? "Answering" : "Answering from the full cache";
    params.onToken = [this, stage](std::int64_t done) {
        report(stage, done, m_config.maxNewTokens, "tokens");
    };
    return params;
}

void Runner::noteDecoded(double seconds, std::size_t tokens) {
    m_result.timings.decodeSeconds = seconds;
    m_result.timings.decodeTokensPerSecond =
        seconds > 0 && tokens > 0 ? static_cast<double>(tokens) / seconds : 0;
}

void Runner::answer() {
    if (!m_config.asks.empty()) {
        answerQuestions();
        return;
    }
    if (!m_config.saveCache.empty()) {
        return; // a context waits for questions
    }
    double seconds = 0;
    m_result.answer = generate(Stream::Policy, *m_cache, seconds);
    noteDecoded(seconds, m_result.answer.tokenIds.size() - 1);
    if (m_full) {
        double fullSeconds = 0;
        m_result.fullAnswer = generate(Stream::Full, *m_full, fullSeconds);
        m_result.hasFullAnswer = true;
    }
}

Answer Runner::generate(Stream stream, cache::KvCache& cache, double& seconds) {
    const StopWatch watch;
    GenerationParams params = generation(stream);
    const auto evictor = stream == Stream::Policy ? makeEvictor() : nullptr;
    params.evictor = evictor.get();
    Answer answer = generateAnswer(m_model, cache, m_logits, params);
    seconds = watch.seconds();
    return answer;
}

void Runner::answerQuestions() {
    std::vector<Question> questions; // all of them first: a bad one is told before any answer
    for (const std::string& words : m_config.asks) {
        questions.push_back(prepareQuestion(m_model, words, m_questionTail));
    }
    double seconds = 0;
    std::size_t decoded = 0;
    for (std::size_t i = 0; i < questions.size(); ++i) {
        m_listener.question(i, questions[i].text);
        QuestionResult& result = m_result.questions.emplace_back();
        result.question = questions[i].text;
        result.questionIds = questions[i].ids;
        const StopWatch watch;
        GenerationParams params = generation(Stream::Policy);
        const auto evictor = makeEvictor();
        params.evictor = evictor.get();
        ContextNeed need{m_cache->tokensSeen() + std::ssize(questions[i].ids),
                         m_config.maxNewTokens, m_model.info().maxPositions};
        noteIfAny(mayPassContext(need));
        result.answer = askQuestion(m_model, *m_cache, questions[i], params);
        need.answer = std::ssize(result.answer.tokenIds);
        noteIfAny(passedContext(need));
        seconds += watch.seconds();
        decoded += result.answer.tokenIds.size();
        if (m_full) {
            result.fullAnswer =
                askQuestion(m_model, *m_full, questions[i], generation(Stream::Full));
            m_result.hasFullAnswer = true;
        }
    }
    noteDecoded(seconds, decoded);
}

void Runner::recordQuestions() {
    for (std::size_t i = 0; i < m_result.questions.size(); ++i) {
        const QuestionResult& question = m_result.questions[i];
        const auto index = static_cast<std::int64_t>(i);
        m_trace->writeQuestion(kRunPolicyId, index, questionRecord(question, question.answer));
        if (m_result.hasFullAnswer) {
            m_trace->writeQuestion("", index, questionRecord(question, question.fullAnswer));
        }
    }
}

} // namespace ecokv::session

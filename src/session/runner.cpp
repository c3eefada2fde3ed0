// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/runner.h"

#include "base/error.h"
#include "base/stop_watch.h"
#include "kernels/backend_choice.h"
#include "policy/other_layers.h"
#include "session/context_limit.h"
#include "session/layer_pipeline.h"
#include "session/ledger_book.h"
#include "session/model_shape.h"
#include "session/question_round.h"
#include "session/template_note.h"
#include "session/trace_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ecokv::session {

namespace {

/// Query rows a saved cache holds at least, for policies that evict while answering.
constexpr std::int64_t kSavedRows = 32;

std::int64_t longestAnswer(const RunResult& result) {
    std::size_t longest =
        std::max(result.answer.tokenIds.size(), result.fullAnswer.tokenIds.size());
    for (const ComparedPolicy& policy : result.compared) {
        longest = std::max(longest, policy.answer.tokenIds.size());
    }
    return static_cast<std::int64_t>(longest);
}

} // namespace

Runner::Runner(model::Model& model, const RunConfig& config, RunListener& listener,
               CancellationToken cancel)
    : m_model(model), m_config(config), m_listener(listener), m_cancel(std::move(cancel)) {}

void Runner::note(const std::string& sentence) {
    m_result.notes.push_back(sentence);
    m_listener.note(sentence);
}

void Runner::noteIfAny(const std::string& sentence) {
    if (!sentence.empty()) {
        note(sentence);
    }
}

void Runner::report(const char* stage, std::int64_t done, std::int64_t total, const char* unit) {
    m_listener.progress({stage, done, total, unit});
}

void Runner::prepare(std::vector<std::string> notes) {
    m_result.notes = std::move(notes);
    if (m_config.loadCache.empty()) {
        preparePrompt();
    }
}

RunResult Runner::run(const RunPlace& place) {
    const StopWatch total;
    const double secondsBefore = place.loadSeconds + m_result.timings.prepareSeconds;
    m_result.device = place.device;
    m_result.dtype = place.dtype;
    m_result.backend = place.backend;
    m_result.threads = place.threads;
    m_result.timings.loadSeconds = place.loadSeconds;
    const bool evictsWhileAnswering =
        m_config.decodeBudget > 0 && !shapeOf(m_model.info()).fullLayers().empty();
    m_result.decodeEviction =
        evictsWhileAnswering
            ? fmt::format("every {} tokens to {}", m_config.decodeEvery, m_config.decodeBudget)
            : std::string("prefill-only");
    if (m_config.decodeBudget > 0 && !evictsWhileAnswering) { // F034
        note("--decode-budget evicts nothing here: every layer slides or has no KV cache.");
    }
    if (m_config.loadCache.empty()) {
        openTrace();
    } else {
        restoreContext();
    }
    const bool saysOtherLayers = m_config.loadCache.empty() && m_policy.compresses; // in its note
    if (!saysOtherLayers && (m_policy.compresses || evictsWhileAnswering)) {
        noteIfAny(policy::otherLayersNote(m_policy.shape));
    }
    if (!m_variants.empty()) {
        prefillComparison();
        compare();
    } else {
        if (m_config.loadCache.empty()) {
            prefill();
            saveContext();
        }
        answer();
    }
    noteIfAny(passedContext({m_result.promptTokens, longestAnswer(m_result),
                             m_model.info().maxPositions})); // questions have their own notes
    m_result.timings.totalSeconds = secondsBefore + total.seconds();
    recordAnswers();
    return std::move(m_result);
}

void Runner::preparePrompt() {
    const StopWatch watch;
    report("Preparing the prompt", 0, 1, "prompt");
    model::PromptRequest request{
        m_config.prompt, {}, m_config.applyTemplate, m_config.pictureReading};
    request.leaveOpen = !m_config.asks.empty() || !m_config.saveCache.empty();
    for (const auto& image : m_config.images) {
        request.images.push_back(image.string());
    }
    m_prompt = m_model.prepare(request);
    for (const std::string& words : m_config.asks) { // a bad one is told now
        prepareQuestion(m_model, words, m_prompt.questionTail);
    }
    for (const std::string& sentence : m_prompt.notes) {
        note(sentence);
    }
    policy::PolicyConfig config = m_config.policy;
    if (!m_config.compare.empty()) {
        config.scorer = "full"; // the cache that the others are copied from and compared with
    }
    const policy::ModelShape shape = shapeOf(m_model.info());
    if (!m_config.saveCache.empty() &&
        std::ranges::count(shape.linearLayers, 0) != std::ssize(shape.linearLayers)) {
        throwUsage(fmt::format("{} has layers with linear attention; their state is not part of a "
                               "saved cache.",
                               shape.model),
                   "Ask all questions in one run: --ask may be repeated.");
    }
    m_policy = policy::resolve(config, m_prompt.tokens(), shape);
    if (m_config.compare.empty()) {
        noteIfAny(m_policy.note);
    }
    if (m_config.asks.empty() && m_config.saveCache.empty()) {
        noteIfAny(mayPassContext(
            {m_prompt.tokens(), m_config.maxNewTokens, m_model.info().maxPositions}));
    }
    m_recordWindow = std::min<std::int64_t>(
        m_prompt.tokens(),
        std::max({m_config.recordWindow, std::int64_t{m_policy.window}, m_policy.judgedRows()}));
    m_result.promptTokens = m_prompt.tokens();
    m_result.imageTokens = m_prompt.imageTokens();
    m_result.policy = config.scorer;
    m_result.budget = m_policy.budget;
    m_result.compressed = m_policy.compresses;
    if (!m_config.compare.empty()) {
        prepareComparison();
    }
    m_result.timings.prepareSeconds = watch.seconds();
}

void Runner::openTrace() {
    if (m_config.trace.empty()) {
        return;
    }
    const cache::CacheShape shape = m_model.cacheShape();
    trace::WriterOptions options;
    options.path = m_config.trace;
    options.dimensions = {.layers = shape.layers,
                          .heads = m_model.info().heads,
                          .kvHeads = shape.kvHeads,
                          .tokens = m_prompt.tokens(),
                          .headDim = shape.headDim,
                          .window = m_recordWindow};
    options.tensorDType = shape.dtype;
    options.linearLayers = m_model.info().linearLayers;
    options.recordValues = m_config.recordValues;
    options.policies = std::max<std::int64_t>(1, std::ssize(m_variants));
    options.compact = m_config.compactTrace;
    options.producer = producerName();
    for (std::int64_t row = m_prompt.tokens() - m_recordWindow; row < m_prompt.tokens(); ++row) {
        options.windowPositions.push_back(row);
    }
    note(fmt::format("The trace takes about {:.1f} MB.",
                     static_cast<double>(trace::predictedBytes(options)) / 1e6));
    m_trace = std::make_unique<trace::TraceWriter>(options);
    trace::ModelRecord model = modelRecord(m_model.info());
    model.attributes["device"] = m_result.device;
    model.attributes["compute_dtype"] = m_result.dtype;
    m_trace->writeModel(model);
    m_trace->writePrompt(promptRecord(m_prompt));
    for (std::size_t i = 0; i < m_prompt.pictures.size(); ++i) {
        m_trace->writeImage(static_cast<std::int64_t>(i), imageRecord(m_prompt.pictures[i]));
    }
}

void Runner::prefill() {
    const StopWatch watch;
    const cache::CacheShape shape = m_model.cacheShape();
    m_cache = std::make_unique<cache::KvCache>(shape);
    m_cache->setRopePositions(m_prompt.ropePositions);
    const bool grows = m_config.asks.empty() && m_config.saveCache.empty();
    const std::int64_t room = grows ? m_config.maxNewTokens : 0;
    m_cache->reserveForDecode(m_config.decodeBudget > 0 ? 0 : room);
    if (m_config.compareFull) {
        m_full = std::make_unique<cache::KvCache>(shape);
        m_full->reserveForDecode(room);
    }
    const bool needsRows = m_config.decodeBudget > 0 || !m_config.saveCache.empty();
    if (needsRows) {
        const std::int64_t rows =
            m_config.decodeBudget > 0 ? resolveDecode(decodeSetup(m_config)).window : kSavedRows;
        m_windows.reserve(static_cast<std::size_t>(shape.layers));
        for (std::int32_t layer = 0; layer < shape.layers; ++layer) {
            m_windows.emplace_back(std::max<std::int64_t>(rows, m_policy.window));
        }
    }
    LayerPipeline pipeline({.policy = m_policy,
                            .backend = kernels::backendFor(shape.device),
                            .ropes = m_model.info().ropes,
                            .cache = m_cache.get(),
                            .full = m_full.get(),
                            .trace = m_trace.get(),
                            .recordWindow = m_recordWindow,
                            .recordValues = m_config.recordValues,
                            .recordGeometry = m_config.recordGeometry,
                            .tokenKinds = tokenKinds(m_prompt),
                            .windows = needsRows ? &m_windows : nullptr,
                            .cancel = m_cancel});
    m_logits = m_model.prefill(m_prompt, *m_cache, &pipeline,
                               [this](const Progress& progress) { m_listener.progress(progress); },
                               m_cancel, {.chunk = m_config.prefillChunk});
    if (m_full) {
        m_full->copyUnevicted(*m_cache);
    }
    for (const std::string& sentence : pipeline.notes()) {
        note(sentence);
    }
    noteIfAny(evictedTemplateNote(
        m_prompt, m_policy.shape.kinds().countedOf(pipeline.policyRecord(kRunPolicyId).kept,
                                                   m_policy.shape.layers)));
    m_questionTail = m_prompt.questionTail;
    notePrefilled(watch.seconds(), pipeline.scoringSeconds());
    if (m_trace) {
        auto record = pipeline.policyRecord(kRunPolicyId);
        record.attributes["kept_bytes"] = static_cast<std::int64_t>(m_result.ledger.keptBytes);
        record.attributes["full_bytes"] = static_cast<std::int64_t>(m_result.ledger.fullBytes);
        m_trace->writePolicy(record);
    }
}

void Runner::notePrefilled(double seconds, double scoringSeconds) {
    m_result.timings.prefillSeconds = seconds;
    m_result.timings.scoringSeconds = scoringSeconds;
    m_result.ledger = makeLedger(*m_cache, m_policy);
    m_listener.ledger(m_result.ledger);
}

void Runner::recordAnswers() {
    if (!m_trace) {
        return;
    }
    report("Closing the trace", 0, 1, "file");
    trace::RunRecord run = runRecord(m_config, m_result);
    if (!m_result.questions.empty()) {
        recordQuestions();
    } else if (m_variants.empty() && !m_result.answer.tokenIds.empty()) {
        m_trace->writePolicyDecode(kRunPolicyId, decodeRecord(m_result.answer));
        if (m_result.hasFullAnswer) {
            m_trace->writeDecode(decodeRecord(m_result.fullAnswer));
        }
    } else if (!m_variants.empty()) { // the comparison wrote its answers
        run.attributes["scores_policy"] = m_result.compared[recordedVariant(m_variants)].traceId;
    }
    m_trace->writeRun(run);
    m_trace->close();
    m_trace.reset();
    m_result.trace = m_config.trace;
}

} // namespace ecokv::session

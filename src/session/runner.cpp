// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/runner.h"

#include "base/error.h"
#include "base/stop_watch.h"
#include "kernels/backend_choice.h"
#include "session/answer_generator.h"
#include "session/layer_pipeline.h"
#include "session/ledger_book.h"
#include "session/question_round.h"
#include "session/saved_context.h"
#include "session/template_note.h"
#include "session/trace_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace ecokv::session {

namespace {

constexpr const char* kPolicyId = "0";
/// Query rows a saved cache holds at least, for policies that evict while answering.
constexpr std::int64_t kSavedRows = 32;

} // namespace

Runner::Runner(model::Model& model, const RunConfig& config, RunListener& listener,
               CancellationToken cancel)
    : m_model(model), m_config(config), m_listener(listener), m_cancel(std::move(cancel)) {}

void Runner::note(const std::string& sentence) {
    m_result.notes.push_back(sentence);
    m_listener.note(sentence);
}

void Runner::report(const char* stage, std::int64_t done, std::int64_t total, const char* unit) {
    m_listener.progress({stage, done, total, unit});
}

RunResult Runner::run(RunResult result) {
    m_result = std::move(result);
    const StopWatch total;
    m_result.decodeEviction =
        m_config.decodeBudget > 0
            ? fmt::format("every {} tokens to {}", m_config.decodeEvery, m_config.decodeBudget)
            : std::string("prefill-only");
    if (m_config.loadCache.empty()) {
        prepare();
        openTrace();
    } else {
        restoreContext();
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
    m_result.timings.totalSeconds = m_result.timings.loadSeconds + total.seconds();
    recordAnswers();
    return std::move(m_result);
}

void Runner::prepare() {
    const StopWatch watch;
    report("Preparing the prompt", 0, 1, "prompt");
    model::PromptRequest request{
        m_config.prompt, {}, m_config.applyTemplate, m_config.applyOrientation};
    request.leaveOpen = !m_config.asks.empty() || !m_config.saveCache.empty();
    for (const auto& image : m_config.images) {
        request.images.push_back(image.string());
    }
    m_prompt = m_model.prepare(request);
    for (const std::string& sentence : m_prompt.notes) {
        note(sentence);
    }
    const model::ModelInfo& info = m_model.info();
    policy::PolicyConfig config = m_config.policy;
    if (!m_config.compare.empty()) {
        config.scorer = "full"; // the cache that the others are copied from and compared with
    }
    m_policy = policy::resolve(config, m_prompt.tokens(),
                               {info.layers, info.kvHeads, info.name, info.slidingWindows});
    if (!m_policy.note.empty() && m_config.compare.empty()) {
        note(m_policy.note);
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
                            .rope = m_model.info().rope,
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
    for (const std::string& sentence : pipeline.notes()) {
        note(sentence);
    }
    if (const std::string lost =
            evictedTemplateNote(m_prompt, pipeline.policyRecord(kPolicyId).kept);
        !lost.empty()) {
        note(lost);
    }
    m_questionTail = m_prompt.questionTail;
    m_result.timings.prefillSeconds = watch.seconds();
    m_result.timings.scoringSeconds = pipeline.scoringSeconds();
    m_result.ledger = makeLedger(*m_cache, m_policy);
    m_listener.ledger(m_result.ledger);
    if (m_trace) {
        auto record = pipeline.policyRecord(kPolicyId);
        record.attributes["kept_bytes"] = static_cast<std::int64_t>(m_result.ledger.keptBytes);
        record.attributes["full_bytes"] = static_cast<std::int64_t>(m_result.ledger.fullBytes);
        m_trace->writePolicy(record);
    }
}

void Runner::saveContext() {
    if (m_config.saveCache.empty()) {
        return;
    }
    report("Saving the cache", 0, 1, "file");
    session::saveContext(m_config.saveCache, contextRecord(m_model, m_prompt, m_policy), *m_cache,
                         m_windows);
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
    const model::ModelInfo& info = m_model.info();
    m_policy.shape = {info.layers, info.kvHeads, info.name, info.slidingWindows};
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
    const model::ModelInfo& info = m_model.info();
    setup.shape = {info.layers, info.kvHeads, info.name, info.slidingWindows};
    setup.backend = kernels::backendFor(m_model.cacheShape().device);
    setup.rope = info.rope;
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
        result.answer = askQuestion(m_model, *m_cache, questions[i], params);
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

void Runner::recordAnswers() {
    if (!m_trace) {
        return;
    }
    report("Closing the trace", 0, 1, "file");
    trace::RunRecord run = runRecord(m_config, m_result);
    if (!m_result.questions.empty()) {
        recordQuestions();
    } else if (m_variants.empty() && !m_result.answer.tokenIds.empty()) {
        m_trace->writePolicyDecode(kPolicyId, decodeRecord(m_result.answer));
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

void Runner::recordQuestions() {
    for (std::size_t i = 0; i < m_result.questions.size(); ++i) {
        const QuestionResult& question = m_result.questions[i];
        const auto index = static_cast<std::int64_t>(i);
        m_trace->writeQuestion(kPolicyId, index, questionRecord(question, question.answer));
        if (m_result.hasFullAnswer) {
            m_trace->writeQuestion("", index, questionRecord(question, question.fullAnswer));
        }
    }
}

} // namespace ecokv::session

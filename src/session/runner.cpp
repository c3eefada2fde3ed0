// SPDX-License-Identifier: GPL-3.0-or-later
#include "session/runner.h"

#include "base/error.h"
#include "base/stop_watch.h"
#include "kernels/backend_choice.h"
#include "session/answer_generator.h"
#include "session/layer_pipeline.h"
#include "session/ledger_book.h"
#include "session/trace_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

namespace ecokv::session {

namespace {

constexpr const char* kPolicyId = "0";
/// Longer than any prompt: what is impossible here is impossible for every prompt.
constexpr std::int64_t kAnyPrompt = std::int64_t{1} << 40;

bool isTraceOrEmpty(const std::filesystem::path& file) {
    constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
    std::array<char, kSignature.size()> head{};
    std::ifstream stream(file, std::ios::binary);
    stream.read(head.data(), head.size());
    const auto count = static_cast<std::size_t>(stream.gcount());
    return count == 0 || std::string_view(head.data(), count) == kSignature;
}

/// A trace may replace an older trace, never a picture, a model file or anything else.
void checkTracePath(const std::filesystem::path& trace) {
    const auto folder = trace.parent_path();
    std::error_code unreadable; // counts as missing
    if (!folder.empty() && !std::filesystem::is_directory(folder, unreadable)) {
        throwBadInput(fmt::format("The folder {} for the trace does not exist.", folder.string()),
                      "Make it first, or name another file.");
    }
    if (std::filesystem::is_regular_file(trace, unreadable) && !isTraceOrEmpty(trace)) {
        throwBadInput(
            fmt::format("{} exists and is not a trace; it is left as it is.", trace.string()),
            "Name a new file that ends in .ecokv.h5.");
    }
}

void checkPicture(const std::filesystem::path& image) {
    std::error_code unreadable; // counts as missing
    if (std::filesystem::is_directory(image, unreadable)) {
        throwBadInput(fmt::format("The picture {} is a folder.", image.string()),
                      "Name a JPEG, PNG or WebP file.");
    }
    if (!std::filesystem::is_regular_file(image, unreadable)) {
        throwBadInput(fmt::format("The picture \"{}\" was not found.", image.string()),
                      "Check the path.");
    }
}

} // namespace

void checkRunConfig(const RunConfig& config) {
    if (config.model.empty()) {
        throwUsage("No model folder was given.", "Name a Hugging Face folder.");
    }
    if (config.maxNewTokens < 1) {
        throwUsage(fmt::format("{} new tokens were asked for.", config.maxNewTokens),
                   "Ask for at least 1.");
    }
    if (config.policy.budget < 0) {
        throwUsage(fmt::format("The budget is {} tokens.", config.policy.budget),
                   "Give at least 1, or 0 to keep everything.");
    }
    const bool sampling = config.temperature >= 0 && config.topP > 0 && config.topP <= 1 &&
                          config.topK >= 0; // written so that NaN fails
    if (!sampling) {
        throwUsage(fmt::format("The sampling settings are temperature {}, top-k {}, top-p {}.",
                               config.temperature, config.topK, config.topP),
                   "Use temperature >= 0, top-k >= 0 and 0 < top-p <= 1.");
    }
    if (config.threads < 0 || config.recordWindow < 0) {
        throwUsage(fmt::format("Threads ({}) and recorded window ({}) cannot be negative.",
                               config.threads, config.recordWindow));
    }
    if (config.prefillChunk < 0) {
        throwUsage(
            fmt::format("A prefill in chunks of {} tokens was asked for.", config.prefillChunk),
            "Give at least 1, or 0 to take the whole prompt at once.");
    }
    if (config.compare.empty()) {
        policy::resolve(config.policy, kAnyPrompt);
    } else if (config.temperature > 0) {
        throwUsage("A comparison follows the greedy continuation of the full cache; a temperature "
                   "does not go with it.",
                   "Leave --temperature out.");
    }
    checkTracePath(config.trace);
    for (const auto& image : config.images) {
        checkPicture(image);
    }
}

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
    prepare();
    openTrace();
    if (m_variants.empty()) {
        prefill();
        answer();
    } else {
        prefillComparison();
        compare();
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
    m_cache->reserveForDecode(m_config.maxNewTokens);
    if (m_config.compareFull) {
        m_full = std::make_unique<cache::KvCache>(shape);
        m_full->reserveForDecode(m_config.maxNewTokens);
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
                            .cancel = m_cancel});
    m_logits = m_model.prefill(m_prompt, *m_cache, &pipeline,
                               [this](const Progress& progress) { m_listener.progress(progress); },
                               m_cancel, {.chunk = m_config.prefillChunk});
    for (const std::string& sentence : pipeline.notes()) {
        note(sentence);
    }
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

void Runner::answer() {
    double seconds = 0;
    m_result.answer = generate(Stream::Policy, *m_cache, seconds);
    m_result.timings.decodeSeconds = seconds;
    const auto decoded = static_cast<double>(m_result.answer.tokenIds.size()) - 1;
    m_result.timings.decodeTokensPerSecond = seconds > 0 && decoded > 0 ? decoded / seconds : 0;
    if (m_full) {
        double fullSeconds = 0;
        m_result.fullAnswer = generate(Stream::Full, *m_full, fullSeconds);
        m_result.hasFullAnswer = true;
    }
}

Answer Runner::generate(Stream stream, cache::KvCache& cache, double& seconds) {
    const StopWatch watch;
    GenerationParams params;
    params.maxNewTokens = m_config.maxNewTokens;
    params.sampling = {m_config.temperature, m_config.topK, m_config.topP, m_config.policy.seed};
    params.cancel = m_cancel;
    params.onText = [this, stream](const std::string& piece) { m_listener.text(stream, piece); };
    const char* stage = stream == Stream::Policy ? "Answering" : "Answering from the full cache";
    params.onToken = [this, stage](std::int64_t done) {
        report(stage, done, m_config.maxNewTokens, "tokens");
    };
    Answer answer = generateAnswer(m_model, cache, m_logits, params);
    seconds = watch.seconds();
    return answer;
}

void Runner::recordAnswers() {
    if (!m_trace) {
        return;
    }
    report("Closing the trace", 0, 1, "file");
    trace::RunRecord run = runRecord(m_config, m_result);
    if (m_variants.empty()) {
        m_trace->writePolicyDecode(kPolicyId, decodeRecord(m_result.answer));
        if (m_result.hasFullAnswer) {
            m_trace->writeDecode(decodeRecord(m_result.fullAnswer));
        }
    } else { // the comparison wrote its answers
        run.attributes["scores_policy"] = m_result.compared[recordedVariant(m_variants)].traceId;
    }
    m_trace->writeRun(run);
    m_trace->close();
    m_trace.reset();
    m_result.trace = m_config.trace;
}

} // namespace ecokv::session

#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// One run on an opened model: prompt -> prefill with eviction and recording -> answers. Keeps
// nothing between runs (field case F009). One thread.

#include "base/cancellation.h"
#include "model/model.h"
#include "session/answer_generator.h"
#include "session/compared_variants.h"
#include "session/decode_evictor.h"
#include "session/engine.h"
#include "session/run_config.h"
#include "session/run_result.h"
#include "trace/trace_writer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ecokv::session {

/// Where a run takes place, known once the model is loaded.
struct RunPlace {
    std::string device, dtype, backend;
    int threads = 0;
    double loadSeconds = 0;
};

/// Group under /policies of the one policy of a run that compares nothing.
inline constexpr const char* kRunPolicyId = "0";

class Runner {
public:
    Runner(model::Model& model, const RunConfig& config, RunListener& listener,
           CancellationToken cancel);

    /// Builds the prompt and settles the policy; reads no weights. Throws what is wrong with them.
    /// `notes` are those of the run so far.
    void prepare(std::vector<std::string> notes);
    double prepareSeconds() const { return m_result.timings.prepareSeconds; }
    /// Once, behind prepare().
    RunResult run(const RunPlace& place);

private:
    void preparePrompt();
    void openTrace();
    void prefill();
    void saveContext();
    void restoreContext();
    void answer();
    void prepareComparison();
    void prefillComparison();
    void compare();
    Answer generate(Stream stream, cache::KvCache& cache, double& seconds);
    void answerQuestions();
    GenerationParams generation(Stream stream);
    /// Null where the cache may grow.
    std::unique_ptr<DecodeEvictor> makeEvictor() const;
    void notePrefilled(double seconds, double scoringSeconds);
    void noteDecoded(double seconds, std::size_t tokens);
    void recordAnswers();
    void recordQuestions();
    void note(const std::string& sentence);
    void noteIfAny(const std::string& sentence); ///< unless it is ""
    void report(const char* stage, std::int64_t done, std::int64_t total, const char* unit);

    model::Model& m_model;
    const RunConfig& m_config;
    RunListener& m_listener;
    CancellationToken m_cancel;
    RunResult m_result;
    model::Prompt m_prompt;
    policy::ResolvedPolicy m_policy;
    std::int64_t m_recordWindow = 0;
    std::unique_ptr<trace::TraceWriter> m_trace;
    std::unique_ptr<cache::KvCache> m_cache, m_full;
    std::vector<Variant> m_variants; ///< of a comparison; their caches are copies of m_cache
    QueryWindows m_windows;      ///< [layer] last query rows of the prompt, where they are needed
    std::string m_questionTail;  ///< what the template puts behind a question
    std::vector<float> m_logits; ///< [vocabulary] f32 of the last prompt token
};

/// What can be refused before a model is loaded: impossible numbers, missing files.
void checkRunConfig(const RunConfig& config);

} // namespace ecokv::session

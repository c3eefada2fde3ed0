#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// An engine for tests of the desktop: it runs no model, but reports, streams and writes the shared
// sample trace as a real one does, takes as long as told, and fails in the way told.

#include "session/engine.h"
#include "support/sample_trace.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace ecokv::test {

struct FakeBehaviour {
    std::vector<std::string> fullPieces = {"4", "07"};
    std::vector<std::string> policyPieces = {"4", "17"};
    std::chrono::milliseconds duration{0}; ///< polled for cancellation every 5 ms
    bool ignoresCancel = false;            ///< a worker that is slow to stop
    std::function<void()> failure;         ///< throws what a run is to fail with
    std::function<void()> describeFailure;
    std::vector<Finding> findings = {
        {"Files", "config.json", "1.5 kB", Severity::Good, ""},
        {"Text", "Chat template", "none in any of its places", Severity::Note, "Write it all."}};
    std::atomic<int> runs{0}, finishedRuns{0}, created{0}, examinations{0};
};

class FakeEngine : public session::Engine {
public:
    explicit FakeEngine(std::shared_ptr<FakeBehaviour> behaviour)
        : m_behaviour(std::move(behaviour)) {
        ++m_behaviour->created;
    }

    session::ModelSummary describe(const std::filesystem::path& model) override {
        if (m_behaviour->describeFailure) {
            m_behaviour->describeFailure();
        }
        session::ModelSummary summary;
        summary.name = model.filename().string();
        summary.family = "llava";
        summary.path = model.string();
        summary.layers = 4;
        summary.heads = 4;
        summary.kvHeads = 2;
        summary.headDim = 8;
        summary.parameters = 1'900'000;
        summary.weightBytes = 3'700'000;
        summary.dtype = "bfloat16";
        return summary;
    }

    session::DoctorReport examine(const session::DoctorRequest& request) override {
        ++m_behaviour->examinations;
        session::DoctorReport report;
        report.model = request.model.filename().string();
        report.family = "llava";
        report.device = "cpu";
        report.findings = m_behaviour->findings;
        return report;
    }

    session::DeviceReport devices() override { return {"cpu", {"CPU kernels: AVX2"}}; }

    session::RunResult run(const session::RunConfig& config, session::RunListener& listener,
                           const CancellationToken& cancel) override {
        ++m_behaviour->runs;
        listener.progress({"Prefill", 0, 4, "layers"});
        wait(cancel);
        if (m_behaviour->failure) {
            m_behaviour->failure();
        }
        session::RunResult result = makeResult(config);
        listener.progress({"Prefill", 4, 4, "layers"});
        listener.ledger(result.ledger);
        stream(listener, session::Stream::Full, m_behaviour->fullPieces, result.fullAnswer.text);
        stream(listener, session::Stream::Policy, m_behaviour->policyPieces, result.answer.text);
        listener.note("The fake engine answered.");
        if (!config.trace.empty()) {
            result.trace = writeSampleTrace(config.trace);
        }
        ++m_behaviour->finishedRuns;
        return result;
    }

private:
    void wait(const CancellationToken& cancel) const {
        const auto end = std::chrono::steady_clock::now() + m_behaviour->duration;
        while (std::chrono::steady_clock::now() < end) {
            if (!m_behaviour->ignoresCancel) {
                cancel.throwIfCancelled("The run");
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
    }

    static session::RunResult makeResult(const session::RunConfig& config) {
        session::RunResult result;
        result.hasFullAnswer = config.compareFull;
        result.promptTokens = 30;
        result.imageTokens = 12;
        result.policy = config.policy.scorer;
        result.budget = config.policy.budget;
        result.compressed = true;
        result.ledger.keptTokens = {{13, 12}, {12, 13}, {13, 13}, {13, 12}};
        result.ledger.promptTokens = 30;
        result.ledger.protectedTokens = 4;
        result.ledger.keptBytes = 6464;
        result.ledger.fullBytes = 15360;
        result.timings.totalSeconds = 0.5;
        result.device = "cpu";
        return result;
    }

    static void stream(session::RunListener& listener, session::Stream to,
                       const std::vector<std::string>& pieces, std::string& answer) {
        for (const std::string& piece : pieces) {
            listener.text(to, piece);
            answer += piece;
        }
    }

    std::shared_ptr<FakeBehaviour> m_behaviour;
};

} // namespace ecokv::test

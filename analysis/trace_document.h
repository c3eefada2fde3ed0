#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// An opened trace as the pages and exports need it: a snapshot of everything small, and the maps of
// survivors. Values only; opened on a worker, then read from any thread.

#include "trace/trace_reader.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ecokv::analysis {

/// One policy's survivors and settings.
struct PolicyView {
    /// title: "ecokv, budget 48, window 8", and whatever else tells it from the others
    std::string id, name, title;
    trace::PolicyRecord record;
    std::optional<trace::DecodeRecord> decode;
};

struct TraceDocument {
    std::filesystem::path path;
    trace::Dimensions dimensions;
    bool complete = false;
    std::vector<std::string> problems;
    trace::Attributes root;
    std::optional<trace::ModelRecord> model;
    std::optional<trace::RunRecord> run;
    std::optional<trace::PromptRecord> prompt;
    std::vector<trace::ImageRecord> images;
    std::vector<PolicyView> policies;
    std::optional<trace::DecodeRecord> fullDecode;
    /// name -> [layer, kvHead]; what /heads holds
    std::vector<std::pair<std::string, std::vector<float>>> headMetrics;
    /// Layers in which the run met NaN or Inf, ascending: NaN in headMetrics, errors and masses.
    std::vector<std::int64_t> notFinite;
    std::vector<trace::DatasetEntry> entries;
    /// Kept open for scores and keys on demand; thread-safe.
    std::shared_ptr<trace::TraceReader> reader;

    /// "model, prompt of 269 tokens, ecokv budget 48 and 4 more": the trace in a line.
    std::string provenance() const;
    /// The line under figures, which names the policy whose values are drawn: "model, prompt of 269
    /// tokens, snapkv, budget 48, window 32 (1 of 5 policies)".
    std::string provenance(const std::string& policyId) const;
    const std::vector<float>* headMetric(const std::string& name) const; ///< null if absent
    const PolicyView* policy(const std::string& id) const;               ///< null if absent
    /// A view of `model`'s lists; where it is unknown every layer is full.
    LayerKinds kinds() const;
    bool isLinear(std::int64_t layer) const { return kinds().isLinear(layer); }
    /// Tokens that a sliding layer sees, 0 = a full layer.
    std::int64_t slidingWindow(std::int64_t layer) const;
    /// Whose scores /scores holds: the one that a comparison names, else the first that evicts,
    /// else the first; "" without policies.
    std::string mainPolicy() const;
};

/// What policyMetric knows.
inline constexpr std::array<std::string_view, 4> kPolicyMetrics{"kept_budget", "output_error",
                                                                "measured_error", "retained_mass"};

/// kept_budget (tokens), output_error, measured_error (while answering) or retained_mass of a
/// policy, [layer, kvHead]; empty if absent.
std::vector<float> policyMetric(const PolicyView& policy, const std::string& name);

/// Reads a trace. Throws Error{BadInput}; never partially filled.
std::shared_ptr<const TraceDocument> openTrace(const std::filesystem::path& path);

} // namespace ecokv::analysis

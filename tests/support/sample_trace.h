#pragma once
// SPDX-License-Identifier: GPL-3.0-or-later
// A small plausible trace written through TraceWriter, for tests that need a file: 4 layers, 2 KV
// heads of 2 query heads, 30 tokens (12 of them patches of one 24 x 16 picture), 2 policies. Every
// value is a formula below, so that tests know what to expect.

#include "trace/trace_writer.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace ecokv::test {

struct SampleOptions {
    trace::Dimensions dimensions{4, 4, 2, 30, 8, 6};
    DType storage = DType::F32;
    bool recordValues = true;
    bool compact = false;
    std::int64_t layersWritten = -1; ///< -1 = all; fewer leaves a .part behind
};

/// keys[layer, kvHead, token, dim] before rounding to the storage type.
float sampleKey(std::int64_t layer, std::int64_t kvHead, std::int64_t token, std::int64_t dim);
float sampleValue(std::int64_t layer, std::int64_t kvHead, std::int64_t token, std::int64_t dim);
/// window_queries[layer, head, row, dim].
float sampleQuery(std::int64_t layer, std::int64_t head, std::int64_t row, std::int64_t dim);
/// scores/importance, scores/diversity and scores/score; the last 4 tokens are protected (NaN).
float sampleImportance(std::int64_t layer, std::int64_t kvHead, std::int64_t token);
float sampleDiversity(std::int64_t layer, std::int64_t kvHead, std::int64_t token);
/// heads/redundancy: 0.1 + 0.2 layer + 0.05 kvHead.
float sampleRedundancy(std::int64_t layer, std::int64_t kvHead);
/// Policy "0" keeps tokens with (token + layer + kvHead) % 3 == 0 and the last 4; policy "1" keeps
/// the first 5 and the last 4.
bool sampleKept(const std::string& policy, std::int64_t layer, std::int64_t kvHead,
                std::int64_t token);

trace::WriterOptions sampleWriterOptions(const std::filesystem::path& path,
                                         const SampleOptions& options = {});
trace::PromptRecord samplePrompt(std::int64_t tokens = 30);
trace::ImageRecord sampleImage();
/// Writes one layer of the sample.
void writeSampleLayer(trace::TraceWriter& writer, const SampleOptions& options, std::int64_t layer);
/// Writes the whole trace and returns `path` (or the .part if layersWritten is set).
std::filesystem::path writeSampleTrace(const std::filesystem::path& path,
                                       const SampleOptions& options = {});

/// An empty folder of its own under the system's temporary folder, removed at the end.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::filesystem::path& path() const { return m_path; }
    std::filesystem::path operator/(const std::string& name) const { return m_path / name; }

private:
    std::filesystem::path m_path;
};

} // namespace ecokv::test

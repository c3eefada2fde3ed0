// SPDX-License-Identifier: GPL-3.0-or-later
#include "analysis/head_table_of.h"

#include "base/error.h"
#include "trace/trace_writer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include <unistd.h>

namespace ecokv::analysis {
namespace {

namespace fs = std::filesystem;

/// A finished trace of a model of 2 x 2 heads with one metric, gone with the object.
class SmallTrace {
public:
    /// A layer that is linear has no KV cache and is not written.
    SmallTrace(const std::string& model, const std::vector<float>& metric,
               const std::vector<std::uint8_t>& linear = {}) {
        static int count = 0;
        m_path = fs::temp_directory_path() / ("ecokv-table-of-" + std::to_string(getpid()) + "-" +
                                              std::to_string(count++) + ".ecokv.h5");
        trace::WriterOptions options;
        options.path = m_path;
        options.dimensions = {
            .layers = 2, .heads = 2, .kvHeads = 2, .tokens = 3, .headDim = 2, .window = 1};
        options.windowPositions = {2};
        options.recordValues = false;
        options.linearLayers = linear;
        trace::TraceWriter writer(options);
        trace::ModelRecord record;
        record.attributes["name"] = model;
        record.linearLayers = linear;
        writer.writeModel(record);
        std::vector<float> zeros(2 * 3 * 2);
        for (std::int32_t layer = 0; layer < 2; ++layer) {
            if (!linear.empty() && linear[static_cast<std::size_t>(layer)] != 0) {
                continue;
            }
            trace::LayerRecord part;
            part.layer = layer;
            part.keys = TensorView::contiguous(zeros.data(), DType::F32, {2, 3, 2});
            part.windowQueries = TensorView::contiguous(zeros.data(), DType::F32, {2, 1, 2});
            const auto begin = metric.begin() + 2 * layer;
            part.heads["redundancy"] = {begin, begin + 2};
            writer.writeLayer(part);
        }
        writer.close();
    }
    ~SmallTrace() {
        std::error_code ignored;
        fs::remove(m_path, ignored);
    }
    SmallTrace(const SmallTrace&) = delete;
    SmallTrace& operator=(const SmallTrace&) = delete;

    std::shared_ptr<const trace::TraceReader> reader() const {
        return std::make_shared<const trace::TraceReader>(m_path);
    }

private:
    fs::path m_path;
};

std::string sentenceOf(const std::vector<std::shared_ptr<const trace::TraceReader>>& traces,
                       const std::string& metric, policy::HeadTableKind kind) {
    try {
        headTableOf(traces, metric, kind);
    } catch (const Error& error) {
        return error.what();
    }
    return {};
}

constexpr auto kRedundancy = policy::HeadTableKind::Redundancy;
constexpr auto kWeights = policy::HeadTableKind::Weights;

TEST(HeadTableOf, isTheMeanOverTracesLimitedToShares) {
    const SmallTrace one("demo", {0.25F, 0.5F, -0.5F, 1.0F});
    const SmallTrace two("demo", {0.75F, 0.5F, 0.5F, 1.5F});
    const policy::HeadTable table =
        headTableOf({one.reader(), two.reader()}, "redundancy", kRedundancy);
    EXPECT_EQ(table.model, "demo");
    EXPECT_EQ(table.layers, 2);
    EXPECT_EQ(table.kvHeads, 2);
    EXPECT_EQ(table.values, (std::vector{0.5, 0.5, 0.25, 1.0}));
    const policy::HeadTable weights = headTableOf({two.reader()}, "redundancy", kWeights);
    EXPECT_EQ(weights.values.back(), 1.5);
}

TEST(HeadTableOf, layersWithoutACacheAreLeftOpen) {
    const SmallTrace one("mixed", {0, 0, 0.25F, 1.0F}, {1, 0});
    const SmallTrace two("mixed", {0, 0, 0.75F, 0.5F}, {1, 0});
    for (const auto kind : {kRedundancy, kWeights}) {
        const policy::HeadTable table =
            headTableOf({one.reader(), two.reader()}, "redundancy", kind);
        EXPECT_TRUE(table.isUncached(0));
        EXPECT_TRUE(std::isnan(table.values[1]));
        EXPECT_EQ(table.values[2], 0.5);
        EXPECT_EQ(table.values[3], 0.75);
    }
    const SmallTrace none("none", {0, 0, 0, 0}, {1, 1});
    const std::string nothing = sentenceOf({none.reader()}, "redundancy", kRedundancy);
    EXPECT_NE(nothing.find("No layer of"), std::string::npos) << nothing;
}

TEST(HeadTableOf, whatDoesNotFitIsNamed) {
    const SmallTrace demo("demo", {0.25F, 0.5F, -0.5F, 1.0F});
    const SmallTrace other("other", {0.25F, 0.5F, 0.5F, 1.0F});
    const std::string models =
        sentenceOf({demo.reader(), other.reader()}, "redundancy", kRedundancy);
    EXPECT_NE(models.find("\"other\" (2 layers x 2 KV heads)"), std::string::npos) << models;
    EXPECT_NE(models.find("\"demo\""), std::string::npos) << models;
    const std::string metric = sentenceOf({demo.reader()}, "anisotropy", kWeights);
    EXPECT_NE(metric.find("no head metric \"anisotropy\""), std::string::npos) << metric;
    EXPECT_NE(metric.find("It holds: redundancy"), std::string::npos) << metric;
    const std::string negative = sentenceOf({demo.reader()}, "redundancy", kWeights);
    EXPECT_NE(negative.find("layer 1 head 0"), std::string::npos) << negative;
}

} // namespace
} // namespace ecokv::analysis

// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "trace/hdf5/library.h"
#include "trace/trace_layout.h"

#include <gtest/gtest.h>

namespace ecokv::trace {

TEST(TraceLayout, chunksAreBetweenAQuarterAndOneMebibyteWithLittlePadding) { // F132
    for (const std::int64_t tokens : {1025, 2048, 4096, 5000, 8191, 8192, 32768, 131072}) {
        for (const std::uint64_t rowBytes : {256, 512}) { // dim 128 in bf16, fp32
            const std::int64_t block = tokensPerChunk(tokens, rowBytes);
            const std::uint64_t bytes = static_cast<std::uint64_t>(block) * rowBytes;
            EXPECT_GE(bytes, 256U << 10) << tokens << " tokens of " << rowBytes;
            EXPECT_LE(bytes, 1U << 20) << tokens << " tokens of " << rowBytes;
            const std::int64_t chunks = (tokens + block - 1) / block;
            EXPECT_LT(chunks * block - tokens, chunks) << "more than a row per chunk is padding";
        }
    }
}

TEST(TraceLayout, aShortPromptIsOneChunkPerHead) {
    EXPECT_EQ(tokensPerChunk(269, 64), 269);
    EXPECT_EQ(tokensPerChunk(1, 64), 1);
    EXPECT_EQ(tokensPerChunk(3, 4U << 20), 1); // a row larger than a chunk should be
}

TEST(TraceLayout, everyDocumentedDatasetSaysWhatItIs) {
    EXPECT_EQ(documentationOf("tensors/keys").axes,
              (std::vector<std::string>{"layer", "kv_head", "token", "dim"}));
    EXPECT_EQ(documentationOf("prompt/patch_box").unit, "pixel");
    EXPECT_EQ(documentationOf("scores/new_score").description, "Token score new_score");
    EXPECT_EQ(documentationOf("heads/new_metric").axes,
              (std::vector<std::string>{"layer", "kv_head"}));
    EXPECT_THROW(documentationOf("tensors/secret"), Error);
}

TEST(TraceLayout, theEndingsOfAHeadMetricSayWhichKeysItIsOf) {
    EXPECT_EQ(documentationOf("heads/anisotropy_pre_image").description,
              "Length of the mean unit key, rotary embedding undone, image tokens alone");
    EXPECT_EQ(documentationOf("heads/redundancy_cosine_text").description,
              "Mean cosine similarity of two different keys, tokens of no image alone");
    EXPECT_EQ(documentationOf("heads/spectrum_pre").axes,
              (std::vector<std::string>{"layer", "kv_head", "component"}));
    EXPECT_EQ(documentationOf("heads/new_metric_pre").description, "Head metric new_metric_pre");
}

TEST(TraceLayout, impossibleDimensionsAreRefused) {
    WriterOptions options;
    options.dimensions = {4, 4, 2, 30, 8, 31}; // more window rows than tokens
    EXPECT_THROW(checkDimensions(options), Error);
    options.dimensions = {4, 5, 2, 30, 8, 6}; // heads not a multiple of KV heads
    EXPECT_THROW(checkDimensions(options), Error);
    options.dimensions = {4, 4, 2, 30, 8, 6};
    EXPECT_NO_THROW(checkDimensions(options));
    options.windowPositions = {1, 2};
    EXPECT_THROW(checkDimensions(options), Error);
}

TEST(Hdf5Library, aDifferentLibraryAtRunTimeIsExplained) { // F141
    EXPECT_EQ(versionProblem("1.10.8", "1.10.8"), "");
    EXPECT_EQ(versionProblem("1.10.8", "1.14.3"),
              "This program was built for HDF5 1.10.8 but HDF5 1.14.3 was loaded.");
}

} // namespace ecokv::trace

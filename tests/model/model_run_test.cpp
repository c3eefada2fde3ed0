// SPDX-License-Identifier: GPL-3.0-or-later
// The demo model as callers drive it: what observers, progress and cancellation get to see, and how
// memory behaves. What the numbers are is tests/python/test_model_parity.py.

#include "base/error.h"
#include "model_fixture.h"
#include "refusal.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace ecokv::model {
namespace {

TEST_F(ModelRun, theObserverSeesEachLayerOnceWithItsCacheFilled) {
    Watcher watcher(m_cache, 3);
    s_model->prefill(words(11), m_cache, &watcher, {}, {});
    ASSERT_EQ(watcher.calls.size(), kLayers);
    for (int layer = 0; layer < kLayers; ++layer) {
        const LayerCall& call = watcher.calls[static_cast<std::size_t>(layer)];
        EXPECT_EQ(call.layer, layer);
        EXPECT_EQ(call.keys, "float32 [4, 11, 32] on cpu");
        EXPECT_EQ(call.values, "float32 [4, 11, 32] on cpu");
        EXPECT_EQ(call.queries, "float32 [8, 3, 32] on cpu");
        EXPECT_EQ(call.positions, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
        EXPECT_EQ(call.windowPositions, (std::vector<std::int64_t>{8, 9, 10}));
        EXPECT_EQ(call.cached, 11);
    }
}

/// Field cases F003 and F013: a window longer than the prompt is clamped, a window of 0 is empty.
TEST_F(ModelRun, theWindowIsClampedToThePrompt) {
    Watcher wide(m_cache, 64);
    s_model->prefill(words(5), m_cache, &wide, {}, {});
    EXPECT_EQ(wide.calls[2].queries, "float32 [8, 5, 32] on cpu");
    EXPECT_EQ(wide.calls[kLayers - 1].queries, "float32 [8, 5, 32] on cpu");
    m_cache.clear();
    Watcher none(m_cache, 0);
    s_model->prefill(words(5), m_cache, &none, {}, {});
    EXPECT_EQ(none.calls[0].queries, "float32 [8, 0, 32] on cpu");
    EXPECT_TRUE(none.calls[0].windowPositions.empty());
}

/// What the observer asks for must not change what the model computes.
TEST_F(ModelRun, logitsDoNotDependOnTheWindowAskedFor) {
    const std::vector<float> plain = s_model->prefill(words(40), m_cache, nullptr, {}, {});
    m_cache.clear();
    Watcher watcher(m_cache, 16);
    const std::vector<float> watched = s_model->prefill(words(40), m_cache, &watcher, {}, {});
    ASSERT_EQ(plain.size(), watched.size());
    for (std::size_t i = 0; i < plain.size(); ++i) {
        ASSERT_NEAR(plain[i], watched[i], 1e-4F) << i;
    }
}

/// Field case F017: the next position is the number of tokens seen, not of rows kept.
TEST_F(ModelRun, decodingGoesOnAtTheTruePositionAfterAnEviction) {
    Watcher watcher(m_cache, 8);
    watcher.keep = 13;
    s_model->prefill(words(300), m_cache, &watcher, {}, {});
    EXPECT_EQ(m_cache.tokensSeen(), 300);
    s_model->decode(65, m_cache, {});
    for (const LayerId layer : {LayerId{0}, LayerId{kLayers - 1}}) {
        const auto positions = m_cache.positions(layer, HeadId{kKvHeads - 1});
        ASSERT_EQ(positions.size(), 14U);
        EXPECT_EQ(positions[12], 12);
        EXPECT_EQ(positions[13], 300);
    }
    EXPECT_EQ(m_cache.tokensSeen(), 301);
}

TEST_F(ModelRun, progressCountsTowerLayersThenDecoderLayers) {
    std::vector<std::string> lines;
    const auto note = [&](const Progress& p) {
        lines.push_back(p.stage + " " + std::to_string(p.done) + "/" + std::to_string(p.total));
    };
    s_model->prefill(withPicture(), m_cache, nullptr, note, {});
    EXPECT_EQ(lines, (std::vector<std::string>{"Reading pictures 1/2", "Reading pictures 2/2",
                                               "Prefill 1/6", "Prefill 2/6", "Prefill 3/6",
                                               "Prefill 4/6", "Prefill 5/6", "Prefill 6/6"}));
}

TEST_F(ModelRun, aStopIsHeardInTheTowerAndInEveryDecoderLayer) {
    const std::pair<const char*, std::int64_t> stops[] = {
        {"Reading pictures", 1}, {"Prefill", 1}, {"Prefill", 4}};
    for (const auto& [stage, done] : stops) {
        m_cache.clear();
        CancellationSource source;
        int after = 0;
        const auto stop = [&, stage = std::string(stage), done = done](const Progress& p) {
            after += source.token().isCancelled() ? 1 : 0;
            if (p.stage == stage && p.done == done) {
                source.cancel();
            }
        };
        try {
            s_model->prefill(withPicture(), m_cache, nullptr, stop, source.token());
            FAIL() << "the prefill was not stopped";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::Cancelled);
        }
        EXPECT_EQ(after, 0) << "work went on after the stop at " << stage << ' ' << done;
    }
}

TEST_F(ModelRun, aStoppedDecodeThrowsAndTheModelStaysUsable) {
    const std::vector<float> first = s_model->prefill(words(20), m_cache, nullptr, {}, {});
    CancellationSource source;
    source.cancel();
    EXPECT_THROW(s_model->decode(1, m_cache, source.token()), Error);
    m_cache.clear();
    EXPECT_EQ(s_model->prefill(words(20), m_cache, nullptr, {}, {}), first);
}

TEST_F(ModelRun, opensWithProgressInBytesAndStopsOnRequest) {
    CancellationSource source;
    std::int64_t total = 0;
    LoadOptions options;
    options.cancel = source.token();
    options.progress = [&](const Progress& p) {
        EXPECT_EQ(p.stage, "Loading weights");
        EXPECT_EQ(p.unit, "bytes");
        total = p.total;
        source.cancel();
    };
    EXPECT_THROW(Model::open(kModel, options), Error);
    EXPECT_NEAR(static_cast<double>(total), 3.73e6, 0.05e6); // model.safetensors without its header
}

TEST_F(ModelRun, refusesACacheThatIsUsedOrOfAnotherShape) {
    s_model->prefill(words(4), m_cache, nullptr, {}, {});
    EXPECT_THROW(s_model->prefill(words(4), m_cache, nullptr, {}, {}), Error);
    cache::CacheShape shape = s_model->cacheShape();
    shape.dtype = DType::BF16;
    cache::KvCache other(shape);
    EXPECT_THROW(s_model->prefill(words(4), other, nullptr, {}, {}), Error);
}

TEST_F(ModelRun, refusesIdsOutsideTheVocabularyAndEmptyPrompts) {
    Prompt prompt = words(4);
    prompt.tokenIds[2] = 260;
    try {
        s_model->prefill(prompt, m_cache, nullptr, {}, {});
        FAIL() << "id 260 was accepted";
    } catch (const Error& error) {
        EXPECT_EQ(error.message(), "Token 2 has id 260, but the vocabulary has 260 entries.");
    }
    EXPECT_THROW(s_model->prefill({}, m_cache, nullptr, {}, {}), Error);
}

/// Field case F054: both numbers are named.
TEST_F(ModelRun, refusesAPictureWithTooFewPlaceholders) {
    Prompt prompt = withPicture();
    const auto image = std::ranges::find(prompt.tokenKind, TokenKind::Image);
    *image = TokenKind::Text;
    try {
        s_model->prefill(prompt, m_cache, nullptr, {}, {});
        FAIL() << "255 placeholders were accepted";
    } catch (const Error& error) {
        EXPECT_NE(error.message().find("255 image tokens"), std::string::npos) << error.message();
        EXPECT_NE(error.message().find("256 features"), std::string::npos) << error.message();
    }
}

std::size_t heapBytes() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

/// Field case F166: in a worker thread, 200 steps leave nothing behind. Compared from the end of
/// one run to the end of the next, because the allocator's own small-block caches fill up in the
/// first; one forgotten tensor per step would be at least 200 x 500 bytes.
TEST_F(ModelRun, memoryIsFlatOverTwoHundredDecodeSteps) {
    const auto run = [&] {
        m_cache.clear();
        m_cache.reserveForDecode(200);
        s_model->prefill(words(32), m_cache, nullptr, {}, {});
        for (int step = 0; step < 200; ++step) {
            s_model->decode(step % 256, m_cache, {});
        }
        return static_cast<std::ptrdiff_t>(heapBytes());
    };
    std::thread([&] {
        const std::ptrdiff_t first = run();
        EXPECT_LT(run() - first, 16 * 1024);
    }).join();
}

/// Field case F164: the worker's own number of threads does not change the result.
TEST_F(ModelRun, aRunInAnotherThreadGivesTheSameLogits) {
    const std::vector<float> here = s_model->prefill(words(50), m_cache, nullptr, {}, {});
    m_cache.clear();
    std::vector<float> there;
    std::thread([&] { there = s_model->prefill(words(50), m_cache, nullptr, {}, {}); }).join();
    EXPECT_EQ(here, there);
}

/// What is recorded is what was used: one thread for a model this small, unless told otherwise.
TEST_F(ModelRun, saysHowManyThreadsItRunsOn) {
    EXPECT_EQ(s_model->threads(), 1);
    LoadOptions options;
    options.threads = 2;
    EXPECT_EQ(Model::open(kModel, options)->threads(), 2);
}

/// The document says JQH:397 (resources/demo-documents/documents.json).
TEST_F(ModelRun, readsTheValueOffTheDemoDocument) {
    const Prompt prompt = s_model->prepare({"JQH?", {kPicture}});
    EXPECT_EQ(prompt.imageTokens(), 256);
    std::vector<float> logits = s_model->prefill(prompt, m_cache, nullptr, {}, {});
    Sampler greedy({});
    std::vector<TokenId> answer;
    const std::vector<TokenId> ends = s_model->endTokens();
    while (answer.size() < 8 && (answer.empty() || !std::ranges::count(ends, answer.back()))) {
        answer.push_back(greedy.next(logits));
        logits = s_model->decode(answer.back(), m_cache, {});
    }
    EXPECT_EQ(s_model->decodeText(answer), "397");
    EXPECT_EQ(answer.back(), 257);
    EXPECT_EQ(s_model->tokenText(answer.front()), "3");
}

/// The model has 260 ids, its tokenizer 259. transformers 5.2.0 decodes [51, 259, 57, 55] to "397",
/// [259] to "", and [226, 259, 130] to one U+FFFD: the two bytes around the unused id meet.
TEST_F(ModelRun, idsOfThePaddedVocabularyAreNoText) {
    ASSERT_EQ(s_model->info().vocabulary, 260);
    EXPECT_EQ(s_model->decodeText({51, 259, 57, 55}), "397");
    EXPECT_EQ(s_model->decodeText({259}), "");
    EXPECT_EQ(s_model->decodeText({226, 259, 130}), "\ufffd");
    EXPECT_EQ(s_model->tokenText(259), "");
    s_model->prefill(words(4), m_cache, nullptr, {}, {});
    EXPECT_EQ(s_model->decode(259, m_cache, {}).size(), 260U); // it has an embedding as any other
}

TEST_F(ModelRun, idsOutsideTheModelsVocabularyAreRefused) {
    EXPECT_SAYS(refusal([] { s_model->decodeText({51, 260}); }), "Token id 260");
    EXPECT_SAYS(refusal([] { s_model->tokenText(260); }), "Token id 260");
    EXPECT_SAYS(refusal([] { s_model->decodeText({-1}); }), "Token id -1");
    EXPECT_SAYS(refusal([] { s_model->tokenText(-1); }), "Token id -1");
    EXPECT_SAYS(refusal([this] {
                    s_model->prefill(words(4), m_cache, nullptr, {}, {});
                    s_model->decode(260, m_cache, {});
                }),
                "has id 260");
}

} // namespace
} // namespace ecokv::model

// SPDX-License-Identifier: GPL-3.0-or-later
#include "base/error.h"
#include "trace/write_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>

namespace ecokv::trace {

using namespace std::chrono_literals;

TEST(WriteQueue, carriesOutTasksInOrderOnOneThread) {
    std::vector<int> order;
    std::vector<std::thread::id> threads;
    {
        WriteQueue queue(1000);
        for (int i = 0; i < 100; ++i) {
            queue.push(10, [&, i] {
                order.push_back(i);
                threads.push_back(std::this_thread::get_id());
            });
        }
        queue.drain();
    }
    ASSERT_EQ(order.size(), 100U);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
        EXPECT_EQ(threads[static_cast<std::size_t>(i)], threads[0]);
    }
    EXPECT_NE(threads[0], std::this_thread::get_id());
}

TEST(WriteQueue, holdsTheCallerBackWhenTheDiskIsSlow) {
    std::promise<void> release;
    std::shared_future<void> released = release.get_future().share();
    std::atomic<int> pushed = 0;
    WriteQueue queue(100);
    auto caller = std::async(std::launch::async, [&] {
        for (int i = 0; i < 10; ++i) {
            queue.push(40, [released] { released.wait(); });
            ++pushed;
        }
    });
    EXPECT_EQ(caller.wait_for(100ms), std::future_status::timeout);
    EXPECT_EQ(pushed, 2); // 80 of 100 bytes; a third would make 120
    release.set_value();
    caller.get();
    queue.drain();
    EXPECT_EQ(pushed, 10);
    EXPECT_LE(queue.largestBacklog(), 100U);
}

TEST(WriteQueue, letsOneTaskLargerThanTheBoundIn) {
    WriteQueue queue(10);
    bool done = false;
    queue.push(1000, [&] { done = true; });
    queue.drain();
    EXPECT_TRUE(done);
}

TEST(WriteQueue, throwsTheErrorOfATaskAtTheNextCallAndDropsTheRest) {
    WriteQueue queue(100);
    std::promise<void> failed;
    bool ranAfter = false;
    queue.push(1, [&] {
        failed.set_value();
        throwBadInput("The disk is full.");
    });
    failed.get_future().wait();
    try {
        for (int i = 0; i < 1000; ++i) { // the error may still be on its way
            queue.push(1, [&] { ranAfter = true; });
            std::this_thread::sleep_for(1ms);
        }
        FAIL() << "no push reported the error";
    } catch (const Error& error) {
        EXPECT_EQ(error.message(), "The disk is full.");
    }
    EXPECT_THROW(queue.drain(), Error);
    EXPECT_FALSE(ranAfter);
}

TEST(WriteQueue, destructionCarriesOutWhatWaits) {
    int done = 0;
    {
        WriteQueue queue(1000);
        for (int i = 0; i < 20; ++i) {
            queue.push(1, [&] {
                std::this_thread::sleep_for(1ms);
                ++done;
            });
        }
    }
    EXPECT_EQ(done, 20);
}

TEST(BufferPool, givesTheSameMemoryAgainOnceItIsFree) {
    const auto pool = std::make_shared<BufferPool>();
    auto first = pool->take(1000);
    const std::byte* address = first.get();
    const auto second = pool->take(1000);
    EXPECT_NE(second.get(), address);
    first.reset();
    EXPECT_EQ(pool->take(900).get(), address); // fits, and wastes little
    EXPECT_NE(pool->take(100).get(), address); // would waste most of it
}

TEST(BufferPool, mayDieBeforeItsBuffers) {
    auto pool = std::make_shared<BufferPool>();
    const auto buffer = pool->take(16);
    pool.reset();
    buffer.get()[15] = std::byte{7};
    EXPECT_EQ(buffer.get()[15], std::byte{7});
}

} // namespace ecokv::trace

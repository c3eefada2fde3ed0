// SPDX-License-Identifier: GPL-3.0-or-later
#include "simt_host.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <ucontext.h>

namespace ecokv::kernels::simt {

namespace {

constexpr int kWarpSize = 32;
constexpr std::size_t kStackBytes = 128 * 1024;

enum class State { Ready, WaitsForBlock, WaitsForWarp, Done };

struct Fiber {
    ucontext_t context{};
    State state = State::Ready;
};

/// One block at a time: its fibers, and who waits for what.
class Block {
public:
    Block(int threads, const std::function<void()>& body)
        : m_body(body), m_fibers(static_cast<std::size_t>(threads)),
          m_exchanged(static_cast<std::size_t>(threads)), m_given(m_exchanged.size()),
          m_stacks(static_cast<std::size_t>(threads) * kStackBytes) {}

    void run(std::int64_t x, std::int64_t y);
    void wait(State reason);
    double exchangeWith(double value, int mask);
    void gather(const void* mine, std::size_t bytes, void* all);

    int current = 0;
    int x = 0, y = 0;
    int size() const { return static_cast<int>(m_fibers.size()); }

private:
    static void enter();
    void start(int index);
    bool anyReady();
    /// Lets the waiting threads [begin, end) go on when all of them wait for `reason`.
    bool release(int begin, int end, State reason);

    const std::function<void()>& m_body;
    std::vector<Fiber> m_fibers;
    std::vector<double> m_exchanged;
    std::vector<const void*> m_given;
    std::vector<char> m_stacks;
    ucontext_t m_scheduler{};
};

Block* active = nullptr; // the shim runs on one host thread

void Block::enter() {
    active->m_body();
    active->wait(State::Done);
}

void Block::start(int index) {
    Fiber& fiber = m_fibers[static_cast<std::size_t>(index)];
    fiber.state = State::Ready;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = m_stacks.data() + static_cast<std::size_t>(index) * kStackBytes;
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Block::enter, 0);
}

void Block::wait(State reason) {
    Fiber& self = m_fibers[static_cast<std::size_t>(current)];
    self.state = reason;
    swapcontext(&self.context, &m_scheduler);
}

bool Block::release(int begin, int end, State reason) {
    for (int i = begin; i < end; ++i) {
        if (m_fibers[static_cast<std::size_t>(i)].state != reason) {
            return false;
        }
    }
    for (int i = begin; i < end; ++i) {
        m_fibers[static_cast<std::size_t>(i)].state = State::Ready;
    }
    return true;
}

bool Block::anyReady() {
    bool ready = release(0, size(), State::WaitsForBlock);
    for (int begin = 0; begin < size(); begin += kWarpSize) {
        ready = release(begin, begin + kWarpSize, State::WaitsForWarp) || ready;
    }
    for (const Fiber& fiber : m_fibers) {
        ready = ready || fiber.state == State::Ready;
    }
    return ready;
}

void Block::run(std::int64_t blockX, std::int64_t blockY) {
    x = static_cast<int>(blockX);
    y = static_cast<int>(blockY);
    for (int i = 0; i < size(); ++i) {
        start(i);
    }
    while (anyReady()) {
        for (current = 0; current < size(); ++current) {
            Fiber& fiber = m_fibers[static_cast<std::size_t>(current)];
            if (fiber.state == State::Ready) {
                swapcontext(&m_scheduler, &fiber.context);
            }
        }
    }
    for (int i = 0; i < size(); ++i) {
        if (m_fibers[static_cast<std::size_t>(i)].state != State::Done) {
            throw std::logic_error("thread " + std::to_string(i) + " of block (" +
                                   std::to_string(x) + ", " + std::to_string(y) +
                                   ") waits at a barrier that others never reach");
        }
    }
}

double Block::exchangeWith(double value, int mask) {
    m_exchanged[static_cast<std::size_t>(current)] = value;
    wait(State::WaitsForWarp); // everyone has written
    const double result = m_exchanged[static_cast<std::size_t>(current ^ mask)];
    wait(State::WaitsForWarp); // everyone has read
    return result;
}

void Block::gather(const void* mine, std::size_t bytes, void* all) {
    m_given[static_cast<std::size_t>(current)] = mine;
    wait(State::WaitsForWarp); // everyone has given
    const int first = current / kWarpSize * kWarpSize;
    for (int lane = 0; lane < kWarpSize; ++lane) {
        std::memcpy(static_cast<std::byte*>(all) + static_cast<std::size_t>(lane) * bytes,
                    m_given[static_cast<std::size_t>(first + lane)], bytes);
    }
    wait(State::WaitsForWarp); // everyone has read
}

} // namespace

int thread() {
    return active->current;
}

int threads() {
    return active->size();
}

int blockX() {
    return active->x;
}

int blockY() {
    return active->y;
}

void sync() {
    active->wait(State::WaitsForBlock);
}

double exchange(double value, int mask) {
    return active->exchangeWith(value, mask);
}

float exchange(float value, int mask) {
    return static_cast<float>(active->exchangeWith(static_cast<double>(value), mask));
}

void gather(const void* mine, std::size_t bytes, void* all) {
    active->gather(mine, bytes, all);
}

int take(int* counter) {
    return (*counter)++;
}

void publish(int* flag) {
    *flag = 1;
}

void await(const int* flag) {
    if (*flag == 0) {
        throw std::logic_error("a block waits for one that runs later");
    }
}

void launchOnHost(std::int64_t x, std::int64_t y, int threads, const std::function<void()>& body) {
    if (threads <= 0 || threads % kWarpSize != 0) {
        throw std::logic_error("a block of " + std::to_string(threads) +
                               " threads is not made of whole warps");
    }
    const auto block = std::make_unique<Block>(threads, body);
    active = block.get();
    try {
        for (std::int64_t row = 0; row < y; ++row) {
            for (std::int64_t column = 0; column < x; ++column) {
                block->run(column, row);
            }
        }
    } catch (...) {
        active = nullptr;
        throw;
    }
    active = nullptr;
}

} // namespace ecokv::kernels::simt

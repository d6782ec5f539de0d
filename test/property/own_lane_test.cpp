// SPDX-License-Identifier: Apache-2.0
//
// Random messages between threads of one rank, each sent beside whoever is inside where that goes,
// else by the rank's executor, and received with and without wildcards while they come. Which
// messages two threads send first is open; what each sends by itself must be matched as two plain
// lists would match it: no receive takes a message where an earlier one of the same thread fits
// that was taken by a later receive, or by none (MPI-5.0 section 3.5).
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <thread>
#include <vector>

#include "engine/copy_job.hpp"
#include "engine/own_lane.hpp"
#include "engine/wait.hpp"
#include "platform/cpu.hpp"
#include "protocol/match.hpp"
#include "unit/engine/in_process_node.hpp"

namespace headway::engine {
namespace {

constexpr std::uint32_t rank = 0;

struct Message {
    std::int32_t tag;
    std::uint32_t bytes;
};

struct Program {
    std::vector<std::vector<Message>> of_threads;
    std::vector<std::int32_t> wanted;  ///< tags of receives in posting order, wildcards among them
    unsigned burst = 1;                ///< receives posted at a time
};

/// What every message begins with.
struct Label {
    std::uint32_t thread;
    std::uint32_t number;
};

constexpr std::uint32_t bytes_max = 40'000;

rc::Gen<Program> any_program()
{
    // In half a line, in one, beside it, and offered.
    const auto bytes = rc::gen::weightedElement<std::uint32_t>(
        {{8, sizeof(Label)}, {2, 40}, {2, 1000}, {1, 9000}, {1, bytes_max}});
    const auto message = rc::gen::construct<Message>(rc::gen::inRange(0, 3), bytes);
    const auto messages = rc::gen::container<std::vector<Message>>(200, message);
    const auto threads = rc::gen::container<std::vector<std::vector<Message>>>(3, messages);
    const auto tag =
        rc::gen::weightedElement<std::int32_t>({{2, 0}, {2, 1}, {2, 2}, {3, protocol::any_tag}});
    return rc::gen::construct<Program>(threads,
                                       rc::gen::container<std::vector<std::int32_t>>(600, tag),
                                       rc::gen::inRange(1U, 100U));
}

/// A receive, and the message that it has taken.
struct Receive {
    std::int32_t wanted = 0;
    std::vector<std::byte> buffer;
    Op* op = nullptr;
    bool is_done = false;
    Label label{};
    std::int32_t tag = 0;
};

class Exchange {
  public:
    explicit Exchange(const Program& program) : program_(program)
    {
        node_.lock(rank).enable(0);
        std::vector<std::thread> threads;
        for (std::uint32_t thread = 0; thread < program_.of_threads.size(); ++thread) {
            threads.emplace_back([this, thread] { send_all(thread); });
        }
        receive_all();
        for (std::thread& thread : threads) {
            thread.join();
        }
    }

    void check()
    {
        std::size_t sent = 0;
        for (const auto& messages : program_.of_threads) {
            sent += messages.size();
        }
        RC_ASSERT(taken_.size() == sent);
        for (std::size_t later = 0; later < receives_.size(); ++later) {
            for (std::size_t earlier = 0; earlier < later; ++earlier) {
                check_pair(receives_[earlier], receives_[later]);
            }
        }
        for (const std::uint64_t times : times_taken()) {
            RC_ASSERT(times == 1U);
        }
    }

    std::uint64_t posted_beside() const { return beside_; }

  private:
    static bool fits(const Receive& receive, std::int32_t tag)
    {
        return receive.wanted == protocol::any_tag || receive.wanted == tag;
    }

    /// A receive that was given up stands for one that is pending still.
    static void check_pair(const Receive& earlier, const Receive& later)
    {
        if (!later.is_done || !fits(earlier, later.tag)) {
            return;
        }
        RC_ASSERT(earlier.is_done);
        if (earlier.label.thread == later.label.thread) {
            RC_ASSERT(earlier.label.number < later.label.number);
        }
    }

    std::vector<std::uint64_t> times_taken() const
    {
        std::vector<std::uint64_t> times;
        std::vector<std::size_t> first_of;
        for (const auto& messages : program_.of_threads) {
            first_of.push_back(times.size());
            times.resize(times.size() + messages.size());
        }
        for (const Receive* receive : taken_) {
            ++times[first_of[receive->label.thread] + receive->label.number];
        }
        return times;
    }

    void send_all(std::uint32_t thread)
    {
        RankLock& lock = node_.lock(rank);
        std::vector<std::byte> bytes(bytes_max);
        std::uint32_t number = 0;
        for (const Message& message : program_.of_threads[thread]) {
            const Label label{thread, number++};
            std::memcpy(bytes.data(), &label, sizeof label);
            const transport::FrameHeader header{
                .context = 0, .source = static_cast<std::int32_t>(rank), .tag = message.tag};
            if (message.bytes <= node_.node().knobs.eager_limit &&
                post_beside(node_.node(), node_.driver(rank).rank(), header, bytes.data(),
                            message.bytes)) {
                beside_.fetch_add(1, std::memory_order_relaxed);  // relaxed: a statistic
                continue;
            }
            lock.lock();
            Op* op = node_.start_send(rank, rank, message.tag, bytes.data(), message.bytes);
            wait_for(node_.driver(rank), op);
            node_.driver(rank).destroy_op(op);
            lock.unlock();
        }
        lock.lock();
        ++threads_done_;
        // Who waits for any event looks again.
        node_.driver(rank).rank().ownership.notify_parked();
        lock.unlock();
    }

    Receive& post(std::int32_t wanted)
    {
        Receive& receive = receives_.emplace_back();
        receive.wanted = wanted;
        receive.buffer.resize(bytes_max);
        receive.op = node_.start_receive(rank, protocol::any_source, wanted, receive.buffer.data(),
                                         bytes_max);
        return receive;
    }

    void take(Receive& receive)
    {
        receive.is_done = !receive.op->is_cancelled;
        if (receive.is_done) {
            std::memcpy(&receive.label, receive.buffer.data(), sizeof(Label));
            receive.tag = receive.op->status_tag;
            taken_.push_back(&receive);
        }
        node_.driver(rank).destroy_op(receive.op);
    }

    bool are_all_sent() const { return threads_done_ == program_.of_threads.size(); }

    /// Posts the program's receives in bursts, then gives up those that nothing fits any more, and
    /// takes the rest with wildcards.
    void receive_all()
    {
        RankLock& lock = node_.lock(rank);
        Driver& driver = node_.driver(rank);
        std::size_t posted = 0;
        while (posted < program_.wanted.size()) {
            lock.lock();
            for (unsigned i = 0; i < program_.burst && posted < program_.wanted.size(); ++i) {
                post(program_.wanted[posted++]);
            }
            driver.progress();
            while (copy_next(driver, CopyShare::all)) {
            }
            lock.unlock();
            platform::yield_core();
        }
        lock.lock();
        // Long messages need their receives; so wildcards are posted until nobody sends any more.
        while (!are_all_sent()) {
            Op* const op = post(protocol::any_tag).op;
            wait_until(driver, [&] { return op->word.is_complete() || are_all_sent(); });
        }
        node_.settle();
        for (Receive& receive : receives_) {
            if (!receive.op->word.is_complete()) {
                EXPECT_TRUE(protocol::cancel_receive(driver, receive.op));
            }
            take(receive);
        }
        transport::FrameHeader any{};
        any.source = protocol::any_source;
        any.tag = protocol::any_tag;
        while (protocol::probe(driver, any) != nullptr) {
            Receive& receive = post(protocol::any_tag);
            node_.settle();
            take(receive);
        }
        lock.unlock();
    }

    const Program& program_;
    InProcessNode node_{1};
    std::deque<Receive> receives_;
    std::vector<const Receive*> taken_;
    std::size_t threads_done_ = 0;  ///< under the rank's lock
    std::atomic<std::uint64_t> beside_{0};
};

TEST(OwnLaneTest, ThreadsOfARankMatchAsASequentialModelSays)
{
    std::uint64_t posted_beside = 0;
    const bool holds = rc::check([&] {
        const Program program = *any_program();
        Exchange exchange(program);
        exchange.check();
        posted_beside += exchange.posted_beside();
    });
    EXPECT_TRUE(holds);
    EXPECT_GT(posted_beside, 1000U) << "the tested way was hardly taken";
}

}  // namespace
}  // namespace headway::engine

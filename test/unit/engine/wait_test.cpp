// SPDX-License-Identifier: Apache-2.0
//
// The one wait, with a thread a rank and with several threads in a rank. A test knows that a thread
// sleeps by the rank's own words, never by the clock.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <thread>
#include <vector>

#include "engine/shared_task.hpp"
#include "engine/wait.hpp"
#include "in_process_node.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {
namespace {

void until(const std::function<bool()>& holds)
{
    while (!holds()) {
        platform::yield_core();
    }
}

/// The rank's progress owner sleeps on its word.
void until_parked(InProcessNode& node, std::uint32_t rank)
{
    until([&] { return node.driver(rank).rank().ownership.is_parked(); });
}

TEST(Wait, AMessageWakesASleeper)
{
    InProcessNode node(2);
    const auto parks = [&] { return node.driver(1).rank().counters.parks.load(); };
    // Who sees the message between its word's mark and its sleep does not sleep in that round.
    constexpr std::uint32_t rounds_max = 5000;
    for (std::uint32_t round = 0; parks() < 50 && round < rounds_max; ++round) {
        std::uint32_t got = 0;
        Op* receive = node.start_receive(1, 0, 1, &got, sizeof got);
        std::thread sleeper([&] { wait_for(node.driver(1), receive); });
        until_parked(node, 1);
        const std::uint32_t sent = round + 1;
        Op* send = node.start_send(0, 1, 1, &sent, sizeof sent);
        sleeper.join();
        EXPECT_EQ(got, sent);
        node.driver(0).destroy_op(send);
        node.driver(1).destroy_op(receive);
    }
    EXPECT_GE(parks(), 50U);
}

/// A wait looks for a time that is never over, unless no yields are asked for.
config::Knobs patient(std::uint64_t yields)
{
    config::Knobs knobs;
    knobs.spin_us = 600'000'000;
    knobs.yields = yields;
    return knobs;
}

TEST(Wait, LooksForAWhileBeforeItSleepsOnASharedCore)
{
    constexpr std::uint64_t looks_needed = 500;
    InProcessNode node(2, patient(1));
    std::uint32_t got = 0;
    Op* receive = node.start_receive(1, 0, 1, &got, sizeof got);
    std::uint64_t looks = 0;
    std::atomic<bool> is_over{false};
    std::thread looker([&] {
        wait_until(
            node.driver(1), [&] { return ++looks >= looks_needed || receive->word.is_complete(); },
            std::span<Op* const>(&receive, 1), 1);
        is_over.store(true, std::memory_order_release);
    });
    until([&] {
        return is_over.load(std::memory_order_acquire) ||
               node.driver(1).rank().ownership.is_parked();
    });
    const std::uint32_t sent = 1;
    (void)node.start_send(0, 1, 1, &sent, sizeof sent);  // wakes one that sleeps after all
    looker.join();
    EXPECT_GE(looks, looks_needed);
    EXPECT_EQ(node.driver(1).rank().counters.parks.load(), 0U);
}

TEST(Wait, SleepsAtOnceWhereNoYieldsAreAskedFor)
{
    InProcessNode node(2, patient(0));
    std::uint32_t got = 0;
    Op* receive = node.start_receive(1, 0, 1, &got, sizeof got);
    std::thread sleeper([&] { wait_for(node.driver(1), receive); });
    until_parked(node, 1);
    const std::uint32_t sent = 1;
    (void)node.start_send(0, 1, 1, &sent, sizeof sent);
    sleeper.join();
    EXPECT_EQ(got, sent);
}

TEST(Wait, TheReceiverWakesTheSenderOfAnOffer)
{
    for (const Distance distance : {Distance::together, Distance::apart}) {
        InProcessNode node(2, {}, distance);
        std::vector<std::byte> sent(300'000, std::byte{3});
        std::vector<std::byte> got(sent.size());
        Op* send = node.start_send(0, 1, 1, sent.data(), sent.size());
        std::thread sleeper([&] { wait_for(node.driver(0), send); });
        until_parked(node, 0);
        Op* receive = node.start_receive(1, 0, 1, got.data(), got.size());
        wait_for(node.driver(1), receive);
        sleeper.join();
        EXPECT_EQ(got, sent);
    }
}

TEST(Wait, RoomInALaneWakesASender)
{
    InProcessNode node(2);
    const std::vector<std::byte> block(8000);
    std::vector<Op*> sends;
    for (int i = 0; i < 50; ++i) {
        sends.push_back(node.start_send(0, 1, 1, block.data(), block.size()));
    }
    std::thread sleeper([&] { wait_for(node.driver(0), sends.back()); });
    until_parked(node, 0);
    std::vector<std::byte> buffer(block.size());
    for (int i = 0; i < 50; ++i) {
        wait_for(node.driver(1), node.start_receive(1, 0, 1, buffer.data(), buffer.size()));
    }
    sleeper.join();
    EXPECT_TRUE(sends.back()->word.is_complete());
}

TEST(Wait, WaitsForAsManyOpsAsAreNeeded)
{
    constexpr std::int32_t count = 5;
    for (std::int32_t needed = 1; needed <= count; ++needed) {
        InProcessNode node(2);
        std::uint32_t got[count] = {};
        Op* ops[count];
        for (std::int32_t tag = 0; tag < count; ++tag) {
            ops[tag] = node.start_receive(1, 0, tag, &got[tag], 4);
        }
        const auto complete = [&] {
            return std::count_if(ops, ops + count, [](Op* op) { return op->word.is_complete(); });
        };
        std::atomic<bool> is_over{false};
        std::thread sleeper([&] {
            wait_until(node.driver(1), [&] { return complete() >= needed; }, ops, needed);
            is_over.store(true, std::memory_order_release);
        });
        const std::uint32_t sent = 1;
        for (std::int32_t i = 0; i < needed; ++i) {
            until_parked(node, 1);
            EXPECT_FALSE(is_over.load(std::memory_order_acquire));
            (void)node.start_send(0, 1, (i * 3 + 2) % count, &sent, 4);
            until([&] { return complete() == i + 1; });
        }
        sleeper.join();
        EXPECT_EQ(complete(), needed);
    }
}

TEST(Wait, OpsThatAreOverAlreadyWakeNobody)
{
    InProcessNode node(2);
    for (const std::int32_t needed : {1, 5}) {
        Op* const receive = node.driver(1).create_op(OpKind::receive);
        Op* const ops[] = {nullptr, nullptr, receive, nullptr, nullptr};
        std::thread sleeper([&] {
            wait_until(node.driver(1), [&] { return receive->word.is_complete(); }, ops, needed);
        });
        until_parked(node, 1);
        // No message wakes the sleeper, only the op: a helper has ended it.
        node.driver(0).complete(receive);
        sleeper.join();
        node.driver(1).destroy_op(receive);
    }
}

TEST(Wait, RanksThatWaitForEachOtherGoOn)
{
    constexpr std::uint32_t ranks = 5;
    constexpr int rounds = 200;
    InProcessNode node(ranks);
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        threads.emplace_back([&, rank] {
            // A token goes round; everyone but one sleeps.
            for (int round = 0; round < rounds; ++round) {
                int token = round;
                const auto left = static_cast<std::int32_t>((rank + ranks - 1) % ranks);
                if (rank != 0) {
                    Op* op = node.start_receive(rank, left, round, &token, sizeof token);
                    wait_for(node.driver(rank), op);
                    node.driver(rank).destroy_op(op);
                }
                ++token;
                Op* send = node.start_send(rank, (rank + 1) % ranks, round, &token, sizeof token);
                wait_for(node.driver(rank), send);
                node.driver(rank).destroy_op(send);
                if (rank == 0) {
                    Op* op = node.start_receive(rank, left, round, &token, sizeof token);
                    wait_for(node.driver(rank), op);
                    node.driver(rank).destroy_op(op);
                    EXPECT_EQ(token, round + static_cast<int>(ranks));
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// MPI_THREAD_MULTIPLE: one thread of the rank sleeps on its word and makes progress for all, the
// others sleep in slots of their own.
TEST(Wait, ThreadsOfARankWakeForTheirOwnOps)
{
    constexpr std::int32_t threads_count = 4;
    for (int round = 0; round < 20; ++round) {
        InProcessNode node(2);
        RankLock& lock = node.lock(1);
        lock.enable(0);
        std::uint32_t got[threads_count] = {};
        Op* ops[threads_count];
        for (std::int32_t tag = 0; tag < threads_count; ++tag) {
            ops[tag] = node.start_receive(1, 0, tag, &got[tag], 4);
        }
        std::vector<std::thread> threads;
        for (Op* op : ops) {
            threads.emplace_back([&, op] {
                lock.lock();
                wait_for(node.driver(1), op);
                lock.unlock();
            });
        }
        for (std::int32_t i = 0; i < threads_count; ++i) {
            until_parked(node, 1);
            const std::int32_t tag = (i + round) % threads_count;
            const auto sent = static_cast<std::uint32_t>(tag + 1);
            Op* send = node.start_send(0, 1, tag, &sent, 4);
            until([&] { return ops[tag]->word.is_complete(); });
            node.driver(0).destroy_op(send);
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        for (std::int32_t tag = 0; tag < threads_count; ++tag) {
            EXPECT_EQ(got[tag], static_cast<std::uint32_t>(tag + 1));
        }
    }
}

// Each piece of the task ends when all have begun one, so it takes all threads to end it.
TEST(Wait, ThreadsThatWaitTakePartInATask)
{
    constexpr std::int32_t sleepers = 3;
    InProcessNode node(2);
    node.node().is_oversubscribed = false;
    RankLock& lock = node.lock(1);
    lock.enable(0);
    for (int round = 0; round < 20; ++round) {
        std::uint32_t got[sleepers] = {};
        Op* ops[sleepers];
        std::vector<std::thread> threads;
        lock.lock();
        for (std::int32_t tag = 0; tag < sleepers; ++tag) {
            ops[tag] = node.start_receive(1, 0, tag, &got[tag], 4);
        }
        lock.unlock();
        for (Op* op : ops) {
            threads.emplace_back([&, op] {
                lock.lock();
                wait_for(node.driver(1), op);
                lock.unlock();
            });
        }
        until_parked(node, 1);
        until([&] { return node.driver(1).rank().waiting_threads.load() == sleepers; });
        std::atomic<std::int32_t> begun{0};
        sync::Task task(
            sleepers + 1, 1,
            [](const void* given, std::uint64_t, std::uint64_t) {
                auto& count = *static_cast<std::atomic<std::int32_t>*>(const_cast<void*>(given));
                count.fetch_add(1);
                until([&] { return count.load() == sleepers + 1; });
            },
            &begun);
        lock.lock();
        run_shared(node.driver(1), task);
        lock.unlock();
        EXPECT_EQ(begun.load(), sleepers + 1);
        EXPECT_FALSE(node.node().tasks.has_task());
        for (std::int32_t tag = 0; tag < sleepers; ++tag) {
            const auto sent = static_cast<std::uint32_t>(tag + 1);
            Op* send = node.start_send(0, 1, tag, &sent, 4);
            until([&] { return ops[tag]->word.is_complete(); });
            node.driver(0).destroy_op(send);
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        for (Op* op : ops) {
            node.driver(1).destroy_op(op);
        }
    }
}

// What one thread gives its own rank wakes the one that sleeps for it.
TEST(Wait, AMessageToItselfWakesAnotherThread)
{
    InProcessNode node(2);
    RankLock& lock = node.lock(1);
    lock.enable(0);
    std::uint32_t got = 0;
    Op* receive = node.start_receive(1, 1, 6, &got, sizeof got);
    std::thread sleeper([&] {
        lock.lock();
        wait_for(node.driver(1), receive);
        lock.unlock();
    });
    until_parked(node, 1);
    const std::uint32_t sent = 1;
    lock.lock();
    Op* send = node.start_send(1, 1, 6, &sent, sizeof sent);
    lock.unlock();
    sleeper.join();
    EXPECT_EQ(got, sent);
    node.driver(1).destroy_op(send);
    node.driver(1).destroy_op(receive);
}

// A collective that one thread starts goes on while another thread of the rank sleeps.
TEST(Wait, WhatACollectiveCanDoNextWakesAnotherThread)
{
    config::Knobs knobs;
    InProcessNode node(2, knobs);
    RankLock& lock = node.lock(0);
    lock.enable(0);
    std::uint32_t got = 0;
    Op* receive = node.start_receive(0, 1, 6, &got, sizeof got);
    // The message is here before its receive, so the graph's first node is over when it starts.
    Graph graphs[2];
    std::uint32_t words[2][2] = {{0, 0}, {5, 0}};
    const Extent first{Space::receive, 0, 1};
    const Extent second{Space::receive, 1, 1};
    const auto arrived = graphs[0].receive(1, 0, first);
    graphs[0].order(arrived, graphs[0].send(1, 1, first));
    graphs[1].send(0, 0, first);
    graphs[1].receive(0, 1, second);
    Op* ops[2];
    GraphTemplate* stored[2];
    for (std::uint32_t rank : {1U, 0U}) {
        stored[rank] = store_graph(node.driver(rank).allocator(), graphs[rank]);
    }
    ops[1] = start_graph(node.driver(1), *stored[1], node.world(1), {nullptr, words[1], 1, 4, {}});
    std::thread sleeper([&] {
        lock.lock();
        wait_for(node.driver(0), receive);
        lock.unlock();
    });
    until_parked(node, 0);
    lock.lock();
    ops[0] = start_graph(node.driver(0), *stored[0], node.world(0), {nullptr, words[0], 1, 4, {}});
    lock.unlock();
    wait_for(node.driver(1), ops[1]);
    EXPECT_EQ(words[1][1], 5U);
    const std::uint32_t sent = 9;
    (void)node.start_send(1, 0, 6, &sent, sizeof sent);
    sleeper.join();
    EXPECT_EQ(got, sent);
}

}  // namespace
}  // namespace headway::engine

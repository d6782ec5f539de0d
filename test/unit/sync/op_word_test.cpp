// SPDX-License-Identifier: Apache-2.0
#include "sync/op_word.hpp"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "process_pair.hpp"

namespace headway::sync {
namespace {

Waiter waiter_of(ThreadSlot* slot)
{
    Waiter waiter;
    waiter.slot = slot;
    return waiter;
}

void fire_all(Waiter* chain)
{
    while (chain != nullptr) {
        Waiter* const next = chain->next;
        fire_thread(chain);
        chain = next;
    }
}

TEST(OpWord, CompletionReturnsWaitersInTheOrderOfAttaching)
{
    OpWord op;
    Waiter waiters[3];
    for (Waiter& each : waiters) {
        EXPECT_EQ(op.attach(&each), AttachResult::attached);
    }
    EXPECT_FALSE(op.is_complete());
    Waiter* const chain = op.complete();
    EXPECT_TRUE(op.is_complete());
    ASSERT_EQ(chain, &waiters[0]);
    ASSERT_EQ(chain->next, &waiters[1]);
    ASSERT_EQ(chain->next->next, &waiters[2]);
    EXPECT_EQ(waiters[2].next, nullptr);
    EXPECT_EQ(op.attach(&waiters[0]), AttachResult::already_complete);
    op.reset();
    EXPECT_FALSE(op.is_complete());
    EXPECT_EQ(op.complete(), nullptr);
}

TEST(OpWord, DetachTakesAnyWaiterOff)
{
    for (int taken = 0; taken < 3; ++taken) {
        OpWord op;
        Waiter waiters[3];
        for (Waiter& each : waiters) {
            (void)op.attach(&each);
        }
        Waiter* orphans = nullptr;
        EXPECT_EQ(op.detach(&waiters[taken], &orphans), DetachResult::detached);
        EXPECT_EQ(orphans, nullptr);
        std::vector<Waiter*> left;
        for (Waiter* each = op.complete(); each != nullptr; each = each->next) {
            left.push_back(each);
        }
        ASSERT_EQ(left.size(), 2U);
        EXPECT_EQ(left[0], &waiters[taken == 0 ? 1 : 0]);
        EXPECT_EQ(left[1], &waiters[taken == 2 ? 1 : 2]);
        EXPECT_EQ(op.detach(left[0], &orphans), DetachResult::completed_meanwhile);
    }
}

TEST(ThreadSlot, OnlyTheLastCompletionSignals)
{
    ThreadSlot slot;
    OpWord ops[3];
    Waiter waiters[3];
    slot.arm(3, 3);
    for (int each = 0; each < 3; ++each) {
        waiters[each] = waiter_of(&slot);
        (void)ops[each].attach(&waiters[each]);
    }
    fire_all(ops[0].complete());
    fire_all(ops[2].complete());
    EXPECT_FALSE(slot.is_satisfied());
    EXPECT_TRUE(slot.has_pins());
    ASSERT_TRUE(slot.prepare_sleep(Bed::own_slot));
    EXPECT_FALSE(slot.sleep(platform::Deadline::after_ns(1'000'000)));
    EXPECT_FALSE(slot.end_sleep());
    fire_all(ops[1].complete());
    EXPECT_FALSE(slot.prepare_sleep(Bed::own_slot));
    EXPECT_TRUE(slot.is_satisfied());
    EXPECT_TRUE(slot.drain_pins());
}

TEST(ThreadSlot, ErrorEndsTheWaitAndLaterCompletionsAreHarmless)
{
    ThreadSlot slot;
    Waiter waiters[2] = {waiter_of(&slot), waiter_of(&slot)};
    slot.arm(5, 2);
    fire_thread(&waiters[0], true);
    EXPECT_TRUE(slot.is_satisfied());
    EXPECT_TRUE(slot.end_sleep());
    fire_thread(&waiters[1]);
    EXPECT_TRUE(slot.is_satisfied());
    EXPECT_FALSE(slot.has_pins());
}

TEST(ThreadSlot, SignalFindsTheSleeperOnTheOwnershipWord)
{
    OwnershipWord word;
    ThreadSlot slot;
    slot.belong_to(&word);
    slot.arm(1, 1);
    ASSERT_TRUE(word.enter());
    ASSERT_TRUE(slot.prepare_sleep(Bed::ownership_word));
    ASSERT_TRUE(word.prepare_park());
    std::thread completer([&] { slot.update(-1); });
    EXPECT_TRUE(word.park());
    completer.join();
    EXPECT_TRUE(word.end_park());
    EXPECT_TRUE(slot.end_sleep());
    EXPECT_TRUE(slot.is_satisfied());
}

// Whoever is counted as asleep sleeps until somebody who is awake takes it off.
TEST(ThreadSlot, CountsWhoSleepsInASlotOfItsOwnAndIsNotWoken)
{
    OwnershipWord word;
    ThreadSlot::Count asleep{0};
    ThreadSlot slot;
    slot.belong_to(&word, &asleep);
    slot.arm(1, 1);
    ASSERT_TRUE(slot.prepare_sleep(Bed::own_slot));
    EXPECT_EQ(asleep.load(), 1);
    slot.signal();
    EXPECT_EQ(asleep.load(), 0);
    slot.signal();
    EXPECT_TRUE(slot.end_sleep());
    EXPECT_EQ(asleep.load(), 0);

    // Nobody wakes it: it gets up by itself.
    ASSERT_TRUE(slot.prepare_sleep(Bed::own_slot));
    EXPECT_FALSE(slot.sleep(platform::Deadline::after_ns(1'000)));
    EXPECT_EQ(asleep.load(), 1);
    EXPECT_FALSE(slot.end_sleep());
    EXPECT_EQ(asleep.load(), 0);

    // Signalled before it lies down, or in another bed: it is never counted.
    slot.signal();
    EXPECT_FALSE(slot.prepare_sleep(Bed::own_slot));
    EXPECT_EQ(asleep.load(), 0);
    (void)slot.end_sleep();
    ASSERT_TRUE(slot.prepare_sleep(Bed::ownership_word));
    EXPECT_EQ(asleep.load(), 0);
    slot.signal();
    EXPECT_EQ(asleep.load(), 0);
    (void)slot.end_sleep();
}

/// Wait-any over two ops that complete at once, again and again with the same memory: an access
/// after the last touch would be a race on the waiters (seen by the sanitizers) or a wrong count.
TEST(OpWord, WaitAnyRacesWithCompletionFromAnotherProcess)
{
    struct Table {
        OpWord ops[2];
        ThreadSlot slot;
        Waiter waiters[2];
        alignas(64) std::atomic<std::uint32_t> round;
        std::atomic<std::uint32_t> done;
    };
    constexpr std::uint32_t rounds = 20'000;
    Shared<Table> table;
    Child child([&] {
        for (std::uint32_t round = 1; round <= rounds; ++round) {
            while (table->round.load(std::memory_order_acquire) != round) {
                platform::yield_core();
            }
            fire_all(table->ops[round % 2].complete());
            fire_all(table->ops[1 - round % 2].complete());
            table->done.store(round, std::memory_order_release);
        }
        return 0;
    });
    for (std::uint32_t round = 1; round <= rounds; ++round) {
        ThreadSlot& slot = table->slot;
        slot.arm(1, 2);
        for (OpWord& op : table->ops) {
            op.reset();
        }
        table->round.store(round, std::memory_order_release);
        int attached = 0;
        for (; attached < 2; ++attached) {
            table->waiters[attached] = waiter_of(&slot);
            if (table->ops[attached].attach(&table->waiters[attached]) ==
                AttachResult::already_complete) {
                break;
            }
        }
        while (attached == 2 && !slot.is_satisfied()) {
            if (slot.prepare_sleep(Bed::own_slot)) {
                slot.sleep();
            }
            slot.end_sleep();
        }
        for (int each = 0; each < attached; ++each) {
            Waiter* orphans = nullptr;
            if (table->ops[each].detach(&table->waiters[each], &orphans) ==
                DetachResult::detached) {
                slot.unpin();
            }
            ASSERT_EQ(orphans, nullptr);
        }
        slot.unpin(static_cast<std::uint32_t>(2 - attached));
        ASSERT_TRUE(slot.drain_pins());
        ASSERT_TRUE(table->ops[0].is_complete() || table->ops[1].is_complete());
        while (table->done.load(std::memory_order_acquire) != round) {
            platform::yield_core();
        }
    }
    EXPECT_EQ(child.exit_code(), 0);
}

/// Attaching, detaching and completing on one op from several threads: every waiter is either
/// taken off or fired, once.
TEST(OpWord, EveryWaiterIsDetachedOrFiredOnce)
{
    constexpr int rounds = 2'000;
    constexpr int threads = 3;
    for (int round = 0; round < rounds; ++round) {
        OpWord op;
        std::vector<Waiter> waiters(threads);
        std::atomic<int> settled[threads] = {};
        std::atomic<int> start{0};
        const auto settle = [&](Waiter* chain) {
            while (chain != nullptr) {
                Waiter* const next = chain->next;
                settled[chain - waiters.data()].fetch_add(1, std::memory_order_relaxed);
                chain = next;
            }
        };
        const auto wait = [&](int me) {
            start.fetch_add(1);
            Waiter* orphans = nullptr;
            if (op.attach(&waiters[static_cast<std::size_t>(me)]) ==
                    AttachResult::already_complete ||
                op.detach(&waiters[static_cast<std::size_t>(me)], &orphans) ==
                    DetachResult::detached) {
                settled[me].fetch_add(1, std::memory_order_relaxed);
            }
            settle(orphans);
        };
        std::vector<std::thread> running;
        for (int me = 0; me < threads; ++me) {
            running.emplace_back(wait, me);
        }
        while (start.load() < round % (threads + 1)) {
            platform::yield_core();
        }
        settle(op.complete());
        for (std::thread& each : running) {
            each.join();
        }
        for (int me = 0; me < threads; ++me) {
            ASSERT_EQ(settled[me].load(), 1) << round;
        }
    }
}

}  // namespace
}  // namespace headway::sync

// SPDX-License-Identifier: Apache-2.0
//
// The op word, its waiters and the thread slot: completion against attaching, detaching and the
// reuse of waiters; sleeping in both beds.
#include "sync/op_word.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

using sync::AttachResult;
using sync::Bed;
using sync::DetachResult;

template <typename Policy>
void fire_all(sync::BasicWaiter<Policy>* chain)
{
    while (chain != nullptr) {
        sync::BasicWaiter<Policy>* const next = chain->next;
        sync::fire_thread(chain);
        chain = next;
    }
}

/// A thread waits for two ops, each completed by another thread; it sleeps where `bed` says.
template <Weakening weakening, Bed bed>
struct WaitAll : rl::test_suite<WaitAll<weakening, bed>, 3> {
    using Policy = ModelAtomics<weakening>;
    sync::BasicOwnershipWord<Policy> word;
    sync::BasicOpWord<Policy> ops[2];
    sync::BasicThreadSlot<Policy> slot;
    sync::BasicWaiter<Policy> waiters[2];
    ModelPlain<int> results[2];

    void before()
    {
        slot.belong_to(&word);
        require(word.enter(), "entered");
    }
    void wait()
    {
        while (!slot.is_satisfied()) {
            if (!slot.prepare_sleep(bed)) {
                slot.end_sleep();
                continue;
            }
            if constexpr (bed == Bed::own_slot) {
                slot.sleep();
            } else if (word.prepare_park()) {
                if (!slot.is_satisfied()) {
                    word.park();
                }
                word.end_park();
            }
            slot.end_sleep();
        }
    }
    void thread(unsigned index)
    {
        if (index != 0) {
            results[index - 1] = 42;
            fire_all(ops[index - 1].complete());
            return;
        }
        slot.arm(2, 2);
        int complete = 0;
        for (int each = 0; each < 2; ++each) {
            waiters[each].slot = &slot;
            if (ops[each].attach(&waiters[each]) == AttachResult::already_complete) {
                slot.unpin();
                ++complete;
            }
        }
        if (complete != 0) {
            slot.update(-complete);
        }
        wait();
        require(results[0] == 42 && results[1] == 42, "results are visible");
        require(slot.drain_pins(), "drained");
        waiters[0].next = nullptr;  // a completer that still reads it is a race
        waiters[1].next = nullptr;
    }
};

/// A thread waits for any of two ops, detaches from the other, and uses waiters and slot again.
/// Without the drain this is the use after free of a wait-any.
template <Weakening weakening, bool drains>
struct WaitAny : rl::test_suite<WaitAny<weakening, drains>, 3> {
    using Policy = ModelAtomics<weakening>;
    sync::BasicOpWord<Policy> ops[2];
    sync::BasicThreadSlot<Policy> slot;
    sync::BasicWaiter<Policy> waiters[2];
    ModelPlain<int> results[2];

    void thread(unsigned index)
    {
        if (index != 0) {
            results[index - 1] = 42;
            fire_all(ops[index - 1].complete());
            return;
        }
        slot.arm(1, 2);
        unsigned attached = 0;
        for (; attached < 2; ++attached) {
            waiters[attached].slot = &slot;
            if (ops[attached].attach(&waiters[attached]) == AttachResult::already_complete) {
                break;
            }
        }
        while (attached == 2 && !slot.is_satisfied()) {
            if (slot.prepare_sleep(Bed::own_slot)) {
                slot.sleep();
            }
            slot.end_sleep();
        }
        for (unsigned each = 0; each < attached; ++each) {
            sync::BasicWaiter<Policy>* orphans = nullptr;
            if (ops[each].detach(&waiters[each], &orphans) == DetachResult::detached) {
                slot.unpin();
            }
            require(orphans == nullptr, "no other waiters");
        }
        slot.unpin(2 - attached);
        if constexpr (drains) {
            require(slot.drain_pins(), "drained");
        }
        waiters[0].next = nullptr;
        waiters[1].next = nullptr;
        bool any = false;
        for (unsigned each = 0; each < 2; ++each) {
            if (ops[each].is_complete()) {
                any = true;
                require(results[each] == 42, "the result is visible");
            }
        }
        require(any, "one op is complete");
    }
};

/// Two threads attach to one op and detach again while a third completes it: each waiter is taken
/// off by its thread, or fired, and never both.
template <Weakening weakening>
struct OneOp : rl::test_suite<OneOp<weakening>, 3> {
    using Policy = ModelAtomics<weakening>;
    using Waiter = sync::BasicWaiter<Policy>;
    sync::BasicOpWord<Policy> op;
    Waiter waiters[2];
    ModelAtomic<std::uint32_t, Weakening::none> settled[2];

    void settle(Waiter* chain)
    {
        while (chain != nullptr) {
            Waiter* const next = chain->next;
            settled[chain - &waiters[0]].fetch_add(1U, std::memory_order_relaxed);
            chain = next;
        }
    }
    void thread(unsigned index)
    {
        if (index == 2) {
            settle(op.complete());
            return;
        }
        Waiter* orphans = nullptr;
        if (op.attach(&waiters[index]) == AttachResult::already_complete ||
            op.detach(&waiters[index], &orphans) == DetachResult::detached) {
            settled[index].fetch_add(1U, std::memory_order_relaxed);
        }
        settle(orphans);
    }
    void after()
    {
        for (auto& each : settled) {
            require(each.load(std::memory_order_relaxed) == 1, "each waiter is settled once");
        }
    }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr auto strong = Weakening::none;
    constexpr auto no_release = Weakening::no_release;
    constexpr Search bounded{Search::Kind::bounded, 3};
    bool right = true;
    right &= holds<WaitAll<strong, Bed::own_slot>>("wait-all sleeps in its slot", bounded);
    right &= holds<WaitAll<strong, Bed::ownership_word>>("wait-all sleeps on the word", bounded);
    right &= holds<WaitAny<strong, true>>("wait-any detaches and reuses", bounded);
    right &= holds<OneOp<strong>>("every waiter is settled once", bounded);
    right &= is_refuted<WaitAny<strong, false>>("wait-any that does not drain", bounded);
    right &= is_refuted<WaitAll<no_release, Bed::own_slot>>("wait-all without release", bounded);
    right &= is_refuted<OneOp<no_release>>("detach without release", bounded);
    return right ? 0 : 1;
}

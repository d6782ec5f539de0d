// SPDX-License-Identifier: Apache-2.0
//
// A shelf of as many compartments as two halves: who gives runs ahead of who gets, by two calls at
// most, nobody reads what is not there or is written over, and none sleeps on.
#include "sync/growing_mark.hpp"

#include "model_bed.hpp"

namespace headway::model {
namespace {

/// Thread 0 gives to all others in each call. `has_barrier`: who waits passes one for who sets.
template <Weakening weakening, unsigned parties, unsigned calls, bool waits_for_room = true,
          bool has_barrier = false>
struct Shelf
    : rl::test_suite<Shelf<weakening, parties, calls, waits_for_room, has_barrier>, parties> {
    using Atomics = ModelAtomics<weakening>;
    static constexpr unsigned compartments = 2;

    sync::BasicGrowingMark<Atomics> given[compartments];
    sync::BasicGrowingMark<Atomics> ended[parties];
    sync::BasicSleeperCount<Atomics> sleepers;
    Bed<Atomics> beds[parties];
    ModelPlain<int> bytes[compartments];

    void before()
    {
        for (auto& place : bytes) {
            place = 0;
        }
    }
    void thread(unsigned own)
    {
        for (unsigned call = 0; call < calls; ++call) {
            if (own == 0) {
                give(call);
            } else {
                take(own, call);
            }
        }
    }
    void give(unsigned call)
    {
        for (unsigned party = 1; waits_for_room && call >= compartments && party < parties;
             ++party) {
            wait(0, ended[party], call - compartments + 1);
        }
        bytes[call % compartments] = static_cast<int>(call) + 10;
        given[call % compartments].set(call + 1);
        wake_all();
    }
    void take(unsigned own, unsigned call)
    {
        wait(own, given[call % compartments], call + 1);
        const int got = bytes[call % compartments];
        require(got == static_cast<int>(call) + 10, "what was given in this call");
        ended[own].set(call + 1);
        wake_all();
    }
    void wait(unsigned own, const sync::BasicGrowingMark<Atomics>& mark, unsigned number)
    {
        if (mark.has_reached(number)) {
            return;
        }
        sleepers.come();
        if (has_barrier) {
            Atomics::fence_others();
        }
        beds[own].sleep_until([&mark, number] { return mark.has_reached(number); });
        sleepers.go();
    }
    void wake_all()
    {
        if (is_any_asleep()) {
            for (auto& bed : beds) {
                bed.wake();
            }
        }
    }
    bool is_any_asleep()
    {
        if (has_barrier) {
            return sleepers.is_any_without_fence();
        }
        Atomics::fence_full();
        return sleepers.is_any_after_fence();
    }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr Search several{Search::Kind::bounded, 3};
    constexpr Search few{Search::Kind::bounded, 2};
    bool right = true;
    right &= holds<Shelf<Weakening::none, 2, 1>>("one call", several);
    right &= holds<Shelf<Weakening::none, 2, 4>>("both halves twice", several);
    right &= holds<Shelf<Weakening::none, 3, 2>>("two that get", few);
    right &= holds<Shelf<Weakening::none, 2, 4, true, true>>("with barriers", several);
    right &= holds<Shelf<Weakening::none, 3, 2, true, true>>("with barriers, two that get", few);
    right &= is_refuted<Shelf<Weakening::no_fence, 2, 1, true, true>>("without barriers", several);
    right &= is_refuted<Shelf<Weakening::none, 2, 4, false>>("without looking for room", several);
    right &= is_refuted<Shelf<Weakening::no_fence, 2, 1>>("without fences", several);
    right &= is_refuted<Shelf<Weakening::no_release, 2, 1>>("without release", several);
    right &= is_refuted<Shelf<Weakening::no_acquire, 2, 1>>("without acquire", several);
    return right ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
//
// The sets of ranks together with the words that their members sleep on: who publishes and then
// looks who sleeps, and who lies down and then looks what is published, do not miss each other.
// What is asked of whom is hand_over.pml; here is the order of memory under it.
#include "engine/rank_set.hpp"
#include "sync/ownership_word.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

constexpr std::uint32_t ranks_max = 64;

template <Weakening weakening>
using Set = engine::BasicRankSet<ModelAtomics<weakening>, ranks_max>;
template <Weakening weakening>
using Word = sync::BasicOwnershipWord<ModelAtomics<weakening>>;

/// One agent and those who want it: each puts a rank into `wanted` and notifies the bed. The agent
/// takes out what it finds until it has had all. A lost wake-up is a deadlock.
template <Weakening weakening, int adders>
struct Agent : rl::test_suite<Agent<weakening, adders>, adders + 1> {
    Word<weakening> bed;
    Set<weakening> wanted;
    ModelPlain<int> work[adders];
    int found = 0;

    bool sweep()
    {
        bool has_worked = false;
        for (std::uint32_t rank = wanted.next(); rank != ranks_max; rank = wanted.next(rank + 1)) {
            if (wanted.remove(rank)) {
                require(work[rank] == 1, "the work is seen with its rank");
                ++found;
                has_worked = true;
            }
        }
        return has_worked;
    }
    void before() { require(bed.enter(), "entered"); }
    void thread(unsigned index)
    {
        if (index != 0) {
            work[index - 1] = 1;
            wanted.add(index - 1);
            bed.notify_parked();
            return;
        }
        while (found != adders) {
            if (!sweep() && bed.prepare_park()) {
                if (!sweep()) {
                    bed.park();
                }
                bed.end_park();
            }
        }
    }
};

/// A rank that lies down as idle, and one that hands over: it publishes, then takes the sleeper out
/// and nudges it; if there is nobody it asks an agent, and sends what the sleeper waits for. Who
/// was taken out finds the work, also if it `dozes`: got up again for a reason of its own.
template <Weakening weakening, bool dozes>
struct Idle : rl::test_suite<Idle<weakening, dozes>, 2> {
    Word<weakening> word;
    Set<weakening> idle;
    Set<weakening> wanted;
    ModelPlain<int> work;
    ModelAtomic<std::uint32_t, weakening> message;
    bool is_for_agent = false;
    bool is_found = false;

    bool look()
    {
        if (wanted.next() == ranks_max) {
            return false;
        }
        require(work == 1, "the work is seen with its rank");
        is_found = true;
        return true;
    }
    void before() { require(word.enter(), "entered"); }
    void thread(unsigned index)
    {
        if (index == 0) {
            while (!lie_down()) {
            }
            return;
        }
        work = 1;
        wanted.add(7);
        if (idle.next() == 3 && idle.remove(3)) {
            word.nudge();
            return;
        }
        is_for_agent = true;
        message.store(1, std::memory_order_release);
        word.notify_parked();
    }
    /// True: the wait is over.
    bool lie_down()
    {
        if (!word.prepare_park()) {
            return false;
        }
        idle.add(3);
        // Relaxed: gives access to nothing.
        bool is_over = look() || message.load(std::memory_order_relaxed) == 1;
        if (!is_over && !dozes) {
            word.park();
        }
        word.end_park();
        if (!idle.remove(3)) {
            require(is_found || look(), "taken out for something that is not there");
            is_over = true;
        }
        return is_over || dozes;
    }
    void after() { require(is_found || is_for_agent || dozes, "nobody was asked"); }
};

/// The promise of the sets themselves: of two that each add to one and look at the other, at least
/// one meets the other.
template <Weakening weakening>
struct Meeting : rl::test_suite<Meeting<weakening>, 2> {
    Set<weakening> sets[2];
    bool has_met[2] = {};

    void thread(unsigned index)
    {
        sets[index].add(5);
        has_met[index] = sets[1 - index].next() == 5;
    }
    void after() { require(has_met[0] || has_met[1], "they missed each other"); }
};

/// One rank in a set, two who want it: one gets it, and sees what came before.
template <Weakening weakening>
struct Taking : rl::test_suite<Taking<weakening>, 3> {
    Set<weakening> wanted;
    ModelPlain<int> work;
    int taken = 0;

    void thread(unsigned index)
    {
        if (index == 0) {
            work = 1;
            wanted.add(7);
        } else if (wanted.remove(7)) {
            work = work + 1;
            ++taken;
        }
    }
    void after() { require(taken <= 1, "taken twice"); }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr Search every{Search::Kind::every};
    constexpr Search bounded{Search::Kind::bounded, 4};
    bool right = true;
    right &= holds<Agent<Weakening::none, 1>>("an agent is woken for one", every);
    right &= holds<Agent<Weakening::none, 2>>("an agent is woken for two", bounded);
    right &=
        holds<Idle<Weakening::none, false>>("an idle rank is chosen, or has its message", every);
    right &= holds<Idle<Weakening::none, true>>("who was chosen and gets up finds it", every);
    right &= holds<Meeting<Weakening::none>>("add and look meet", every);
    right &= holds<Taking<Weakening::none>>("one takes a rank out", every);
    right &= is_refuted<Agent<Weakening::no_fence, 1>>("an agent without fences", bounded);
    right &= holds<Idle<Weakening::no_total_order, true>>("chosen, with acquire alone", every);
    right &= is_refuted<Idle<Weakening::no_acquire, true>>("chosen without acquire", bounded);
    right &= is_refuted<Meeting<Weakening::no_total_order>>("sets without a total order", every);
    return right ? 0 : 1;
}

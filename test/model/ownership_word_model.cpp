// SPDX-License-Identifier: Apache-2.0
//
// The ownership word under every (or every reasonably short) interleaving: exclusion, the bell,
// sleeping for messages, sleeping for the holder. The weakened copies show that the searches see a
// missing fence or release.
#include "sync/ownership_word.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

using sync::RingEffect;

/// Owner and two helpers write a variable that only the word protects.
template <Weakening weakening>
struct Exclusion : rl::test_suite<Exclusion<weakening>, 3> {
    sync::BasicOwnershipWord<ModelAtomics<weakening>> word;
    ModelPlain<int> rank_state;

    void thread(unsigned index)
    {
        if (index == 0) {
            require(word.enter(), "entered");
            rank_state = rank_state + 1;
            (void)word.leave();
        } else if (word.try_hold(index)) {
            require(word.holder() == static_cast<int>(index), "the word names its holder");
            rank_state = rank_state + 1;
            (void)word.release_hold();
        }
    }
    void after() { require(word.is_free(), "free at the end"); }
};

/// Two ringers publish work and ring; each helps itself if told to. The owner comes and goes. At
/// the end no work may lie there: whoever leaves with the bell rung comes back.
template <Weakening weakening>
struct Bell : rl::test_suite<Bell<weakening>, 3> {
    sync::BasicOwnershipWord<ModelAtomics<weakening>> word;
    ModelAtomic<std::uint32_t, weakening> work[2];
    ModelPlain<std::uint32_t> served;

    void poll()
    {
        std::uint32_t found = 0;
        for (auto& each : work) {
            if (each.load(std::memory_order_relaxed) == 1) {
                each.store(2, std::memory_order_relaxed);
                ++found;
            }
        }
        served = served + found;
    }
    void help(unsigned who)
    {
        bool again = true;
        while (again && word.try_hold(who)) {
            poll();
            again = word.release_hold();
        }
    }
    void thread(unsigned index)
    {
        if (index == 0) {
            bool again = true;
            while (again) {
                require(word.enter(), "entered");
                poll();
                again = word.leave();
            }
            return;
        }
        work[index - 1].store(1, std::memory_order_relaxed);
        if (word.ring() == RingEffect::ask_helper) {
            help(index);
        }
    }
    void after()
    {
        require(served == 2, "work was left lying");
        require(word.is_free(), "free at the end");
    }
};

/// A plain message to an owner that may sleep. A lost wake-up is a deadlock.
template <Weakening weakening>
struct Message : rl::test_suite<Message<weakening>, 2> {
    sync::BasicOwnershipWord<ModelAtomics<weakening>> word;
    ModelAtomic<std::uint32_t, weakening> cell;
    ModelPlain<int> payload;

    bool poll()
    {
        if (cell.load(std::memory_order_acquire) == 0) {
            return false;
        }
        require(payload == 42, "the message is whole");
        return true;
    }
    void thread(unsigned index)
    {
        if (index == 0) {
            require(word.enter(), "entered");
            while (!poll()) {
                if (word.prepare_park()) {
                    if (poll()) {
                        word.end_park();
                        break;
                    }
                    word.park();
                    word.end_park();
                }
            }
            (void)word.leave();
        } else {
            payload = 42;
            cell.store(1, std::memory_order_release);
            word.notify_parked();
        }
    }
};

/// A sleeper, a sender of a plain message and a ringer with work: the sleeper ends with both.
template <Weakening weakening>
struct MessageAndBell : rl::test_suite<MessageAndBell<weakening>, 3> {
    sync::BasicOwnershipWord<ModelAtomics<weakening>> word;
    ModelAtomic<std::uint32_t, weakening> cells[2];

    bool poll()
    {
        return cells[0].load(std::memory_order_acquire) == 1 &&
               cells[1].load(std::memory_order_relaxed) == 1;
    }
    void before() { require(word.enter(), "entered"); }
    void thread(unsigned index)
    {
        if (index == 0) {
            while (!poll()) {
                if (word.prepare_park()) {
                    if (!poll()) {
                        word.park();
                    }
                    word.end_park();
                }
            }
        } else if (index == 1) {
            cells[0].store(1, std::memory_order_release);
            word.notify_parked();
        } else {
            cells[1].store(1, std::memory_order_relaxed);
            if (word.ring() == RingEffect::wake_parked) {
                word.wake_parked();
            }
        }
    }
};

/// The owner comes while a helper holds and a third one rings: it sleeps and is given the word.
template <Weakening weakening>
struct HandOver : rl::test_suite<HandOver<weakening>, 3> {
    sync::BasicOwnershipWord<ModelAtomics<weakening>> word;
    ModelPlain<int> rank_state;

    void before() { require(word.try_hold(1), "held"); }
    void thread(unsigned index)
    {
        if (index == 0) {
            require(word.enter(), "entered");
            rank_state = rank_state + 1;
            (void)word.leave();
        } else if (index == 1) {
            rank_state = rank_state + 1;
            if (word.release_hold() && word.try_hold(1)) {
                rank_state = rank_state + 1;
                (void)word.release_hold();
            }
        } else if (word.ring() == RingEffect::ask_helper && word.try_hold(2)) {
            rank_state = rank_state + 1;
            (void)word.release_hold();
        }
    }
    void after() { require(word.is_free(), "free at the end"); }
};

/// A sender of a plain message, a ringer with work, and an owner that leaves after the message: the
/// sender's bell must not swallow the ringer's.
template <Weakening weakening>
struct LeavesAfterMessage : rl::test_suite<LeavesAfterMessage<weakening>, 3> {
    sync::BasicOwnershipWord<ModelAtomics<weakening>> word;
    ModelAtomic<std::uint32_t, weakening> message;
    ModelAtomic<std::uint32_t, weakening> work;
    ModelPlain<std::uint32_t> served;

    bool poll()
    {
        if (work.load(std::memory_order_relaxed) == 1) {
            work.store(2, std::memory_order_relaxed);
            served = served + 1;
        }
        return message.load(std::memory_order_acquire) == 1;
    }
    void before() { require(word.enter(), "entered"); }
    void thread(unsigned index)
    {
        if (index == 0) {
            bool again = true;
            while (again) {
                require(word.enter(), "entered");
                while (!poll()) {
                    if (word.prepare_park()) {
                        if (!poll()) {
                            word.park();
                        }
                        word.end_park();
                    }
                }
                again = word.leave();
            }
        } else if (index == 1) {
            message.store(1, std::memory_order_release);
            word.notify_parked();
        } else {
            work.store(1, std::memory_order_relaxed);
            const RingEffect effect = word.ring();
            if (effect == RingEffect::wake_parked) {
                word.wake_parked();
            }
            bool again = effect == RingEffect::ask_helper;
            while (again && word.try_hold(2)) {
                (void)poll();
                again = word.release_hold();
            }
        }
    }
    void after() { require(served == 1, "work was left lying"); }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr Search every{Search::Kind::every};
    constexpr Search bounded{Search::Kind::bounded, 3};
    bool right = true;
    right &= holds<Exclusion<Weakening::none>>("exclusion", bounded);
    right &= holds<Message<Weakening::none>>("a message wakes the sleeper", every);
    right &= holds<Bell<Weakening::none>>("no work is left lying", bounded);
    right &= holds<MessageAndBell<Weakening::none>>("message and bell wake the sleeper", bounded);
    right &= holds<LeavesAfterMessage<Weakening::none>>("the owner leaves and is rung", bounded);
    right &= holds<HandOver<Weakening::none>>("the holder gives the word over", bounded);
    right &= is_refuted<Exclusion<Weakening::no_release>>("exclusion without release", bounded);
    right &= is_refuted<Message<Weakening::no_fence>>("message without fences", every);
    right &= is_refuted<Bell<Weakening::no_release>>("bell without release", bounded);
    right &= is_refuted<Bell<Weakening::no_fence>>("bell without fences", bounded);
    right &= is_refuted<HandOver<Weakening::no_release>>("hand-over without release", bounded);
    return right ? 0 : 1;
}

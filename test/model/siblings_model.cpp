// SPDX-License-Identifier: Apache-2.0
//
// Two instances of a rank (docs/design/034): a thread waits in the first one and goes to sleep
// there for good, another one is in the second for the time of a call, a peer's message comes to
// that. Whoever handles the message completes what the sleeper waits for, so a sleeper that nobody
// wakes is a message that nobody handles.
#include "sync/ownership_word.hpp"
#include "sync/sleep_register.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

/// What the code does not do, to show that the model would notice.
enum class Mistake {
    none,
    looks_first,       ///< the sleeper looks in before it says that it sleeps
    relies_silently,   ///< who leaves does not know that somebody relies on a free word
    trusts_who_is_in,  ///< a lock that another thread has is as good as a look
    opens_silently,    ///< who opens an instance wakes nobody
};

/// What the second thread of the rank does in the other instance.
enum class Visit {
    call,     ///< goes in and out
    wait,     ///< stays inside for a while, the lock left to others
    opening,  ///< opens it before
};

constexpr std::uint32_t own = 1;
constexpr std::uint32_t other = 2;

template <Weakening weakening, Mistake mistake, Visit visit>
struct TwoInstances : rl::test_suite<TwoInstances<weakening, mistake, visit>, 3> {
    using Atomics = ModelAtomics<weakening>;
    template <typename T>
    using Atomic = typename Atomics::template Atomic<T>;

    sync::BasicSleepRegister<Atomics> sleepers{visit == Visit::opening ? own : own | other};
    sync::BasicOwnershipWord<Atomics> own_word;
    Atomic<unsigned> is_over{0};  ///< what the sleeper waits for

    // The other instance, as `engine::Door` and `away` treat it.
    sync::BasicOwnershipWord<Atomics> word;
    Atomic<unsigned> lock{0};
    Atomic<unsigned> reliance{0};
    Atomic<unsigned> message{0};
    ModelPlain<unsigned> inside;
    ModelPlain<bool> is_away;
    ModelPlain<unsigned> handled;  ///< under the word

    void before()
    {
        inside = 0;
        is_away = false;
        handled = 0;
        require(own_word.try_enter() && word.try_enter(), "the rank has its words");
    }

    void take_lock()
    {
        while (lock.exchange(1, std::memory_order_acquire) != 0) {
            Atomics::pause(0);
        }
    }
    bool try_lock() { return lock.exchange(1, std::memory_order_acquire) == 0; }
    void unlock() { lock.store(0, std::memory_order_release); }

    /// Requires: the word.
    void progress()
    {
        if (message.load(std::memory_order_acquire) == 0 || handled != 0) {
            return;
        }
        handled = 1;
        is_over.store(1, std::memory_order_release);
        own_word.notify_parked();
    }

    // Those require the lock.

    void come_in()
    {
        inside = inside + 1;
        if (is_away) {
            (void)word.enter();
            is_away = false;
            if (sleepers.asleep_but(other) != 0) {
                own_word.notify_parked();
            }
        }
    }
    void leave()
    {
        const unsigned left = inside - 1;
        inside = left;
        if (left != 0 || reliance.load(std::memory_order_relaxed) == 0) {
            return;
        }
        progress();
        while (word.leave()) {
            (void)word.enter();
            progress();
        }
        is_away = true;
    }

    bool look_in()
    {
        if (!try_lock()) {
            return mistake == Mistake::trusts_who_is_in;
        }
        if (!is_away && inside == 0) {
            inside = 1;
            progress();
            leave();
        }
        unlock();
        return true;
    }

    void rely(unsigned change)
    {
        if (mistake != Mistake::relies_silently) {
            reliance.fetch_add(change, std::memory_order_relaxed);
        }
    }

    void wait()
    {
        while (is_over.load(std::memory_order_acquire) == 0) {
            if (!own_word.prepare_park()) {
                continue;
            }
            bool is_seen_to = true;
            if (mistake == Mistake::looks_first) {
                is_seen_to = look_in();
            }
            const std::uint32_t left = sleepers.begin_sleep(own);
            rely(left != 0 ? 1 : 0);
            if (mistake != Mistake::looks_first && left != 0) {
                is_seen_to = look_in();
            }
            if (is_over.load(std::memory_order_acquire) == 0) {
                if (is_seen_to) {
                    own_word.park();
                } else {
                    Atomics::pause(0);  // a nap
                }
            }
            sleepers.end_sleep(own);
            rely(left != 0 ? 0U - 1U : 0);
            (void)own_word.end_park();
        }
    }

    void call_elsewhere()
    {
        if (visit == Visit::opening) {
            const std::uint32_t asleep = sleepers.open(other);
            if (asleep != 0 && mistake != Mistake::opens_silently) {
                own_word.notify_parked();
            }
        }
        take_lock();
        come_in();
        if (visit == Visit::wait) {
            unlock();
            Atomics::pause(0);
            take_lock();
        }
        progress();
        leave();
        unlock();
    }

    void send()
    {
        message.store(1, std::memory_order_release);
        const sync::RingEffect effect = word.ring();
        if (effect == sync::RingEffect::wake_parked) {
            word.wake_parked();
        }
        if (effect != sync::RingEffect::ask_helper) {
            return;
        }
        while (word.try_hold(7)) {
            progress();
            if (!word.release_hold()) {
                return;
            }
        }
    }

    void thread(unsigned index)
    {
        if (index == 0) {
            wait();
        } else if (index == 1) {
            call_elsewhere();
        } else {
            send();
        }
    }
    void after() { require(handled == 1, "the message is handled"); }
};

template <Visit visit>
using Right = TwoInstances<Weakening::none, Mistake::none, visit>;

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr Search bounded{Search::Kind::bounded, 2};
    constexpr Search random{Search::Kind::random, 0, 100'000};
    using enum Mistake;
    bool right = true;
    right &= holds<Right<Visit::call>>("a call elsewhere", bounded);
    right &= holds<Right<Visit::wait>>("a wait elsewhere", bounded);
    right &= holds<Right<Visit::opening>>("an instance that is opened", bounded);
    right &= holds<Right<Visit::call>>("a call elsewhere, at random", random);
    right &= holds<Right<Visit::wait>>("a wait elsewhere, at random", random);
    right &= holds<Right<Visit::opening>>("an instance that is opened, at random", random);
    right &= is_refuted<TwoInstances<Weakening::none, looks_first, Visit::call>>(
        "a look before it is said", random);
    right &= is_refuted<TwoInstances<Weakening::none, relies_silently, Visit::call>>(
        "nobody knows who relies on the word", random);
    right &= is_refuted<TwoInstances<Weakening::none, trusts_who_is_in, Visit::call>>(
        "a lock in other hands is trusted", random);
    right &= is_refuted<TwoInstances<Weakening::none, opens_silently, Visit::opening>>(
        "who opens wakes nobody", random);
    right &= is_refuted<TwoInstances<Weakening::no_total_order, Mistake::none, Visit::opening>>(
        "opening without one order", random);
    right &= is_refuted<TwoInstances<Weakening::no_fence, Mistake::none, Visit::call>>(
        "without fences", random);
    right &= is_refuted<TwoInstances<Weakening::no_release, Mistake::none, Visit::call>>(
        "without release", random);
    right &= is_refuted<TwoInstances<Weakening::no_acquire, Mistake::none, Visit::call>>(
        "without acquire", random);
    return right ? 0 : 1;
}

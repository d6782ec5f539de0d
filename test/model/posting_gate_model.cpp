// SPDX-License-Identifier: Apache-2.0
//
// The gate before a ring of one producer: posts of the executor and of threads beside him never
// meet, what one thread sends keeps its order whatever way each message takes, and nobody sleeps
// for ever before the gate.
#include "sync/posting_gate.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

/// A ring of one producer with room for all, and the executor's queue before it, under the rank's
/// lock (here: a flag that is taken by exchange).
template <Weakening weakening>
struct Rank {
    using Atomics = ModelAtomics<weakening>;
    static constexpr unsigned places = 4;

    sync::BasicPostingGate<Atomics> gate;
    ModelAtomic<unsigned, Weakening::none> lock;
    ModelPlain<unsigned> sent;  ///< the ring's, of who posts
    ModelPlain<unsigned> ring[places];
    ModelPlain<unsigned> queued;  ///< the executor's: a message that waits for room, or 0

    void make()
    {
        sent = 0;
        queued = 0;
    }
    void take_lock()
    {
        while (lock.exchange(1, std::memory_order_acquire) != 0) {
            Atomics::pause(0);
        }
    }
    void leave_lock() { lock.store(0, std::memory_order_release); }

    void put(unsigned message)
    {
        const unsigned at = sent;
        ring[at] = message;
        sent = at + 1;
    }
    bool post_beside(unsigned message)
    {
        if (!gate.enter_beside()) {
            return false;
        }
        put(message);
        gate.leave();
        return true;
    }
    void post(unsigned message)
    {
        gate.enter();
        put(message);
        gate.leave();
    }
    unsigned place_of(unsigned message)
    {
        const unsigned end = sent;
        for (unsigned at = 0; at < end; ++at) {
            if (ring[at] == message) {
                return at;
            }
        }
        return places;
    }
};

/// `threads` of which each posts one message beside, or as the executor.
template <Weakening weakening, unsigned threads>
struct Exclusion : rl::test_suite<Exclusion<weakening, threads>, threads>, Rank<weakening> {
    void before()
    {
        this->make();
        this->gate.open();
    }
    void thread(unsigned index)
    {
        if (index == 0) {
            this->post(1);
        } else {
            require(this->post_beside(index + 1), "nothing is queued");
        }
    }
    void after()
    {
        for (unsigned index = 0; index < threads; ++index) {
            require(this->place_of(index + 1) < threads, "every message is there");
        }
    }
};

/// Thread 0 gives message 1 to the executor, who queues it, and sends message 2 however it can;
/// thread 1 sweeps and posts what is queued; thread 2 sends message 3 beside. A careless executor
/// does not say that he queued, a hasty one says that all are posted before they are.
template <Weakening weakening, bool is_careless, bool is_hasty>
struct Order : rl::test_suite<Order<weakening, is_careless, is_hasty>, 3>, Rank<weakening> {
    void before()
    {
        this->make();
        this->gate.open();
    }
    void sweep()
    {
        this->take_lock();
        const unsigned message = this->queued;
        if (message != 0) {
            if (is_hasty) {
                this->gate.note_all_posted();
            }
            this->post(message);
            this->queued = 0;
            if (!is_hasty) {
                this->gate.note_all_posted();
            }
        }
        this->leave_lock();
    }
    void thread(unsigned index)
    {
        if (index == 0) {
            this->take_lock();
            this->queued = 1;
            if (!is_careless) {
                this->gate.note_queued();
            }
            this->leave_lock();
            if (!this->post_beside(2)) {
                sweep();
                this->take_lock();
                this->post(2);
                this->leave_lock();
            }
        } else if (index == 1) {
            sweep();
        } else if (!this->post_beside(3)) {
            this->take_lock();
            this->post(3);
            this->leave_lock();
        }
    }
    void after()
    {
        sweep();
        require(this->place_of(1) < this->place_of(2), "messages of one thread keep their order");
        require(this->place_of(3) < 3, "every message is there");
    }
};

/// The executor makes the ring, posts the first message and opens the gate; another thread posts
/// beside as soon as it may.
template <Weakening weakening>
struct Opening : rl::test_suite<Opening<weakening>, 2>, Rank<weakening> {
    void thread(unsigned index)
    {
        if (index == 0) {
            this->make();
            this->put(1);
            this->gate.open();
            return;
        }
        while (!this->post_beside(2)) {
            ModelAtomics<weakening>::pause(0);
        }
    }
    void after() { require(this->place_of(1) == 0 && this->place_of(2) == 1, "in this order"); }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr Search bounded{Search::Kind::bounded, 3};
    constexpr Search random{Search::Kind::random, 0, 30'000};
    using enum Weakening;
    bool right = true;
    right &= holds<Exclusion<none, 2>>("exclusion of two", bounded);
    right &= holds<Exclusion<none, 3>>("exclusion of three", bounded);
    right &= holds<Exclusion<none, 4>>("exclusion of four", random);
    right &= holds<Order<none, false, false>>("order of a thread's messages", bounded);
    right &= holds<Order<none, false, false>>("order, at random", random);
    right &= holds<Opening<none>>("the gate opens", bounded);
    right &= is_refuted<Exclusion<no_release, 3>>("exclusion without release", bounded);
    right &= is_refuted<Exclusion<no_acquire, 3>>("exclusion without acquire", bounded);
    right &= is_refuted<Opening<no_release>>("opening without release", bounded);
    right &= is_refuted<Opening<no_acquire>>("opening without acquire", bounded);
    right &= is_refuted<Order<none, true, false>>("a queue that is not noted", bounded);
    right &= is_refuted<Order<none, false, true>>("noted as posted too early", bounded);
    return right ? 0 : 1;
}

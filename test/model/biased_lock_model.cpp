// SPDX-License-Identifier: Apache-2.0
//
// The biased lock: its first thread against those that come later, the end of the bias while it is
// inside, outside or on its way, and waiters that sleep.
#include "sync/biased_lock.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

template <typename Lock>
void lock(Lock& lock)
{
    if (!lock.try_lock()) {
        lock.wait_and_lock();
    }
}

/// All go in and out. Exclusion is what Relacy
/// sees: a race on `state`. A lost wake-up is a deadlock.
template <Weakening weakening, bool has_bias, unsigned threads, unsigned rounds>
struct InAndOut : rl::test_suite<InAndOut<weakening, has_bias, threads, rounds>, threads> {
    sync::BasicBiasedLock<ModelAtomics<weakening>> rank;
    ModelPlain<int> state;

    void thread(unsigned /*index*/)
    {
        for (unsigned round = 0; round < rounds; ++round) {
            lock(rank);
            state = state + 1;
            rank.unlock();
        }
    }
    void before()
    {
        rank.belong_to(1, 0, has_bias);
        state = 0;
    }
    void after() { require(state == static_cast<int>(threads * rounds), "nobody was lost"); }
};

/// The first thread is inside at the start, and goes in once more.
template <Weakening weakening, bool has_bias>
struct Nested : rl::test_suite<Nested<weakening, has_bias>, 2> {
    sync::BasicBiasedLock<ModelAtomics<weakening>> rank;
    ModelPlain<int> state;

    void before()
    {
        rank.belong_to(1, 1, has_bias);
        state = 0;
    }
    void thread(unsigned index)
    {
        lock(rank);
        state = state + 1;
        rank.unlock();
        if (index == 0) {
            state = state + 1;
            rank.unlock();
        }
    }
    void after() { require(state == 3, "nobody was lost"); }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr Search bounded{Search::Kind::bounded, 2};
    constexpr Search random{Search::Kind::random, 0, 30'000};
    using enum Weakening;
    bool right = true;
    right &= holds<InAndOut<none, true, 2, 2>>("the second thread ends the bias", bounded);
    right &= holds<InAndOut<none, true, 3, 1>>("two threads end the bias", bounded);
    right &= holds<InAndOut<none, true, 3, 2>>("three threads, twice", random);
    right &= holds<InAndOut<none, false, 2, 2>>("without bias", bounded);
    right &= holds<InAndOut<none, false, 3, 2>>("three threads without bias", random);
    right &= holds<Nested<none, true>>("the first one is inside twice", bounded);
    right &= holds<Nested<none, false>>("a holder is inside twice", bounded);
    right &= is_refuted<InAndOut<no_fence, true, 2, 2>>("without the barrier", bounded);
    right &= is_refuted<InAndOut<no_release, true, 2, 2>>("bias without release", bounded);
    right &= is_refuted<InAndOut<no_acquire, true, 2, 2>>("bias without acquire", bounded);
    right &= is_refuted<InAndOut<no_release, false, 2, 2>>("queue without release", bounded);
    right &= is_refuted<InAndOut<no_acquire, false, 2, 2>>("queue without acquire", bounded);
    return right ? 0 : 1;
}

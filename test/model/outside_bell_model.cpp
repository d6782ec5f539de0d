// SPDX-License-Identifier: Apache-2.0
//
// A process whose only rank sleeps, its worker too, and another one that changes the rank's word:
// the worker wakes up and finds the bucket of the word.
#include "sync/outside_bell.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

template <Weakening weakening>
struct Ringing : rl::test_suite<Ringing<weakening>, 2> {
    using Atomics = ModelAtomics<weakening>;
    static constexpr std::size_t bucket = 5;

    sync::BasicOutsideBell<Atomics, 64> bell;
    typename Atomics::template Atomic<std::uint32_t> word{0};
    ModelPlain<int> reason;

    void before() { reason = 0; }
    void thread(unsigned index)
    {
        if (index == 0) {
            sleep();
        } else {
            reason = 1;
            word.store(1, std::memory_order_release);
            bell.publish();
            if (bell.ring(bucket)) {
                Atomics::wake(bell.bell(), 1);
            }
        }
    }
    void sleep()
    {
        bell.move_in(bucket, false);
        if (word.load(std::memory_order_acquire) == 0) {
            work_until_found();
        }
        bell.move_out(bucket, false);
        require(reason == 1, "who is awake finds why");
    }
    void work_until_found()
    {
        std::uint32_t answered = 0;
        for (bool is_found = false; !is_found;) {
            const std::uint32_t seen = bell.bell().load(std::memory_order_acquire);
            if (seen != answered) {
                answered = seen;
                bell.take([&](std::size_t rung) { is_found = is_found || rung == bucket; });
                continue;
            }
            bell.sleepers().fetch_add(1, std::memory_order_relaxed);
            Atomics::fence_full();
            if (bell.bell().load(std::memory_order_relaxed) == answered) {
                (void)Atomics::wait_on(bell.bell(), answered, platform::Deadline::never());
            }
            bell.sleepers().fetch_sub(1, std::memory_order_relaxed);
        }
    }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr Search every{Search::Kind::every};
    bool right = true;
    right &= holds<Ringing<Weakening::none>>("a ring wakes who sleeps behind it", every);
    right &= is_refuted<Ringing<Weakening::no_fence>>("without fences", every);
    right &= is_refuted<Ringing<Weakening::no_release>>("without release", every);
    return right ? 0 : 1;
}

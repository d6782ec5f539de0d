// SPDX-License-Identifier: Apache-2.0
//
// A user-level thread that lies down and the one that wakes it: whoever is later makes it ready,
// exactly one of them, and sees what the other did.
#include "ult/task.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

/// The task has left: its worker saves the context (thread 0) while it is woken (thread 1).
template <Weakening weakening>
struct Waking : rl::test_suite<Waking<weakening>, 2> {
    ult::BasicPhase<ModelAtomics<weakening>> phase;
    ModelPlain<int> context;
    ModelPlain<int> reason;
    int times_ready = 0;

    void make_ready()
    {
        require(context == 1, "who enters the task finds its context");
        require(reason == 1, "the task finds why it was woken");
        ++times_ready;
    }
    void before()
    {
        context = 0;
        reason = 0;
        phase.leave();
    }
    void thread(unsigned index)
    {
        if (index == 0) {
            context = 1;
            if (!phase.lie_down()) {
                make_ready();
            }
        } else {
            reason = 1;
            if (phase.wake()) {
                make_ready();
            }
        }
    }
    void after() { require(times_ready == 1, "ready once"); }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr Search every{Search::Kind::every};
    bool right = true;
    right &= holds<Waking<Weakening::none>>("one of two makes a task ready", every);
    right &= is_refuted<Waking<Weakening::no_release>>("without release", every);
    return right ? 0 : 1;
}

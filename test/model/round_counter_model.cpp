// SPDX-License-Identifier: Apache-2.0
//
// Members of a meeting: the last one of a round combines what all have put down, and all find the
// result, round after round, over the same memory.
#include "sync/round_counter.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

template <Weakening weakening>
struct Meeting : rl::test_suite<Meeting<weakening>, 2> {
    static constexpr unsigned members = 2;
    static constexpr int rounds = 2;

    sync::BasicRoundCounter<ModelAtomics<weakening>> counter;
    ModelPlain<int> parts[members];
    ModelPlain<int> result;

    void before()
    {
        parts[0] = 0;
        parts[1] = 0;
        result = 0;
    }
    void thread(unsigned index)
    {
        for (int turn = 1; turn <= rounds; ++turn) {
            parts[index] = turn * static_cast<int>(index + 1);
            const std::uint32_t round = counter.current();
            if (counter.arrive(members)) {
                const int first = parts[0];
                const int second = parts[1];
                result = first + second;
                counter.end_round(round);
            } else {
                for (unsigned attempt = 0; !counter.is_over(round); ++attempt) {
                    ModelAtomics<weakening>::pause(attempt);
                }
            }
            require(result == turn * 3, "all get the sum of the round's parts");
        }
    }
};

}  // namespace
}  // namespace headway::model

int main()
{
    using namespace headway::model;
    constexpr Search several{Search::Kind::bounded, 4};
    bool right = true;
    right &= holds<Meeting<Weakening::none>>("members meet twice", several);
    right &= is_refuted<Meeting<Weakening::no_release>>("without release", several);
    right &= is_refuted<Meeting<Weakening::no_acquire>>("without acquire", several);
    return right ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
//
// Parties of a meeting that show each other their flags: each combines for itself what all have put
// down, over memory for two rounds, and none sleeps on when the last one has come.
#include "sync/round_flag.hpp"

#include "model_bed.hpp"

namespace headway::model {
namespace {

template <Weakening weakening, unsigned parties, std::uint32_t rounds>
struct Meeting : rl::test_suite<Meeting<weakening, parties, rounds>, parties> {
    using Atomics = ModelAtomics<weakening>;

    sync::BasicRoundFlag<Atomics> flags[parties];
    Bed<Atomics> beds[parties];
    ModelPlain<int> parts[2][parties];

    void before()
    {
        for (unsigned party = 0; party < parties; ++party) {
            parts[0][party] = 0;
            parts[1][party] = 0;
        }
    }
    void thread(unsigned own)
    {
        for (std::uint32_t round = 0; round < rounds; ++round) {
            parts[round % 2][own] = static_cast<int>((round + 1) * (own + 1));
            meet(own, round);
            int sum = 0;
            for (unsigned party = 0; party < parties; ++party) {
                sum += parts[round % 2][party];
            }
            require(sum == static_cast<int>((round + 1) * parties * (parties + 1) / 2),
                    "all get the sum of the round's parts");
        }
    }
    void meet(unsigned own, std::uint32_t round)
    {
        const auto have_all_come = [this, round] {
            for (const auto& flag : flags) {
                if (!flag.has_come(round)) {
                    return false;
                }
            }
            return true;
        };
        flags[own].show(round, own);
        Atomics::fence_full();
        if (have_all_come()) {
            for (const auto& flag : flags) {
                beds[flag.who()].wake();
            }
            return;
        }
        beds[own].sleep_until(have_all_come);
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
    right &= holds<Meeting<Weakening::none, 2, 1>>("two parties meet", several);
    right &= holds<Meeting<Weakening::none, 2, 3>>("three times", several);
    right &= holds<Meeting<Weakening::none, 3, 1>>("three parties meet", few);
    right &= is_refuted<Meeting<Weakening::no_fence, 2, 1>>("without fences", several);
    right &= is_refuted<Meeting<Weakening::no_release, 2, 1>>("without release", several);
    right &= is_refuted<Meeting<Weakening::no_acquire, 2, 1>>("without acquire", several);
    return right ? 0 : 1;
}

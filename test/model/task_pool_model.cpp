// SPDX-License-Identifier: Apache-2.0
//
// A task in which visitors take part: every piece is done once, its thread sees all of them when it
// goes on, and nobody touches the task afterwards.
#include "sync/task_pool.hpp"

#include "model_bed.hpp"

namespace headway::model {
namespace {

/// Thread 0 has one task after the other, the others look for one so many times.
template <Weakening weakening, unsigned parties, unsigned tasks, unsigned pieces>
struct Pool : rl::test_suite<Pool<weakening, parties, tasks, pieces>, parties> {
    using Atomics = ModelAtomics<weakening>;

    struct Work {
        ModelPlain<int> done[pieces];
        ModelPlain<int> is_there;
    };

    sync::BasicTaskPool<Atomics> pool;
    Work work;

    static void body(const void* context, std::uint64_t from, std::uint64_t to)
    {
        auto& own = *static_cast<Work*>(const_cast<void*>(context));
        const int is_there = own.is_there;
        require(is_there == 1, "the task is there while one works for it");
        for (std::uint64_t piece = from; piece < to; ++piece) {
            const int before = own.done[piece];
            own.done[piece] = before + 1;
        }
    }

    void thread(unsigned own)
    {
        for (unsigned task = 0; task < tasks; ++task) {
            if (own != 0) {
                (void)pool.help();
                continue;
            }
            for (auto& piece : work.done) {
                piece = 0;
            }
            work.is_there = 1;
            sync::BasicTask<Atomics> made(pieces, 1, &body, &work);
            pool.run(made, [] {});
            for (auto& piece : work.done) {
                const int done = piece;
                require(done == 1, "each piece is done once");
            }
            work.is_there = 0;
        }
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
    right &= holds<Pool<Weakening::none, 2, 1, 2>>("one task", several);
    right &= holds<Pool<Weakening::none, 2, 2, 2>>("a task after another", several);
    right &= holds<Pool<Weakening::none, 3, 1, 2>>("two visitors", few);
    right &= is_refuted<Pool<Weakening::no_release, 2, 2, 2>>("without release", several);
    right &= is_refuted<Pool<Weakening::no_acquire, 2, 2, 2>>("without acquire", several);
    right &= is_refuted<Pool<Weakening::no_total_order, 2, 2, 2>>("without total order", several);
    return right ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
//
// The completion queue of a sync object: completers against one that waits for the end, attaches
// more while the end is being told, takes what completed, and frees the queue.
#include "sync/completion_queue.hpp"

#include "model_atomics.hpp"

namespace headway::model {
namespace {

/// Completer i delivers item i. The last thread is the consumer.
template <Weakening weakening, unsigned completers>
struct Completions {
    using Atomics = ModelAtomics<weakening>;
    struct Item : sync::BasicListLink<Atomics> {
        ModelPlain<int> result;
    };

    sync::BasicCompletionQueue<Atomics> queue;
    Item items[completers];
    ModelPlain<unsigned> end;  ///< which end is to be told; as SyncObject::awaited
    ModelAtomic<unsigned, weakening> told[2];
    ModelPlain<int> freed;

    void expect_all()
    {
        for (Item& item : items) {
            item.result = 0;
            queue.expect();
        }
        freed = 0;
        end = 0;
    }
    void complete(unsigned index)
    {
        items[index].result = 1;
        if (queue.deliver(&items[index])) {
            told[end].fetch_add(1, std::memory_order_release);
        }
    }
    unsigned take()
    {
        unsigned count = 0;
        for (auto* link = queue.take_all(); link != nullptr; ++count) {
            require(static_cast<Item*>(link)->result == 1, "a completion is seen with its result");
            link = link->next;
        }
        return count;
    }
    bool is_told(unsigned which) { return told[which].load(std::memory_order_acquire) != 0; }
    void await(unsigned which)
    {
        end = which;
        if (queue.begin_wait()) {
            told[which].fetch_add(1, std::memory_order_release);
        }
        while (!is_told(which)) {
            Atomics::pause(0);
        }
        queue.end_wait();
    }
};

/// The consumer waits for all: told once, and all are there.
template <Weakening weakening, unsigned completers>
struct WaitForAll : rl::test_suite<WaitForAll<weakening, completers>, completers + 1>,
                    Completions<weakening, completers> {
    void before() { this->expect_all(); }
    void thread(unsigned index)
    {
        if (index < completers) {
            this->complete(index);
            return;
        }
        const unsigned before = this->take();
        this->await(0);
        require(before + this->take() == completers, "all are there when the end is told");
        this->freed = 1;
    }
    void after()
    {
        require(this->told[0].load(std::memory_order_relaxed) == 1, "told once");
        require(!this->queue.is_in_use(), "nobody is left");
    }
};

/// While one waits, another thread of the rank (here: the same, by turns) attaches item 1, perhaps
/// while the first end is being told; then the next end is waited for. A careless one does not wait
/// until the first end has been told.
template <Weakening weakening, bool is_careless>
struct AttachWhileWaiting : rl::test_suite<AttachWhileWaiting<weakening, is_careless>, 3>,
                            Completions<weakening, 2> {
    ModelAtomic<unsigned, weakening> published;

    void before()
    {
        this->items[0].result = 0;
        this->items[1].result = 0;
        this->queue.expect();
        this->freed = 0;
        this->end = 0;
    }
    void thread(unsigned index)
    {
        if (index == 0) {
            this->complete(0);
        } else if (index == 1) {
            while (published.load(std::memory_order_acquire) == 0) {
                ModelAtomics<weakening>::pause(0);
            }
            this->complete(1);
        } else {
            consume();
        }
    }
    void consume()
    {
        this->end = 0;
        if (this->queue.begin_wait()) {
            this->told[0].fetch_add(1, std::memory_order_release);
        }
        this->queue.expect();
        const bool is_covered = this->queue.is_awaited();
        published.store(1, std::memory_order_release);
        while ((is_covered || !is_careless) && !this->is_told(0)) {
            ModelAtomics<weakening>::pause(0);
        }
        this->queue.end_wait();
        unsigned taken = this->take();
        if (is_covered) {
            require(taken == 2, "the end was that of both");
            return;
        }
        this->await(1);
        taken += this->take();
        require(taken == 2, "both are there after the second end");
    }
    void after() { require(!this->queue.is_in_use(), "nobody is left"); }
};

/// The consumer polls, and frees the queue when it has all and is_in_use() says so.
template <Weakening weakening>
struct PollAndFree : rl::test_suite<PollAndFree<weakening>, 3>, Completions<weakening, 2> {
    void before() { this->expect_all(); }
    void thread(unsigned index)
    {
        if (index < 2) {
            this->items[index].result = 1;
            // Stands for the memory of the queue: read before the last touch of it.
            require(this->freed == 0, "the queue is there");
            require(!this->queue.deliver(&this->items[index]), "nobody waits");
            return;
        }
        unsigned taken = 0;
        while ((taken += this->take()) < 2) {
            ModelAtomics<weakening>::pause(0);
        }
        while (this->queue.is_in_use()) {
            ModelAtomics<weakening>::pause(0);
        }
        this->freed = 1;
    }
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
    right &= holds<WaitForAll<none, 1>>("wait for one", bounded);
    right &= holds<WaitForAll<none, 2>>("wait for two", bounded);
    right &= holds<WaitForAll<none, 3>>("wait for three", random);
    right &= holds<AttachWhileWaiting<none, false>>("attach while the end is told", bounded);
    right &= holds<PollAndFree<none>>("poll and free", bounded);
    right &= is_refuted<WaitForAll<no_release, 2>>("wait without release", bounded);
    right &= is_refuted<WaitForAll<no_acquire, 2>>("wait without acquire", bounded);
    right &= is_refuted<AttachWhileWaiting<none, true>>("two ends at once", bounded);
    right &= is_refuted<PollAndFree<no_release>>("free without release", bounded);
    right &= is_refuted<PollAndFree<no_acquire>>("free without acquire", bounded);
    return right ? 0 : 1;
}

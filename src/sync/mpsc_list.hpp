// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "platform/atomic.hpp"

namespace headway::sync {

/// First member (or base) of what goes into a list. `next` is written by the pusher before it
/// publishes, afterwards by the taker alone.
template <typename Atomics>
struct BasicListLink {
    typename Atomics::template Plain<BasicListLink*> next{};
};

/// Intrusive list with many producers, in any process of the node, and one consumer that takes
/// everything at once. It holds no nodes back, so there is no ABA problem.
/// All bytes zero: an empty list.
template <typename Atomics>
class BasicMpscList {
  public:
    using Link = BasicListLink<Atomics>;

    BasicMpscList() noexcept : head_(nullptr) {}

    /// Gives `link` to the consumer. True: the list was empty, so the consumer may have to be told.
    /// Thread rule: any thread; `link` is in no list.
    bool push(Link* link) noexcept
    {
        // Relaxed: the value is only linked to, never followed here.
        Link* seen = head_.load(std::memory_order_relaxed);
        do {
            link->next = seen;
            // (1) release, pairs with (2): contents and link are visible to the taker. Later
            // pushes are read-modify-writes, so they keep this release sequence whole.
        } while (!head_.compare_exchange_weak(seen, link, std::memory_order_release,
                                              std::memory_order_relaxed));
        return seen == nullptr;
    }

    /// Everything pushed so far, oldest first, linked by `next`; null if there is nothing.
    /// Thread rule: the consumer.
    Link* take_all() noexcept
    {
        if (is_empty()) {
            return nullptr;
        }
        // (2) acquire, pairs with (1).
        Link* newest = head_.exchange(nullptr, std::memory_order_acquire);
        Link* oldest = nullptr;
        while (newest != nullptr) {
            Link* older = newest->next;
            newest->next = oldest;
            oldest = newest;
            newest = older;
        }
        return oldest;
    }

    /// Relaxed: a hint for anyone; a push seen late is taken next time.
    bool is_empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

  private:
    // Written by producers and the consumer.
    typename Atomics::template Atomic<Link*> head_;
};

using ListLink = BasicListLink<platform::RealAtomics>;
using MpscList = BasicMpscList<platform::RealAtomics>;

}  // namespace headway::sync

// SPDX-License-Identifier: Apache-2.0
#include "platform/current_rank.hpp"

#include <atomic>

namespace headway::platform {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit void* rank_of_thread = nullptr;

[[gnu::tls_model("initial-exec")]] thread_local constinit ThreadRing ring_of_thread;

// Written by the thread that initialises or finalises the process's rank, read by all threads.
std::atomic<void*> only_rank{nullptr};

}  // namespace

void* current_rank() noexcept
{
    if (rank_of_thread != nullptr) {
        return rank_of_thread;
    }
    // (2) acquire, pairs with (1).
    return only_rank.load(std::memory_order_acquire);
}

void set_current_rank(void* rank) noexcept
{
    rank_of_thread = rank;
}

void set_only_rank(void* rank) noexcept
{
    // (1) release, pairs with (2): the rank is built when other threads see it.
    only_rank.store(rank, std::memory_order_release);
}

ThreadRing& thread_ring() noexcept
{
    return ring_of_thread;
}

}  // namespace headway::platform

// SPDX-License-Identifier: Apache-2.0
#include "platform/current_rank.hpp"

namespace headway::platform {

namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit ThreadRing ring_of_thread;

}  // namespace

[[gnu::tls_model("initial-exec")]] thread_local constinit void* RankOfCaller::of_thread = nullptr;
constinit std::atomic<void*> RankOfCaller::only{nullptr};

void set_current_rank(void* rank) noexcept
{
    RankOfCaller::of_thread = rank;
}

void set_only_rank(void* rank) noexcept
{
    // (1) release, pairs with (2): the rank is built when other threads see it.
    RankOfCaller::only.store(rank, std::memory_order_release);
}

ThreadRing& thread_ring() noexcept
{
    return ring_of_thread;
}

}  // namespace headway::platform

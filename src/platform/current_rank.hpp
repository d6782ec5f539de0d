// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace headway::platform {

/// Behind current_rank() and the functions that set it; hidden, so that a look does not go through
/// the global offset table.
struct RankOfCaller {
    [[gnu::visibility("hidden"),
      gnu::tls_model("initial-exec")]] static thread_local constinit void* of_thread;
    // Written by the thread that initialises or finalises the process's rank, read by all threads.
    [[gnu::visibility("hidden")]] static constinit std::atomic<void*> only;
};

/// The rank on whose behalf a thread calls the library. Opaque here: it belongs to the object
/// layer. These facts are all that the library keeps outside of its objects.

/// The calling thread's rank, else the process's only one (so that threads Headway never saw are
/// served where it is clear whom they serve), else null.
inline void* current_rank() noexcept
{
    void* const rank = RankOfCaller::of_thread;
    // (2) acquire, pairs with (1).
    return rank != nullptr ? rank : RankOfCaller::only.load(std::memory_order_acquire);
}

/// Says whose thread this is; null: nobody's.
void set_current_rank(void* rank) noexcept;

/// Says that the process hosts one rank; null: none, or several.
void set_only_rank(void* rank) noexcept;

/// What a thread keeps for the observe layer, opaque here: its ring, and a token that says whose
/// ring it is, for a thread may outlive what it belonged to. Asked only while a job is observed.
struct ThreadRing {
    std::uint64_t owner = 0;
    void* ring = nullptr;
};
ThreadRing& thread_ring() noexcept;

}  // namespace headway::platform

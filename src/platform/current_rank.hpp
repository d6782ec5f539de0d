// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headway::platform {

/// The rank on whose behalf a thread calls the library. Opaque here: it belongs to the object
/// layer. These facts are all that the library keeps outside of its objects.

/// The calling thread's rank, else the process's only one (so that threads Headway never saw are
/// served where it is clear whom they serve), else null.
void* current_rank() noexcept;

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

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headway::platform {

/// The rank on whose behalf a thread calls the library. Opaque here: it belongs to the object
/// layer. These two facts are all that the library keeps outside of its objects.

/// The calling thread's rank, else the process's only one (so that threads Headway never saw are
/// served where it is clear whom they serve), else null.
void* current_rank() noexcept;

/// Says whose thread this is; null: nobody's.
void set_current_rank(void* rank) noexcept;

/// Says that the process hosts one rank; null: none, or several.
void set_only_rank(void* rank) noexcept;

}  // namespace headway::platform

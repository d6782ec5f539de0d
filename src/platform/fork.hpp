// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headway::platform {

/// From now on every child that fork() makes runs `in_child` before fork() returns in it; for the
/// life of the process. Children by posix_spawn(), system() and vfork() do not: they run another
/// program. `in_child` may do only what is allowed between fork and exec. False: no memory.
[[nodiscard]] bool tell_forked_children(void (*in_child)()) noexcept;

}  // namespace headway::platform

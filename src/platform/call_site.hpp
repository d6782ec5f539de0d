// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace headway::platform {

/// Return addresses of the calling thread, the innermost first.
struct Frames {
    static constexpr std::size_t frames_max = 32;

    std::array<void*, frames_max> addresses{};
    std::size_t count = 0;
};

/// Where the application called MPI.
struct CallSite {
    std::string function;  ///< "MPI_Recv"; "MPI" where nobody knows
    std::string place;     ///< "main.c:31", "solve+0x1c in a.out", or nothing
};

/// Thread rule: any thread. For reports: takes microseconds, and memory at its first call.
Frames capture_frames() noexcept;

/// The call that the frames lead through: this library's outermost function and who called it.
/// Lines come from addr2line where the machine has it and the program has symbols; the program is
/// not to be at work, for this starts a process.
CallSite find_call_site(const Frames& frames);

}  // namespace headway::platform

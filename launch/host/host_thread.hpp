// SPDX-License-Identifier: Apache-2.0
// What a thread of the host program keeps: whose it is, and the program's thread-locals.
#pragma once

#include <cstddef>
#include <cstdint>

namespace headway::launch {

class HostedRank;

/// A destructor of a thread-local of the program, for the thread's end.
struct ThreadExitCall {
    void (*function)(void*);
    void* argument;
    ThreadExitCall* next;
};

struct HostThread {
    HostedRank* rank = nullptr;  ///< null: a thread of the host or of a shared library
    bool is_main = false;        ///< the one that runs main
    bool is_exiting = false;     ///< has called exit; what that runs may call it again
    ThreadExitCall* exit_calls = nullptr;
    void* signal_stack = nullptr;
};

/// The calling thread's.
HostThread& own_thread() noexcept;

/// Destroys the program's thread-locals of the calling thread, the last one made first.
void run_thread_exit_calls(HostThread& thread);

/// Whether the memory kept for thread-locals ends at the thread pointer, as programs expect.
bool is_reserve_at_thread_pointer() noexcept;

/// Gives back what of the reserve a program with so many bytes of thread-locals does not need.
/// Requires: the calling thread's stack is the C library's own, and the program has not begun.
void drop_unused_reserve(std::uint64_t bytes) noexcept;

/// Where a program's thread-locals start that are `bytes` long, in the calling thread.
void* thread_locals_of_program(std::uint64_t bytes) noexcept;

/// Gives the calling thread a stack for handlers of signals, so that it can say something when its
/// own is exhausted.
void make_signal_stack(HostThread& thread) noexcept;
void drop_signal_stack(HostThread& thread) noexcept;

}  // namespace headway::launch

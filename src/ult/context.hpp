// SPDX-License-Identifier: Apache-2.0
//
// A context is a place in a program's execution that can be left and entered again: a stack and a
// thread pointer, and on the stack what a function expects to find again after a call. Whoever
// enters it takes over thread-locals, `errno` and what the C library keeps of a thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace headway::ult {

struct Context {
    void* stack_pointer = nullptr;  ///< written when it is left
    void* thread_pointer = nullptr;
};

/// How a context comes into being: a kernel thread is born with a stack and thread-locals, leaves
/// both to the context, and sleeps on a small stack of its own.
struct Birth {
    enum : std::uint32_t {
        unborn,
        born,  ///< the context has been saved and may be entered
        home,  ///< the context has been left for good: its thread takes it back
    };

    Context context;
    void* bed = nullptr;  ///< upper end of the small stack
    /// A futex. Written by the thread (born) and by who sends the context home.
    std::atomic<std::uint32_t> word{unborn};
};

static_assert(offsetof(Context, stack_pointer) == 0 && offsetof(Context, thread_pointer) == 8);
static_assert(offsetof(Birth, bed) == 16 && offsetof(Birth, word) == 24);

extern "C" {
/// Leaves `from`, which is where the caller is, and enters `to`. Returns when somebody enters
/// `from`. Requires: nobody is in `to`.
void headway_ult_switch(Context* from, const Context* to) noexcept;

/// See Birth. Returns in whoever enters the context.
void headway_ult_give_birth(Birth* birth) noexcept;

/// Whether programs may write the thread pointer themselves; set by find_thread_pointer_access().
extern bool headway_ult_has_wrfsbase;
}

/// Before the first switch: asks the kernel how a thread pointer is written.
void find_thread_pointer_access() noexcept;

/// The stack that a birth thread sleeps on; it is written only if the C library sends its signals.
inline constexpr std::size_t bed_bytes = 16384;

/// The calling thread gives birth to `birth`'s context and sleeps with all signals blocked. Returns
/// in whoever enters the context; false, at once, if there is no memory for a bed.
[[nodiscard]] bool give_birth(Birth& birth) noexcept;

/// Waits until the context has been saved. Any thread but the birth's own.
void wait_for_birth(const Birth& birth) noexcept;

/// The context has been left for good: its thread goes on with it, signals still blocked.
/// Requires: born.
void send_home(Birth& birth) noexcept;

/// First act of the thread that has its context back.
void arrive_home(const Birth& birth) noexcept;

/// Gives back the bed. Requires: the thread is not in it.
void destroy_bed(Birth& birth) noexcept;

}  // namespace headway::ult

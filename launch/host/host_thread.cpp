// SPDX-License-Identifier: Apache-2.0
#include "host_thread.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "program_facts.hpp"
#include "tls_reserve.h"

namespace headway::launch {

static_assert(sizeof headway_tls_reserve == tls_reserve_bytes);

namespace {

constinit thread_local HostThread thread_of_host;

char* end_of_reserve() noexcept
{
    return headway_tls_reserve + sizeof headway_tls_reserve;
}

}  // namespace

HostThread& own_thread() noexcept
{
    return thread_of_host;
}

void run_thread_exit_calls(HostThread& thread)
{
    while (ThreadExitCall* const call = thread.exit_calls) {
        thread.exit_calls = call->next;
        call->function(call->argument);
        delete call;
    }
}

bool is_reserve_at_thread_pointer() noexcept
{
    return static_cast<void*>(end_of_reserve()) == __builtin_thread_pointer();
}

void* thread_locals_of_program(std::uint64_t bytes) noexcept
{
    return end_of_reserve() - bytes;
}

void drop_unused_reserve(std::uint64_t bytes) noexcept
{
    // Zeroed pages of the stack's mapping: gone, they are zero again when they are touched.
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const std::uintptr_t begin =
        (reinterpret_cast<std::uintptr_t>(headway_tls_reserve) + page - 1) & ~(page - 1);
    const std::uintptr_t end =
        reinterpret_cast<std::uintptr_t>(thread_locals_of_program(bytes)) & ~(page - 1);
    if (begin < end) {
        ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
    }
}

void make_signal_stack(HostThread& thread) noexcept
{
    const std::size_t bytes = 4 * static_cast<std::size_t>(MINSIGSTKSZ) + 16384;
    thread.signal_stack = std::malloc(bytes);
    if (thread.signal_stack != nullptr) {
        stack_t stack{};
        stack.ss_sp = thread.signal_stack;
        stack.ss_size = bytes;
        ::sigaltstack(&stack, nullptr);
    }
}

void drop_signal_stack(HostThread& thread) noexcept
{
    if (thread.signal_stack != nullptr) {
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        ::sigaltstack(&none, nullptr);
        std::free(thread.signal_stack);
        thread.signal_stack = nullptr;
    }
}

}  // namespace headway::launch

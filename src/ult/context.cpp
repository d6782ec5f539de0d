// SPDX-License-Identifier: Apache-2.0
#include "ult/context.hpp"

#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <utility>

#include "platform/futex.hpp"

extern "C" {
[[gnu::visibility("hidden")]] bool headway_ult_has_wrfsbase = false;
}

namespace headway::ult {

void find_thread_pointer_access() noexcept
{
    constexpr unsigned long fsgsbase_bit = 2;  // HWCAP2_FSGSBASE of the kernel's ABI
    headway_ult_has_wrfsbase = (::getauxval(AT_HWCAP2) & fsgsbase_bit) != 0;
}

bool give_birth(Birth& birth) noexcept
{
    void* const bed = ::mmap(nullptr, bed_bytes, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (bed == MAP_FAILED) {
        return false;
    }
    birth.bed = static_cast<char*>(bed) + bed_bytes;
    birth.context.thread_pointer = __builtin_thread_pointer();
    // A handler would run with thread-locals that are the context's by then. The C library's own
    // two signals stay: theirs touch none.
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    headway_ult_give_birth(&birth);
    return true;
}

void wait_for_birth(const Birth& birth) noexcept
{
    // (1) acquire, pairs with the store of `born` in context.S.
    while (birth.word.load(std::memory_order_acquire) == Birth::unborn) {
        (void)platform::system_wait(birth.word, Birth::unborn, platform::Deadline::never().ns());
    }
}

void send_home(Birth& birth) noexcept
{
    // (2) release, pairs with (3) and the load of `home` in context.S: what the context did is seen
    // there.
    birth.word.store(Birth::home, std::memory_order_release);
    platform::system_wake(birth.word, 1);
}

void arrive_home(const Birth& birth) noexcept
{
    // (3) acquire, pairs with (2): said once more here, for those who cannot read context.S.
    (void)birth.word.load(std::memory_order_acquire);
}

void destroy_bed(Birth& birth) noexcept
{
    if (void* const bed = std::exchange(birth.bed, nullptr); bed != nullptr) {
        ::munmap(static_cast<char*>(bed) - bed_bytes, bed_bytes);
    }
}

}  // namespace headway::ult

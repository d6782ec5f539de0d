// SPDX-License-Identifier: Apache-2.0
#include "platform/thread.hpp"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace headway::platform {

void name_thread(const char* name) noexcept
{
    ::pthread_setname_np(::pthread_self(), name);
    if (own_scheduler != nullptr) {
        own_scheduler->name_seat(name);
    }
}

void allow_cpus(const std::vector<unsigned>& cpus) noexcept
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    for (const unsigned cpu : cpus) {
        if (cpu < CPU_SETSIZE) {
            CPU_SET(cpu, &allowed);
        }
    }
    ::sched_setaffinity(0, sizeof allowed, &allowed);
}

unsigned current_processor() noexcept
{
    const int processor = ::sched_getcpu();
    return processor < 0 ? 0 : static_cast<unsigned>(processor);
}

bool change_processor() noexcept
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    const unsigned here = current_processor();
    if (here >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return false;
    }
    cpu_set_t others = allowed;
    CPU_CLR(here, &others);
    const bool has_moved =
        CPU_COUNT(&others) != 0 && ::sched_setaffinity(0, sizeof others, &others) == 0;
    if (has_moved) {
        (void)::sched_setaffinity(0, sizeof allowed, &allowed);
    }
    return has_moved;
}

void give_way() noexcept
{
    const sched_param none{};
    (void)::sched_setscheduler(0, SCHED_BATCH, &none);
}

void give_way_to_all() noexcept
{
    const sched_param none{};
    (void)::sched_setscheduler(0, SCHED_IDLE, &none);
}

void take_short_turns() noexcept
{
    // Who started the program in another class wants its threads to give way, or to go first.
    if (::sched_getscheduler(0) != SCHED_OTHER) {
        return;
    }
    // As the system defines it; its own header stands in the way of the C library's.
    struct Attributes {
        std::uint32_t size = sizeof(Attributes);
        std::uint32_t policy = SCHED_OTHER;
        std::uint64_t flags = 0;
        std::int32_t nice = 0;
        std::uint32_t priority = 0;
        std::uint64_t runtime_ns = 100'000;  // the shortest turn there is
        std::uint64_t deadline_ns = 0;
        std::uint64_t period_ns = 0;
    } attributes;
    attributes.nice = ::getpriority(PRIO_PROCESS, 0);
    (void)::syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

SignalsBlocked::SignalsBlocked() noexcept
{
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked()
{
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace headway::platform

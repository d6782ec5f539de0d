// SPDX-License-Identifier: Apache-2.0
// Threads that ranks start belong to their rank.
#include <pthread.h>
#include <threads.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>

#include "hosted_rank.hpp"
#include "libc_face.hpp"
#include "libc_functions.hpp"
#include "program_facts.hpp"
#include "rank_crew.hpp"

using headway::launch::asking_rank;
using headway::launch::HostedRank;
using headway::launch::HostThread;
using headway::launch::libc_functions;
using headway::launch::own_thread;
using headway::launch::RankCrew;
using headway::launch::ThreadExitCall;

namespace {

struct Start {
    HostedRank* rank;
    void* (*routine)(void*);
    int (*c_routine)(void*);
    void* argument;
};

/// Runs however a thread ends: return, pthread_exit, cancellation.
void end_thread(void* value)
{
    auto* const thread = static_cast<HostThread*>(value);
    headway::launch::run_thread_exit_calls(*thread);
    headway::launch::drop_signal_stack(*thread);
    thread->rank->count_thread_ended();
}

pthread_key_t end_key() noexcept
{
    static const pthread_key_t key = [] {
        pthread_key_t made{};
        ::pthread_key_create(&made, &end_thread);
        return made;
    }();
    return key;
}

void* run_thread(void* argument)
{
    const std::unique_ptr<Start> owner(static_cast<Start*>(argument));
    const Start start = *owner;
    if (const RankCrew* const crew = RankCrew::of_process(); crew != nullptr) {
        crew->release_thread();
    }
    start.rank->adopt_thread();
    ::pthread_setspecific(end_key(), &own_thread());
    if (start.c_routine != nullptr) {
        return reinterpret_cast<void*>(static_cast<std::intptr_t>(start.c_routine(start.argument)));
    }
    return start.routine(start.argument);
}

int create(const Start& start, pthread_t* thread, const pthread_attr_t* attributes)
{
    auto owned = std::unique_ptr<Start>(new (std::nothrow) Start(start));
    if (owned == nullptr) {
        return EAGAIN;
    }
    (void)end_key();
    // libc takes thread-locals from the stack: the program's choice does not know of ours.
    pthread_attr_t own{};
    const pthread_attr_t* chosen = attributes;
    void* stack = nullptr;
    std::size_t bytes = 0;
    if (attributes != nullptr && ::pthread_attr_getstack(attributes, &stack, &bytes) == 0 &&
        (stack == nullptr || reinterpret_cast<std::uintptr_t>(stack) + bytes == 0)) {
        own = *attributes;
        if (::pthread_attr_getstacksize(attributes, &bytes) == 0) {
            ::pthread_attr_setstacksize(&own, bytes + headway::launch::tls_reserve_bytes);
        }
        chosen = &own;
    }
    start.rank->count_thread_started();
    const int error = libc_functions().pthread_create(thread, chosen, &run_thread, owned.get());
    if (error != 0) {
        start.rank->count_thread_ended();
        return error;
    }
    (void)owned.release();
    return 0;
}

[[noreturn]] void exit_thread(HostedRank* rank, void* value)
{
    if (rank != nullptr && own_thread().is_main) {
        // The process of a program lives on until its last thread has ended.
        rank->wait_for_other_threads();
        rank->exit(0);
    }
    libc_functions().pthread_exit(value);
    __builtin_unreachable();
}

}  // namespace

HEADWAY_FACE int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                void* (*routine)(void*), void* argument)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr) {
        return libc_functions().pthread_create(thread, attributes, routine, argument);
    }
    return create({rank, routine, nullptr, argument}, thread, attributes);
}

HEADWAY_FACE void pthread_exit(void* value)
{
    exit_thread(asking_rank(__builtin_return_address(0)), value);
}

HEADWAY_FACE int thrd_create(thrd_t* thread, int (*routine)(void*), void* argument)
{
    const Start start{asking_rank(__builtin_return_address(0)), nullptr, routine, argument};
    if (start.rank == nullptr) {
        return thrd_error;
    }
    const int error = create(start, thread, nullptr);
    return error == 0 ? thrd_success : error == ENOMEM ? thrd_nomem : thrd_error;
}

HEADWAY_FACE void thrd_exit(int value)
{
    exit_thread(asking_rank(__builtin_return_address(0)),
                reinterpret_cast<void*>(static_cast<std::intptr_t>(value)));
}

HEADWAY_FACE int __cxa_thread_atexit_impl(void (*function)(void*), void* argument, void* owner)
{
    if (asking_rank(__builtin_return_address(0)) == nullptr) {
        return libc_functions().add_thread_exit_call(function, argument, owner);
    }
    HostThread& thread = own_thread();
    auto* const call = new (std::nothrow) ThreadExitCall{function, argument, thread.exit_calls};
    if (call == nullptr) {
        return -1;
    }
    thread.exit_calls = call;
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Start and end of a program.
#include <err.h>
#include <error.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "host.hpp"
#include "hosted_rank.hpp"
#include "libc_face.hpp"
#include "libc_functions.hpp"

using headway::launch::asking_rank;
using headway::launch::Host;
using headway::launch::HostedRank;
using headway::launch::libc_functions;

namespace {

/// The child of a fork is a process, so its exit is one: what its program has registered, and
/// nothing of the host's.
[[noreturn]] void exit_child(HostedRank& rank, int code)
{
    rank.take_down(code);
    Host::of_process()->drop_output_of_others(rank);
    std::fflush(nullptr);
    libc_functions().immediate_exit(code);
    __builtin_unreachable();
}

[[noreturn]] void exit_as(HostedRank* rank, int code)
{
    if (rank == nullptr) {
        libc_functions().exit(code);
        __builtin_unreachable();
    }
    if (!Host::of_process()->is_host_process()) {
        exit_child(*rank, code);
    }
    rank->exit(code);
}

[[noreturn]] void end_now_as(HostedRank* rank, int code)
{
    if (rank == nullptr || !Host::of_process()->is_host_process()) {
        libc_functions().immediate_exit(code);
        __builtin_unreachable();
    }
    rank->end_now(code);
}

void print_error(int error, const char* place, const char* format, std::va_list arguments)
{
    std::fflush(stdout);
    std::fprintf(stderr, "%s:%s ", program_invocation_name, place);
    std::vfprintf(stderr, format, arguments);
    if (error != 0) {
        std::fprintf(stderr, ": %s", std::strerror(error));
    }
    std::fputc('\n', stderr);
    std::fflush(stderr);
    ++error_message_count;
}

}  // namespace

HEADWAY_FACE int __libc_start_main(int (*main)(int, char**, char**), int argument_count,
                                   char** arguments, int (*init)(int, char**, char**),
                                   void (*fini)(), void (*loader_fini)(), void* stack_end)
{
    HostedRank* const rank = headway::launch::own_thread().rank;
    if (rank == nullptr) {
        // The host program's own start.
        return libc_functions().start_main(main, argument_count, arguments, init, fini, loader_fini,
                                           stack_end);
    }
    rank->start_main(main, argument_count, arguments, init);
}

HEADWAY_FACE void exit(int code)
{
    exit_as(asking_rank(__builtin_return_address(0)), code);
}

HEADWAY_FACE void _exit(int code)
{
    end_now_as(asking_rank(__builtin_return_address(0)), code);
}

HEADWAY_FACE void _Exit(int code)
{
    end_now_as(asking_rank(__builtin_return_address(0)), code);
}

HEADWAY_FACE void quick_exit(int code)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr || !Host::of_process()->is_host_process()) {
        libc_functions().quick_exit(code);
        __builtin_unreachable();
    }
    rank->quick_exit(code);
}

HEADWAY_FACE int __cxa_atexit(void (*function)(void*), void* argument, void* owner)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr || !rank->image().has(owner)) {
        return libc_functions().add_exit_call(function, argument, owner);
    }
    return rank->add_exit_call(function, argument, owner) ? 0 : -1;
}

HEADWAY_FACE void __cxa_finalize(void* owner)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr || !rank->image().has(owner)) {
        libc_functions().run_exit_calls(owner);
        return;
    }
    rank->run_exit_calls(owner, 0);
}

HEADWAY_FACE int on_exit(void (*function)(int, void*), void* argument)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr) {
        return libc_functions().add_exit_call_with_code(function, argument);
    }
    return rank->add_exit_call(function, argument) ? 0 : -1;
}

HEADWAY_FACE int __cxa_at_quick_exit(void (*function)(void*), void* owner)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr || !rank->image().has(owner)) {
        return libc_functions().add_quick_exit_call(function, owner);
    }
    return rank->add_quick_exit_call(function, nullptr) ? 0 : -1;
}

HEADWAY_FACE void verr(int code, const char* format, std::va_list arguments)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    ::vwarn(format, arguments);
    exit_as(rank, code);
}

HEADWAY_FACE void verrx(int code, const char* format, std::va_list arguments)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    ::vwarnx(format, arguments);
    exit_as(rank, code);
}

HEADWAY_FACE void err(int code, const char* format, ...)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    std::va_list arguments;
    va_start(arguments, format);
    ::vwarn(format, arguments);
    va_end(arguments);
    exit_as(rank, code);
}

HEADWAY_FACE void errx(int code, const char* format, ...)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    std::va_list arguments;
    va_start(arguments, format);
    ::vwarnx(format, arguments);
    va_end(arguments);
    exit_as(rank, code);
}

HEADWAY_FACE void error(int code, int number, const char* format, ...)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    std::va_list arguments;
    va_start(arguments, format);
    print_error(number, "", format, arguments);
    va_end(arguments);
    if (code != 0) {
        exit_as(rank, code);
    }
}

HEADWAY_FACE void error_at_line(int code, int number, const char* file, unsigned line,
                                const char* format, ...)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    const std::string place =
        file == nullptr ? "" : std::string(file) + ":" + std::to_string(line) + ":";
    std::va_list arguments;
    va_start(arguments, format);
    print_error(number, place.c_str(), format, arguments);
    va_end(arguments);
    if (code != 0) {
        exit_as(rank, code);
    }
}

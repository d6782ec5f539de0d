// SPDX-License-Identifier: Apache-2.0
// Another program in the place of this one: in the child of a fork, with the environment of the
// rank that forked. In the host itself it would take the place of all ranks.
#include <unistd.h>

#include <cstdarg>
#include <vector>

#include "host.hpp"
#include "hosted_rank.hpp"
#include "libc_face.hpp"
#include "libc_functions.hpp"

using headway::launch::asking_rank;
using headway::launch::Host;
using headway::launch::HostedRank;
using headway::launch::libc_functions;

namespace {

void demand_child(HostedRank* rank)
{
    if (rank != nullptr && Host::of_process()->is_host_process()) {
        Host::of_process()->end_job(*rank, 1,
                                    "cannot become another program (exec), as it is a thread of "
                                    "a process with other ranks; run it with --ranks process");
    }
}

char* const* environment_of(HostedRank* rank)
{
    return rank != nullptr ? rank->environment().array() : environ;
}

/// The words of execl and its kin, from `first` to a null; the list then stands behind it.
std::vector<char*> words_of(const char* first, std::va_list& list)
{
    std::vector<char*> words;
    for (const char* each = first; each != nullptr; each = va_arg(list, const char*)) {
        words.push_back(const_cast<char*>(each));
    }
    words.push_back(nullptr);
    return words;
}

}  // namespace

HEADWAY_FACE int execve(const char* path, char* const* words, char* const* environment)
{
    demand_child(asking_rank(__builtin_return_address(0)));
    return libc_functions().execve(path, words, environment);
}

HEADWAY_FACE int fexecve(int descriptor, char* const* words, char* const* environment)
{
    demand_child(asking_rank(__builtin_return_address(0)));
    return libc_functions().fexecve(descriptor, words, environment);
}

HEADWAY_FACE int execv(const char* path, char* const* words)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    demand_child(rank);
    return libc_functions().execve(path, words, environment_of(rank));
}

HEADWAY_FACE int execvp(const char* name, char* const* words)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    demand_child(rank);
    return libc_functions().execvpe(name, words, environment_of(rank));
}

HEADWAY_FACE int execvpe(const char* name, char* const* words, char* const* environment)
{
    demand_child(asking_rank(__builtin_return_address(0)));
    return libc_functions().execvpe(name, words, environment);
}

HEADWAY_FACE int execl(const char* path, const char* first, ...)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    demand_child(rank);
    std::va_list list;
    va_start(list, first);
    const std::vector<char*> words = words_of(first, list);
    va_end(list);
    return libc_functions().execve(path, words.data(), environment_of(rank));
}

HEADWAY_FACE int execlp(const char* name, const char* first, ...)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    demand_child(rank);
    std::va_list list;
    va_start(list, first);
    const std::vector<char*> words = words_of(first, list);
    va_end(list);
    return libc_functions().execvpe(name, words.data(), environment_of(rank));
}

HEADWAY_FACE int execle(const char* path, const char* first, ...)
{
    demand_child(asking_rank(__builtin_return_address(0)));
    std::va_list list;
    va_start(list, first);
    const std::vector<char*> words = words_of(first, list);
    char* const* const environment = va_arg(list, char* const*);
    va_end(list);
    return libc_functions().execve(path, words.data(), environment);
}

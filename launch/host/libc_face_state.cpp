// SPDX-License-Identifier: Apache-2.0
// State that libc keeps once a process: each rank has its own. A thread of the host gets what
// belongs to nobody, as it has no use for any of it.
#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

#include "hosted_rank.hpp"
#include "libc_face.hpp"
#include "libc_functions.hpp"

using headway::launch::asking_rank;
using headway::launch::HostedRank;
using headway::launch::libc_functions;
using headway::launch::LibcState;
using headway::launch::OptionReader;
using headway::launch::state_of;

namespace {

int draw(LibcState& state)
{
    const std::lock_guard lock(state.mutex);
    std::int32_t value = 0;
    ::random_r(&state.random, &value);
    return value;
}

void seed(LibcState& state, unsigned value)
{
    const std::lock_guard lock(state.mutex);
    ::srandom_r(value, &state.random);
}

template <typename Value, typename Function, typename... Arguments>
Value draw_48(LibcState& state, Function function, Arguments... arguments)
{
    const std::lock_guard lock(state.mutex);
    Value value{};
    function(arguments..., &state.drand48, &value);
    return value;
}

int next_option(HostedRank* rank, int count, char* const* words, const OptionReader::Choice& choice)
{
    if (rank == nullptr) {
        return -1;  // nobody but programs has a command line
    }
    return rank->libc().options.next(count, const_cast<char**>(words), choice,
                                     rank->option_variables(),
                                     rank->environment().get("POSIXLY_CORRECT") != nullptr);
}

}  // namespace

HEADWAY_FACE char* getenv(const char* name)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    return rank == nullptr ? libc_functions().getenv(name) : rank->environment().get(name);
}

HEADWAY_FACE char* secure_getenv(const char* name)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    return rank == nullptr ? libc_functions().secure_getenv(name) : rank->environment().get(name);
}

HEADWAY_FACE int setenv(const char* name, const char* value, int overwrites)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr) {
        return libc_functions().setenv(name, value, overwrites);
    }
    if (!rank->environment().set(name, value, overwrites != 0)) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

HEADWAY_FACE int unsetenv(const char* name)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr) {
        return libc_functions().unsetenv(name);
    }
    if (!rank->environment().unset(name)) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

HEADWAY_FACE int putenv(char* assignment)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr) {
        return libc_functions().putenv(assignment);
    }
    rank->environment().put(assignment);
    return 0;
}

HEADWAY_FACE int clearenv()
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr) {
        return libc_functions().clearenv();
    }
    rank->environment().clear();
    return 0;
}

HEADWAY_FACE ssize_t readlink(const char* path, char* into, std::size_t bytes)
{
    HostedRank* const rank = asking_rank(__builtin_return_address(0));
    if (rank == nullptr || std::strcmp(path, "/proc/self/exe") != 0) {
        return libc_functions().readlink(path, into, bytes);
    }
    const std::string& program = rank->program_path();
    return static_cast<ssize_t>(program.copy(into, bytes));
}

HEADWAY_FACE int rand()
{
    return draw(state_of(asking_rank(__builtin_return_address(0))));
}

HEADWAY_FACE void srand(unsigned value)
{
    seed(state_of(asking_rank(__builtin_return_address(0))), value);
}

HEADWAY_FACE long random()
{
    return draw(state_of(asking_rank(__builtin_return_address(0))));
}

HEADWAY_FACE void srandom(unsigned value)
{
    seed(state_of(asking_rank(__builtin_return_address(0))), value);
}

HEADWAY_FACE double drand48()
{
    return draw_48<double>(state_of(asking_rank(__builtin_return_address(0))), &::drand48_r);
}

HEADWAY_FACE double erand48(unsigned short* words)
{
    return draw_48<double>(state_of(asking_rank(__builtin_return_address(0))), &::erand48_r, words);
}

HEADWAY_FACE long lrand48()
{
    return draw_48<long>(state_of(asking_rank(__builtin_return_address(0))), &::lrand48_r);
}

HEADWAY_FACE long nrand48(unsigned short* words)
{
    return draw_48<long>(state_of(asking_rank(__builtin_return_address(0))), &::nrand48_r, words);
}

HEADWAY_FACE long mrand48()
{
    return draw_48<long>(state_of(asking_rank(__builtin_return_address(0))), &::mrand48_r);
}

HEADWAY_FACE long jrand48(unsigned short* words)
{
    return draw_48<long>(state_of(asking_rank(__builtin_return_address(0))), &::jrand48_r, words);
}

HEADWAY_FACE void srand48(long value)
{
    LibcState& state = state_of(asking_rank(__builtin_return_address(0)));
    const std::lock_guard lock(state.mutex);
    ::srand48_r(value, &state.drand48);
}

HEADWAY_FACE unsigned short* seed48(unsigned short* words)
{
    LibcState& state = state_of(asking_rank(__builtin_return_address(0)));
    const std::lock_guard lock(state.mutex);
    ::seed48_r(words, &state.drand48);
    return state.drand48.__old_x;
}

HEADWAY_FACE void lcong48(unsigned short* words)
{
    LibcState& state = state_of(asking_rank(__builtin_return_address(0)));
    const std::lock_guard lock(state.mutex);
    ::lcong48_r(words, &state.drand48);
}

HEADWAY_FACE char* strtok(char* text, const char* separators)
{
    LibcState& state = state_of(asking_rank(__builtin_return_address(0)));
    return ::strtok_r(text, separators, &state.strtok_rest);
}

HEADWAY_FACE int getopt(int count, char* const* words, const char* short_options)
{
    return next_option(asking_rank(__builtin_return_address(0)), count, words,
                       {short_options, nullptr, nullptr, false});
}

HEADWAY_FACE int getopt_long(int count, char* const* words, const char* short_options,
                             const option* long_options, int* long_index)
{
    return next_option(asking_rank(__builtin_return_address(0)), count, words,
                       {short_options, long_options, long_index, false});
}

HEADWAY_FACE int getopt_long_only(int count, char* const* words, const char* short_options,
                                  const option* long_options, int* long_index)
{
    return next_option(asking_rank(__builtin_return_address(0)), count, words,
                       {short_options, long_options, long_index, true});
}

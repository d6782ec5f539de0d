// SPDX-License-Identifier: Apache-2.0
// Functions of libc that the host program shows to programs in a version of its own, as libc has
// them.
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <time.h>

#include <cstdarg>
#include <cstdio>
#include <ctime>

namespace headway::launch {

struct LibcFunctions {
    int (*start_main)(int (*)(int, char**, char**), int, char**, int (*)(int, char**, char**),
                      void (*)(), void (*)(), void*);
    int (*pthread_create)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    void (*pthread_exit)(void*);
    void (*exit)(int);
    void (*immediate_exit)(int);
    void (*quick_exit)(int);
    int (*add_exit_call)(void (*)(void*), void*, void*);
    int (*add_exit_call_with_code)(void (*)(int, void*), void*);
    int (*add_quick_exit_call)(void (*)(void*), void*);
    void (*run_exit_calls)(void*);
    int (*add_thread_exit_call)(void (*)(void*), void*, void*);
    char* (*getenv)(const char*);
    char* (*secure_getenv)(const char*);
    int (*setenv)(const char*, const char*, int);
    int (*unsetenv)(const char*);
    int (*putenv)(char*);
    int (*clearenv)();
    int (*fclose)(std::FILE*);
    ssize_t (*readlink)(const char*, char*, std::size_t);
    int (*vfprintf_chk)(std::FILE*, int, const char*, std::va_list);
    int (*execve)(const char*, char* const*, char* const*);
    int (*execvpe)(const char*, char* const*, char* const*);
    int (*fexecve)(int, char* const*, char* const*);
    int (*sched_yield)();
    int (*usleep)(useconds_t);
    unsigned (*sleep)(unsigned);
    int (*nanosleep)(const timespec*, timespec*);
    int (*clock_nanosleep)(clockid_t, int, const timespec*, timespec*);
    void (*tzset)();
    std::tm* (*localtime_r)(const std::time_t*, std::tm*);
    std::tm* (*gmtime_r)(const std::time_t*, std::tm*);
    char* (*ctime_r)(const std::time_t*, char*);
    std::time_t (*mktime)(std::tm*);
    std::size_t (*strftime)(char*, std::size_t, const char*, const std::tm*);
    std::size_t (*strftime_l)(char*, std::size_t, const char*, const std::tm*, locale_t);
    std::size_t (*wcsftime)(wchar_t*, std::size_t, const wchar_t*, const std::tm*);
    std::size_t (*wcsftime_l)(wchar_t*, std::size_t, const wchar_t*, const std::tm*, locale_t);
    char* (*strptime)(const char*, const char*, std::tm*);
};

/// Any thread, also before main: looked up at the first call.
const LibcFunctions& libc_functions() noexcept;

}  // namespace headway::launch

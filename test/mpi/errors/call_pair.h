// SPDX-License-Identifier: Apache-2.0
// A collective and its I-form, made with the same wrong arguments.
#ifndef HEADWAY_TEST_CALL_PAIR_H
#define HEADWAY_TEST_CALL_PAIR_H

#include "../check.h"

// What a program's calls are made with; each program has its own.
struct arguments;

// A call on a common set of arguments; what the function does not take it leaves alone.
typedef int call_function(const struct arguments* a, MPI_Request* request);

#define CALL(name, ...)                                              \
    static int name(const struct arguments* a, MPI_Request* request) \
    {                                                                \
        (void)request;                                               \
        return __VA_ARGS__;                                          \
    }

struct call_pair {
    const char* name;
    call_function* blocking;
    call_function* started;
    int takes;  // bits of the program: which arguments the functions look at
};

// Both are refused with one of `classes`, which ends with -1. `what` says what is wrong.
static inline void refused_pair(struct check* t, const struct call_pair* pair, const char* what,
                                const struct arguments* arguments, const int* classes)
{
    const long failures = t->failures;
    MPI_Request request = MPI_REQUEST_NULL;
    check_refused(t, __FILE__, __LINE__, pair->name, pair->blocking(arguments, &request), classes);
    check_refused(t, __FILE__, __LINE__, pair->name, pair->started(arguments, &request), classes);
    if (t->failures != failures)
        fprintf(stderr, "errors: rows above are about %s\n", what);
}

#endif

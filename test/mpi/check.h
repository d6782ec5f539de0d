// SPDX-License-Identifier: Apache-2.0
// Checks for MPI test programs. A program includes this header once, defines
// `int test_main(void)` and gets its `main` from here.
//
// Ranks may be threads of one program (HEADWAY_TEAM=N), so a test keeps all its state in
// locals; `struct check` is the count of one rank and is handed from function to function.
// A failed check is printed and counted, and the test goes on, so that the other ranks are
// not left waiting. The exit code is 0 only if all checks of the rank held.
#ifndef HEADWAY_TEST_CHECK_H
#define HEADWAY_TEST_CHECK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__has_include)
#if __has_include(<headway/interface.h>)
#include <headway/interface.h>
#define CHECK_HAS_INTERFACE 1
#endif
#endif
#include "at_once.h"

// Exit code of a run that could not be made (not a failure, not a success).
enum { check_skipped = 77, check_printed_max = 20, check_guard_bytes = 32 };

struct check {
    const char* program;
    int rank;
    int size;
    long checks;
    long failures;
    // Rows with freed or garbage handles end some MPI libraries with a signal.
    int skip_garbage;
    // The library is an oracle known to leave the standard in a few rows, which are skipped.
    int lenient;
};

static inline int check_is_set(const char* name)
{
    const char* text = getenv(name);
    return text != NULL && strcmp(text, "1") == 0;
}

static inline struct check check_start(const char* program)
{
    struct check t = {
        program, -1, 0, 0, 0, check_is_set("CHECK_SKIP_GARBAGE"), check_is_set("CHECK_LENIENT")};
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.size);
    return t;
}

static inline void check_failed(struct check* t, const char* file, int line, const char* what,
                                long long got, long long want)
{
    ++t->failures;
    if (t->failures <= check_printed_max) {
        fprintf(stderr, "%s:%d: rank %d: %s: got %lld (0x%llx), expected %lld\n", file, line,
                t->rank, what, got, (unsigned long long)got, want);
    }
}

static inline int check_equal(struct check* t, const char* file, int line, const char* what,
                              long long got, long long want)
{
    ++t->checks;
    if (got == want)
        return 1;
    check_failed(t, file, line, what, got, want);
    return 0;
}

static inline int check_error_class(int code)
{
    int error_class = -1;
    return MPI_Error_class(code, &error_class) == MPI_SUCCESS ? error_class : -1;
}

// `classes` ends with -1. A call that succeeds although it had to be refused fails the check.
static inline void check_refused(struct check* t, const char* file, int line, const char* what,
                                 int code, const int* classes)
{
    const int got = code == MPI_SUCCESS ? MPI_SUCCESS : check_error_class(code);
    ++t->checks;
    for (const int* allowed = classes; *allowed != -1; ++allowed) {
        if (got == *allowed)
            return;
    }
    check_failed(t, file, line, what, got, classes[0]);
}

#define CHECK(t, condition) check_equal((t), __FILE__, __LINE__, #condition, (condition) ? 1 : 0, 1)
#define CHECK_INT(t, got, want) \
    check_equal((t), __FILE__, __LINE__, #got, (long long)(got), (long long)(want))
#define CHECK_CALL(t, call) check_equal((t), __FILE__, __LINE__, #call, (call), MPI_SUCCESS)
// The error class of the call is one of those named.
#define REFUSED(t, call, ...) \
    check_refused((t), __FILE__, __LINE__, #call, (call), (const int[]){__VA_ARGS__, -1})

// Ends the rank's count: prints the final line and returns the number of failures.
static inline int check_finish(struct check* t)
{
    if (t->checks == 0) {
        fprintf(stderr, "%s: rank %d: no check was made\n", t->program, t->rank);
        return 1;
    }
    if (t->failures != 0) {
        fprintf(stderr, "FAIL %s: rank %d of %d: %ld of %ld checks\n", t->program, t->rank, t->size,
                t->failures, t->checks);
        return 1;
    }
    if (t->rank <= 0)
        printf("ok %s: %d ranks, %ld checks\n", t->program, t->size, t->checks);
    fflush(stdout);
    return 0;
}

// Byte `i` of the pattern of `seed`; neighbouring seeds and shifted copies differ.
static inline unsigned char check_byte(uint64_t seed, size_t i)
{
    return (unsigned char)(seed * 0x9D + (seed >> 8) * 0x35 + i * 0x1F + (i >> 8) * 0x6B);
}

// Bytes i to i + 7 of the pattern in memory order (little-endian); i is a multiple of 8. Word by
// word, since a sanitizer looks at every access.
static inline uint64_t check_word(uint64_t seed, size_t i)
{
    const uint64_t steps = 0xD9BA9B7C5D3E1F00;  // byte k is k * 0x1F
    const uint64_t low = 0x7F7F7F7F7F7F7F7F;
    const uint64_t first = check_byte(seed, i) * (uint64_t)0x0101010101010101;
    // Added byte by byte: no carry passes the top bits.
    return ((first & low) + (steps & low)) ^ ((first ^ steps) & ~low);
}

static inline void check_fill(void* buffer, size_t size_bytes, uint64_t seed)
{
    unsigned char* bytes = buffer;
    size_t i = 0;
    for (; i + 8 <= size_bytes; i += 8) {
        const uint64_t word = check_word(seed, i);
        memcpy(bytes + i, &word, sizeof word);
    }
    for (; i < size_bytes; ++i)
        bytes[i] = check_byte(seed, i);
}

// Index of the first byte that differs from the pattern, or -1.
static inline long long check_differs(const void* buffer, size_t size_bytes, uint64_t seed)
{
    const unsigned char* bytes = buffer;
    uint64_t wrong = 0;
    size_t done = 0;
    for (; done + 8 <= size_bytes; done += 8) {
        uint64_t word;
        memcpy(&word, bytes + done, sizeof word);
        wrong |= word ^ check_word(seed, done);
    }
    for (; done < size_bytes; ++done)
        wrong |= (uint64_t)(bytes[done] ^ check_byte(seed, done));
    if (wrong == 0)
        return -1;
    for (size_t i = 0; i < size_bytes; ++i) {
        if (bytes[i] != check_byte(seed, i))
            return (long long)i;
    }
    return -1;
}
#define CHECK_PATTERN(t, buffer, size_bytes, seed)                                      \
    check_equal((t), __FILE__, __LINE__, "first wrong byte of " #buffer " (" #seed ")", \
                check_differs((buffer), (size_bytes), (seed)), -1)

// splitmix64: the next number of a stream that depends on its seed only.
static inline uint64_t check_random(uint64_t* state)
{
    uint64_t z = (*state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

static inline int check_below(uint64_t* state, int bound)
{
    return (int)(check_random(state) % (uint64_t)bound);
}

static inline void* check_memory(size_t size_bytes)
{
    void* memory = malloc(size_bytes == 0 ? 1 : size_bytes);
    if (memory == NULL) {
        fprintf(stderr, "check: no memory for %zu bytes\n", size_bytes);
        exit(1);
    }
    // What a test reads before it is written is the same in every run.
    return memset(memory, 0xa5, size_bytes);
}

// A number from the environment, for seeds and repetitions that a runner chooses.
static inline long check_setting(const char* name, long fallback)
{
    const char* text = getenv(name);
    return text == NULL || *text == '\0' ? fallback : strtol(text, NULL, 0);
}

static int test_main(void);

// Whether the communicator's hints have that key and value.
static inline int check_has_hint(struct check* t, MPI_Comm comm, const char* key,
                                 const char* wanted)
{
    MPI_Info used;
    char value[8] = "";
    int length = sizeof value, flag = 0;
    CHECK_CALL(t, MPI_Comm_get_info(comm, &used));
    CHECK_CALL(t, MPI_Info_get_string(used, key, &length, value, &flag));
    CHECK_CALL(t, MPI_Info_free(&used));
    return flag && strcmp(value, wanted) == 0;
}

#ifdef CHECK_HAS_INTERFACE
// Null: another MPI library, or one that is too old.
static inline const struct headway_interface_1* check_interface(void)
{
    const struct headway_interface_1* table = dlsym(RTLD_DEFAULT, "headway_interface_1");
    return table != NULL && table->size_bytes >= sizeof *table ? table : NULL;
}
#endif

// `threads` of each rank run the test at once. The library must be told whose they are only in
// teams, which it has made itself.
static inline int check_body_at_once(int threads)
{
    int provided = -1, failures = 0;
    void (*join_rank)(void*) = NULL;
    void* rank = NULL;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    if (provided != MPI_THREAD_MULTIPLE || threads > check_at_once_max) {
        fprintf(stderr, "check: %d threads, and MPI gives level %d\n", threads, provided);
        return 1;
    }
#ifdef CHECK_HAS_INTERFACE
    if (check_setting("HEADWAY_TEAM", 0) > 0) {
        rank = check_interface()->own_rank();
        join_rank = check_interface()->join_rank;
    }
#endif
    failures =
        check_run_at_once(threads, check_is_set("CHECK_ONE_COMM"), test_main, join_rank, rank);
    MPI_Finalize();
    return failures != 0;
}

// A program that defines CHECK_OWN_INIT calls MPI_Init(_thread) and MPI_Finalize itself.
// CHECK_AT_ONCE: how many threads run any other one at once, see at_once.h.
static inline int check_body(void* argument)
{
    (void)argument;
#ifdef CHECK_OWN_INIT
    return test_main();
#else
    const int threads = (int)check_setting("CHECK_AT_ONCE", 0);
    if (threads > 0)
        return check_body_at_once(threads);
    MPI_Init(NULL, NULL);
    const int failures = test_main();
    MPI_Finalize();
    return failures != 0;
#endif
}

static inline int check_team(int ranks)
{
#ifdef CHECK_HAS_INTERFACE
    const struct headway_interface_1* table = check_interface();
    if (table != NULL)
        return table->run_team(ranks, check_body, NULL) != 0;
    fprintf(stderr, "check: this MPI library has no in-process teams (%d ranks)\n", ranks);
#else
    fprintf(stderr, "check: built without <headway/interface.h> (%d ranks)\n", ranks);
#endif
    return check_skipped;
}

// What a shell needs to repeat this run of one seed.
static inline void check_print_replay(const char* program)
{
    extern char** environ;
    fprintf(stderr, "FAIL: repeat it with");
    for (char** variable = environ; *variable != NULL; ++variable) {
        if (strncmp(*variable, "HEADWAY_", 8) == 0 ||
            (strncmp(*variable, "CHECK_", 6) == 0 &&
             strncmp(*variable, "CHECK_SIM_SEEDS=", 16) != 0))
            fprintf(stderr, " %s", *variable);
    }
    fprintf(stderr, " %s\n", program);
}

// Simulations (HEADWAY_SIM) with `seeds` seeds, each in a process of its own: however one ends, its
// seed is known. Stops at the first that fails.
static inline int check_seeds(const char* program, int ranks, long seeds)
{
    const long first = check_setting("HEADWAY_SIM", 1);
    for (long seed = first; seed < first + seeds; ++seed) {
        char text[32];
        snprintf(text, sizeof text, "%ld", seed);
        setenv("HEADWAY_SIM", text, 1);
        fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            alarm((unsigned)check_setting("CHECK_WATCHDOG", 300));
            exit(check_team(ranks));
        }
        int status = 0;
        if (child < 0 || waitpid(child, &status, 0) != child || status != 0) {
            if (WIFEXITED(status) && WEXITSTATUS(status) == check_skipped)
                return check_skipped;
            check_print_replay(program);
            return 1;
        }
    }
    return 0;
}

// CHECK_WATCHDOG: seconds after which a run that hangs ends by SIGALRM; 0 is never.
// CHECK_SIM_SEEDS: how many seeds a simulated team runs with, from HEADWAY_SIM on.
int main(int argc, char** argv)
{
    const long seeds = check_setting("CHECK_SIM_SEEDS", 0);
    if (seeds > 0)
        return check_seeds(argc > 0 ? argv[0] : "it", (int)check_setting("HEADWAY_TEAM", 1), seeds);
    alarm((unsigned)check_setting("CHECK_WATCHDOG", 300));
    const long ranks = check_setting("HEADWAY_TEAM", 0);
    return ranks > 0 ? check_team((int)ranks) : check_body(NULL);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Headway offers to its own programs beside MPI: one versioned table, found by
 * dlsym(RTLD_DEFAULT, "headway_interface_1") or by linking. Members are only ever added at the end;
 * `size_bytes` says how much of the table a library has.
 */
#ifndef HEADWAY_INTERFACE_H
#define HEADWAY_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Counts of the calling thread's rank since MPI_Init. */
struct headway_counters {
    uint64_t frames_posted; /* messages and control frames handed to a lane */
    uint64_t frames_received;
    uint64_t retries;             /* posts that found a lane full */
    uint64_t bytes_copied_across; /* received by one copy from another process */
    uint64_t bytes_piped;         /* received by the pipelined double copy */
    uint64_t parks;               /* sleeps on the futex */
};

/* Memory of the calling thread's rank in the node heap. */
struct headway_memory {
    uint64_t block_bytes;          /* in blocks of up to 32 KiB that the rank allocated */
    uint64_t unexpected_bytes;     /* of these, for messages that wait for their receive */
    uint64_t unexpected_bytes_max; /* the most it ever was */
    uint64_t offers_for_room;      /* short messages that waited here: their receiver was full */
};

/* What others did for the calling thread's rank, and its process's agent for any rank. */
struct headway_progress {
    uint64_t times_helped;   /* times somebody else took the rank's work in hand */
    uint64_t calls_for_help; /* bells that found the rank away and nobody at work for it */
    uint64_t agent_wakes;    /* times the agent woke up */
    uint64_t agent_turns;    /* times it worked for a rank */
};

/*
 * How threads of a process wait whose ranks do not have a kernel thread each. The functions are
 * called by its ranks and by all threads that belong to them or to the library.
 */
struct headway_scheduling {
    /* Others should run now. */
    void (*yield)(void);

    /*
     * Sleeps while the 32-bit word holds `expected`, until wake() or the moment `deadline_ns` of
     * CLOCK_MONOTONIC (INT64_MAX: never): HEADWAY_WAIT_... May end early.
     */
    int (*wait)(const void* word, uint32_t expected, int64_t deadline_ns);

    /* Wakes up to `count` that sleep on the word; how many of them are ranks that workers run. */
    int (*wake)(const void* word, int count);

    /* Whether the calling code is a rank that a worker runs (1), or a thread of the system's. */
    int (*runs_rank)(void);

    /* Workers of this process; ranks of one are neighbours, at the start. */
    int workers;

    /* Whether a rank stays with the worker that it has first. */
    int binds_ranks;
};

/*
 * How other processes of the node reach ranks that sleep in this one: `bell` changes with each
 * ring. Workers look at it between two ranks and call `answer(argument)` where it has changed. One
 * that sleeps on it in the kernel adds itself to `sleepers`, passes a fence, and looks once more.
 */
struct headway_outside {
    void* bell;     /* 32-bit word, a futex shared by processes */
    void* sleepers; /* 32-bit word */
    void (*answer)(void* argument);
    void* argument;
};

enum {
    HEADWAY_WAIT_AWAKE,
    HEADWAY_WAIT_DIFFERED, /* the word held something else */
    HEADWAY_WAIT_TIMED_OUT
};

struct headway_interface_1 {
    size_t size_bytes;

    /*
     * Runs `body(argument)` in `ranks` threads of this process, each a rank of one job of its own;
     * every body calls MPI_Init and MPI_Finalize itself, all or none do. Returns the number of
     * bodies that did not return 0. The process must not be an MPI rank itself.
     * With HEADWAY_SIM=SEED the threads run one at a time, in virtual time, in an order that
     * follows from the seed: a body that waits for another without MPI, but for a call of
     * open_operations or MPI_Wtime, waits for ever.
     */
    int (*run_team)(int ranks, int (*body)(void*), void* argument);

    /* Fills `counters`; -1 where the calling thread's rank is not running. */
    int (*read_counters)(struct headway_counters* counters);

    /* Fills `memory`; -1 where the calling thread's rank is not running. */
    int (*read_memory)(struct headway_memory* memory);

    /* Fills `progress`; -1 where the calling thread's rank is not running. */
    int (*read_progress)(struct headway_progress* progress);

    /*
     * Operations of the calling thread's rank that may need a CPU to become complete (long
     * messages, collectives); -1 where it is not running. Looks only, and makes no progress: 0
     * means that one MPI_Test of each finds it complete.
     */
    int64_t (*open_operations)(void);

    /*
     * For a process that hosts ranks without being their program (mpiexec --ranks thread).
     * host_ranks: makes this process the host of `ranks` ranks of the launcher's job, from number
     * `first` on, of `all` in the job (0: every process hosts as many, `first` means nothing), and
     * returns the first one's number. What goes wrong is said, and ends the job. Once a process;
     * where that has a second thread already, it takes some ten milliseconds longer.
     */
    int (*host_ranks)(int first, int ranks, int all);

    /* The calling thread belongs to the rank `index` of this process, from 0. */
    void (*enter_rank)(int index);

    /*
     * The program of the calling thread's rank has ended; where it stood with MPI:
     * HEADWAY_RANK_... Once a rank.
     */
    int (*leave_rank)(void);

    /* Ends the whole job; does not return. Any thread. */
    void (*end_job)(int code);

    /* After the end of all ranks: leaves the launcher in good order. */
    void (*close_ranks)(void);

    /*
     * After host_ranks, before the first enter_rank: threads that enter a rank, and those that the
     * library starts for it, wait by these functions, and ranks share the cores that run them. The
     * table stays until the process ends, and so does what is returned; null: the node has no other
     * process of the job.
     */
    const struct headway_outside* (*schedule_ranks)(const struct headway_scheduling* scheduling);

    /*
     * What the program of the calling thread's rank is started with, for MPI_INFO_ENV: the command
     * line of the process says nothing about it. After enter_rank, before the program starts. The
     * words are copied.
     */
    void (*name_program)(int count, const char* const* words);

    /*
     * For threads that a rank of a team starts itself: what own_rank says in the rank's thread
     * makes another one belong to the rank, too, from join_rank on. Not in a simulation, whose
     * order knows nothing of them. Elsewhere threads of ranks are known without.
     */
    void* (*own_rank)(void);
    void (*join_rank)(void* rank);
};

enum {
    HEADWAY_RANK_OUTSIDE, /* it never called MPI_Init, nor did another rank */
    HEADWAY_RANK_INSIDE,  /* it has not called MPI_Finalize */
    HEADWAY_RANK_FINALIZED,
    HEADWAY_RANK_MISSED /* it never called MPI_Init, but another rank did */
};

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
extern const struct headway_interface_1 headway_interface_1;

#ifdef __cplusplus
}
#endif

#endif

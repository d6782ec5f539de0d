// SPDX-License-Identifier: Apache-2.0
// What multirate is told, and what it tells.
#ifndef HEADWAY_BENCH_MULTIRATE_H
#define HEADWAY_BENCH_MULTIRATE_H

#include <mpi.h>
#include <stdbool.h>

// What a bench is told of a case: the rate, or what a message costs beside its time.
typedef enum {
    multirate_rate,
    multirate_locks,     // threads that found another one inside, in the rank or at a gate
    multirate_switches,  // of context, by the system's count
    multirate_order,     // messages that came after a later one of their sender
    multirate_match,     // nanoseconds waited for matching and spent in it
} MultirateFigure;

typedef struct {
    bool is_all_to_all;          // -a, else -p: the i-th sender with the i-th receiver
    int sending_ranks;           // -n
    int receiving_ranks;         // -m; 0: the receiving threads live in the sending ranks
    int sending_threads;         // -x, of each sending rank
    int receiving_threads;       // -y
    long size_bytes;             // -s
    long window;                 // -w, messages of a pair an iteration
    long iterations;             // -i
    long warm_up;                // -W, iterations before the clock runs
    bool has_own_communicators;  // -c, one a pair
    bool allows_overtaking;      // -o, the info key on all communicators of data
    bool has_any_tag;            // -T, receives with MPI_ANY_TAG; else the tag is the place
    bool has_pair_tags;          // -N, a tag a pair, and mpi_assert_no_any_tag on those of data
    bool is_single;              // -S, plain MPI_Init
    bool is_json;                // -j
    bool checks_payload;         // -k
    bool binds;                  // not -b: threads of a rank on a core each
    bool prints_rates;           // -A, of each entity
    MultirateFigure figure;      // -f rate, locks, switches, order or match; of a bench
} MultirateOptions;

enum { multirate_counters_max = 6 };

// Performance variables that the library has under names known here; of all ranks together.
typedef struct {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handles[multirate_counters_max];
    double values[multirate_counters_max];
    bool is_known[multirate_counters_max];
    bool is_open;
} MultirateCounters;

enum { multirate_summed_max = 2 };

// Counts that make up a figure, while they are kept.
typedef struct {
    MultirateFigure figure;
    MPI_T_pvar_session session;
    MPI_T_pvar_handle handles[multirate_summed_max];
    int count;  // of handles
} MultirateSum;

// Options of harness.h go to `others`, as a command line of their own. Null, or why not.
const char* multirate_read_options(int argc, char** argv, MultirateOptions* options,
                                   int* other_count, char** others);
void multirate_initialise(const MultirateOptions* options, int* argc, char*** argv);
// Whether the job's ranks, the library and the options fit together. Null, or why not.
const char* multirate_check(const MultirateOptions* options);
// Ends MPI; rank 0 says why.
void multirate_refuse(const char* why);

// Collective: counts from the first to the second, summed over all ranks.
void multirate_start_counters(MultirateCounters* counters);
void multirate_stop_counters(MultirateCounters* counters);

// False: there is no figure of that name.
bool multirate_find_figure(const char* word, MultirateFigure* figure);
const char* multirate_metric_of(MultirateFigure figure);
const char* multirate_unit_of(MultirateFigure figure);

// Begins to count. Null, or why there is no such figure, the same on all ranks.
const char* multirate_open_sum(MultirateFigure figure, MultirateSum* sum);
// Collective: what all ranks have counted so far.
double multirate_read_sum(const MultirateSum* sum);
void multirate_close_sum(MultirateSum* sum);

void multirate_print(const MultirateOptions* options, double messages, double elapsed_s, long wrong,
                     const MultirateCounters* counters);
void multirate_print_rates(const MultirateOptions* options, const double* rates, int row,
                           int ranks);

#endif

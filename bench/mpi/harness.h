// SPDX-License-Identifier: Apache-2.0
// Frame of a bench program: options, affinity check, warm-up and calibration, JSON lines on
// standard output of rank 0. The same source is built for every MPI library; it uses only calls
// that all of them have.
//
// Lines: {"type": "affinity", "ok", "cores", "why"}, then one a case {"type": "samples", "case",
// "metric", "unit", "samples"} or {"type": "skipped", "case", "why"}, another affinity line and
// {"type": "end"}. A job without the last line did not finish.
#ifndef HEADWAY_BENCH_HARNESS_H
#define HEADWAY_BENCH_HARNESS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum { harness_cores_max = 256, harness_samples_max = 200 };

typedef struct {
    MPI_Comm comm;
    int rank;
    int ranks;
    double budget_s;               // time for the samples of one case
    const char* cases;             // names separated by ';'; NULL: all
    const char* work;              // 'CASE=ITERATIONS;...'; NULL: none
    int cores[harness_cores_max];  // on which ranks must run, one each
    int core_count;                // 0: nothing is checked
    bool calibrates_only;          // what the driver chooses the work from is wanted, no figures
    bool is_mean;                  // a sample is the mean over the ranks, else what rank 0 sees
    bool starts_together;          // all begin at one moment; a sample lasts until the last ends
} Harness;

// One operation `repeats` times in a row; called by all ranks with the same number.
typedef void (*HarnessStep)(void* context, long repeats);

// Initialises MPI, with MPI_THREAD_MULTIPLE if the option --threads multiple asks for it, reads the
// options --budget-ms N, --cases A;B, --cores 0,1, --work A=N;B=N, --calibrate only, --start
// together (only on one node, whose ranks share a clock); checks that each rank is bound to one of
// these cores and no two to the same. Collective. False where nothing may be measured; the program
// then goes straight to harness_end.
bool harness_begin(int* argc, char*** argv, Harness* harness);

// Whether the driver asks for this case; the same on all ranks.
bool harness_wants(const Harness* harness, const char* case_name);

// Iterations that the driver chose for this case (option --work); 0 where it chose none. With a
// calibration the program then measures what the choice needs (python/headway/calibration.py).
long harness_work(const Harness* harness, const char* case_name);

// The same for work of several numbers (A=N:M:...), by their place.
long harness_work_part(const Harness* harness, const char* case_name, int part);

// Microseconds of a clock that all processes of a node share.
double harness_now_us(void);

// A chain of multiplications in registers: it needs the core and nothing else of the machine.
// Returns the microseconds it took.
double harness_compute(long iterations);

// Name of a message size as cases are called: "8 B", "4 KiB", "1 MiB".
void harness_size_name(size_t size_bytes, char* name, size_t name_max);

// Warms up, finds out how many operations fill a sample, takes samples for the budget: 11 at least,
// or 3 where they would take several times the budget. Collective. Writes microseconds an
// operation, as rank 0 sees them, the mean over all ranks, or from the common start to the last
// end, and returns how many samples there are; on the other ranks the values are meaningless.
int harness_sample(const Harness* harness, HarnessStep step, void* context,
                   double samples_us[harness_samples_max]);

// Prints the line of a case; does nothing on ranks other than 0.
void harness_emit(const Harness* harness, const char* case_name, const char* metric,
                  const char* unit, const double* samples, int count);
void harness_skip(const Harness* harness, const char* case_name, const char* why);

// Ends the job where the library delivered something wrong; never returns.
void harness_fail(const Harness* harness, const char* what);

// Checks the affinity once more, closes the output, finalises MPI. Returns the exit code.
int harness_end(Harness* harness);

#endif

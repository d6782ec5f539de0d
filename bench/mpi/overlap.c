// SPDX-License-Identifier: Apache-2.0
// Overlap: a message beside a fixed amount of computation that makes no MPI call.
//
// Rank 0 computes; what happens, by the first word of the case:
//   send       rank 0: Isend, compute, Wait; rank 1 waits in Recv
//   recv       rank 0: Irecv, compute, Wait; then rank 1 calls Send and waits in it
//   recv-late  rank 1 calls Send; 50 us later rank 0: Irecv, compute, Wait
//   send-rows, recv-rows
//              as send and recv, but rank 1's end lies in rows of 4 KiB with as much between two
//   both       both ranks: Irecv, Isend, compute, Waitall
//   barrier, bcast, reduce, allreduce, gather, scatter, allgather, alltoall
//              both ranks: the non-blocking collective, compute, Wait; the size is a rank's block
// The total time runs from the first call of the ranks that compute until both ranks are done. Both
// start at a time agreed on beforehand, by a clock that all processes of a node share; a run whose
// ranks were late or out of order does not count and is repeated. In `recv` the sender begins 3 us
// late (4 and 19 for 1 and 16 MiB), and later in a case whose MPI_Irecv takes longer than that.
//
// With --work every sample is of three runs, next to each other so that a change of the machine's
// speed meets all of them: communication alone, computation alone, both together. r_overhead =
// (together - max(alone)) / min(alone), with the medians of those alone. Without --work:
// communication alone, and the time of one iteration (python/headway/calibration.py).
//
// In cases like 'send 1 MiB, written' every rank writes what it is to send before each run, as
// programs do; the time does not hold that. In the others the same bytes go again and again.
//
// With HEADWAY_DELAY_US the names of the cases end in the delay, as in 'both 64 KiB, 5 ms'.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { samples_least = 5, samples_least_delayed = 3, warm_least = 1, warm_most = 150 };
static const double lateness_most_us = 2.0;
static const double lateness_most_delays = 0.01;

// From agreeing on a start until it. A rank that was late needs a longer one, or was put to sleep
// by another program, which a shorter one makes less likely; so it doubles, then begins anew. The
// agreement itself takes one delay.
static const double margin_least_us = 30.0;
enum { margin_doublings_most = 3 };

// So many runs out of order in a row make the lead longer.
enum { misordered_most = 4 };

// How long a run is repeated until it counts. A time, not a number of attempts: what keeps ranks
// from starting in time is another program's turn or another guest's, and those last for 100 ms.
static const double patience_us = 10e6;

typedef enum {
    pattern_send,
    pattern_recv,
    pattern_recv_late,
    pattern_send_rows,
    pattern_recv_rows,
    pattern_both,
    pattern_barrier,
    pattern_bcast,
    pattern_reduce,
    pattern_allreduce,
    pattern_gather,
    pattern_scatter,
    pattern_allgather,
    pattern_alltoall,
} Pattern;

static const char* const pattern_names[] = {
    "send",  "recv",   "recv-late", "send-rows", "recv-rows", "both",      "barrier",
    "bcast", "reduce", "allreduce", "gather",    "scatter",   "allgather", "alltoall",
};

enum { row_bytes = 4096, row_stride = 2 * row_bytes };

typedef struct {
    const Harness* harness;
    Pattern pattern;
    int size_bytes;
    MPI_Datatype type;  // of rank 1's end
    long work;          // iterations of the computation
    bool is_written;    // outgoing, before each run
    unsigned char* outgoing;
    unsigned char* incoming;
    double delay_us;   // of every frame
    double margin_us;  // between agreeing on a start and the start; rank 0's counts
    double lead_us;    // of the receiver over the sender in `recv`; rank 0's counts
    int misordered;    // runs out of order since the last one that counted; rank 0's counts
} Overlap;

typedef enum { alone_communication, alone_computation, together } Part;

// Microseconds of one rank on the node's clock. late: it did not start when it should.
typedef struct {
    double begin_us;
    double called_us;
    double end_us;
    double late;
} Times;

static bool sends(Pattern pattern)
{
    return pattern == pattern_send || pattern == pattern_send_rows;
}

static bool has_rows(const Overlap* overlap)
{
    return overlap->harness->rank == 1 &&
           (overlap->pattern == pattern_send_rows || overlap->pattern == pattern_recv_rows);
}

static bool computes(const Overlap* overlap)
{
    return overlap->harness->rank == 0 || overlap->pattern >= pattern_both;
}

static bool is_led(Pattern pattern)
{
    return pattern == pattern_recv || pattern == pattern_recv_rows;
}

// How long after the agreed start this rank begins. In `recv` the sender gives the receiver the
// time to post.
static double offset_us(const Overlap* overlap, double lead_us)
{
    const bool first = overlap->harness->rank == 0;
    if (is_led(overlap->pattern) && !first)
        return lead_us;
    if (overlap->pattern == pattern_recv_late && first)
        return 50.0;
    return 0.0;
}

// Waits for the start that rank 0 chose; returns this rank's share of it.
static double wait_for_start(const Overlap* overlap)
{
    const MPI_Comm comm = overlap->harness->comm;
    MPI_Barrier(comm);
    double agreed[] = {harness_now_us() + overlap->margin_us, overlap->lead_us};
    MPI_Bcast(agreed, 2, MPI_DOUBLE, 0, comm);
    const double start_us = agreed[0] + offset_us(overlap, agreed[1]);
    while (harness_now_us() < start_us) {
    }
    return start_us;
}

static void start_collective(const Overlap* overlap, MPI_Request* request)
{
    const MPI_Comm comm = overlap->harness->comm;
    const int bytes = overlap->size_bytes;
    const int numbers = bytes / (int)sizeof(int);
    unsigned char* const out = overlap->outgoing;
    unsigned char* const in = overlap->incoming;
    switch (overlap->pattern) {
        case pattern_barrier:
            MPI_Ibarrier(comm, request);
            break;
        case pattern_bcast:
            MPI_Ibcast(out, bytes, MPI_BYTE, 0, comm, request);
            break;
        case pattern_reduce:
            MPI_Ireduce(out, in, numbers, MPI_INT, MPI_MAX, 0, comm, request);
            break;
        case pattern_allreduce:
            MPI_Iallreduce(out, in, numbers, MPI_INT, MPI_MAX, comm, request);
            break;
        case pattern_gather:
            MPI_Igather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, comm, request);
            break;
        case pattern_scatter:
            MPI_Iscatter(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, 0, comm, request);
            break;
        case pattern_allgather:
            MPI_Iallgather(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm, request);
            break;
        default:
            MPI_Ialltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm, request);
            break;
    }
}

// What rank 1 does: it waits in MPI.
static void communicate_and_wait(const Overlap* overlap)
{
    const MPI_Comm comm = overlap->harness->comm;
    const int count = has_rows(overlap) ? 1 : overlap->size_bytes;
    if (sends(overlap->pattern)) {
        MPI_Recv(overlap->incoming, count, overlap->type, 0, 1, comm, MPI_STATUS_IGNORE);
    } else {
        MPI_Send(overlap->outgoing, count, overlap->type, 0, 1, comm);
    }
}

// The calls before the computation; `requests` are those to wait for after it.
static int communicate(const Overlap* overlap, MPI_Request requests[2])
{
    if (overlap->pattern > pattern_both) {
        start_collective(overlap, &requests[0]);
        return 1;
    }
    const MPI_Comm comm = overlap->harness->comm;
    const int size = overlap->size_bytes;
    const int peer = 1 - overlap->harness->rank;
    if (!computes(overlap)) {
        communicate_and_wait(overlap);
        return 0;
    }
    int count = 0;
    if (!sends(overlap->pattern))
        MPI_Irecv(overlap->incoming, size, MPI_BYTE, peer, 1, comm, &requests[count++]);
    if (sends(overlap->pattern) || overlap->pattern == pattern_both)
        MPI_Isend(overlap->outgoing, size, MPI_BYTE, peer, 1, comm, &requests[count++]);
    return count;
}

static Times run_rank(const Overlap* overlap, Part part)
{
    static int fill = 0;
    Times times;
    MPI_Request requests[2];
    int count = 0;
    if (overlap->is_written)
        memset(overlap->outgoing, ++fill, (size_t)overlap->size_bytes);
    const double start_us = wait_for_start(overlap);
    times.begin_us = harness_now_us();
    const double allowed_us = lateness_most_us + lateness_most_delays * overlap->delay_us;
    times.late = times.begin_us > start_us + allowed_us ? 1.0 : 0.0;
    if (part != alone_computation)
        count = communicate(overlap, requests);
    times.called_us = harness_now_us();
    if (part != alone_communication && computes(overlap))
        harness_compute(overlap->work);
    if (count != 0)
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    times.end_us = harness_now_us();
    return times;
}

// Whether the ranks called in the order that the case is about.
static bool is_ordered(Pattern pattern, const Times ranks[2])
{
    if (is_led(pattern))
        return ranks[0].called_us <= ranks[1].begin_us;
    return pattern != pattern_recv_late || ranks[1].begin_us + 40.0 <= ranks[0].begin_us;
}

// Enough for most receivers to post, more where the caches are cold from a large message.
static double lead_least_us(int size_bytes)
{
    return 3.0 + (double)size_bytes / 1048576.0;
}

static double margin_of(double delay_us)
{
    return margin_least_us + 1.5 * delay_us;
}

// The total time of a run from what both ranks saw; negative where the run does not count.
static double judge(Overlap* overlap, Part part, const Times ranks[2])
{
    if (ranks[0].late + ranks[1].late > 0.0) {
        const double least_us = margin_of(overlap->delay_us);
        overlap->margin_us *= 2.0;
        if (overlap->margin_us > least_us * (1 << margin_doublings_most))
            overlap->margin_us = least_us;
        return -1.0;
    }
    if (part != alone_computation && !is_ordered(overlap->pattern, ranks)) {
        // After a long computation, with cold caches, MPI_Irecv can take longer than the lead in
        // every run. A longer one then serves all later runs of the case, whatever their part.
        if (++overlap->misordered % misordered_most == 0)
            overlap->lead_us *= 1.5;
        return -1.0;
    }
    overlap->misordered = 0;
    double begin_us = ranks[0].begin_us;
    if (overlap->pattern >= pattern_both && ranks[1].begin_us < begin_us)
        begin_us = ranks[1].begin_us;
    const double end_us = ranks[0].end_us > ranks[1].end_us ? ranks[0].end_us : ranks[1].end_us;
    return end_us - begin_us;
}

// Runs until a run counts; returns its total time, the same on both ranks. Rank 0 judges, and says
// when to give up: its clock alone.
static double run(Overlap* overlap, Part part)
{
    const Harness* const harness = overlap->harness;
    const double give_up_us = harness_now_us() + patience_us;
    double total_us = -1.0;
    while (total_us < 0.0) {
        Times mine = run_rank(overlap, part);
        Times ranks[2];
        MPI_Gather(&mine, 4, MPI_DOUBLE, ranks, 4, MPI_DOUBLE, 0, harness->comm);
        if (harness->rank == 0)
            total_us = judge(overlap, part, ranks);
        if (harness->rank == 0 && total_us < 0.0 && harness_now_us() > give_up_us)
            total_us = 0.0;
        MPI_Bcast(&total_us, 1, MPI_DOUBLE, 0, harness->comm);
    }
    if (total_us == 0.0)
        harness_fail(
            harness,
            "the ranks did not start in time and in order for 10 s; the machine is too busy");
    return total_us;
}

// Where a byte of the message lies in this rank's buffers.
static size_t place_of(const Overlap* overlap, int index)
{
    return has_rows(overlap)
               ? (size_t)(index / row_bytes) * row_stride + (size_t)(index % row_bytes)
               : (size_t)index;
}

static unsigned char content(int rank, int index)
{
    return (unsigned char)(131 * rank + 7 * index + (index >> 8) + 1);
}

// A figure of a library that loses bytes is worth nothing.
static void verify(Overlap* overlap)
{
    const int rank = overlap->harness->rank;
    for (int index = 0; index < overlap->size_bytes; ++index) {
        overlap->outgoing[place_of(overlap, index)] = content(rank, index);
        overlap->incoming[place_of(overlap, index)] = 0;
    }
    run(overlap, together);
    const bool is_collective = overlap->pattern > pattern_both;
    if (is_collective ||
        (overlap->pattern != pattern_both && sends(overlap->pattern) == (rank == 0)))
        return;
    for (int index = 0; index < overlap->size_bytes; ++index) {
        if (overlap->incoming[place_of(overlap, index)] != content(1 - rank, index))
            harness_fail(overlap->harness, "a message delivered wrong bytes");
    }
}

static int compare(const void* left, const void* right)
{
    const double a = *(const double*)left;
    const double b = *(const double*)right;
    return (a > b) - (a < b);
}

static double median(const double* values, int count)
{
    double sorted[harness_samples_max];
    memcpy(sorted, values, (size_t)count * sizeof *values);
    qsort(sorted, (size_t)count, sizeof *sorted, compare);
    return count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2.0;
}

// How often something is done: `least` times, then until its time is used, at most `most` times.
typedef struct {
    int least;
    int most;
    double time_us;
} Extent;

// Whether there is another time after `count`; rank 0 decides.
static bool goes_on(const Harness* harness, Extent extent, int count, double begin_us)
{
    int more = count < extent.least ||
               (count < extent.most && harness_now_us() - begin_us < extent.time_us);
    MPI_Bcast(&more, 1, MPI_INT, 0, harness->comm);
    return more != 0;
}

static Extent sampling(const Overlap* overlap)
{
    const int least = overlap->delay_us > 0.0 ? samples_least_delayed : samples_least;
    return (Extent){least, harness_samples_max, overlap->harness->budget_s * 1e6};
}

// Libraries learn: a pair's first long messages can take twice as long as the later ones.
static void warm_up(Overlap* overlap)
{
    const Harness* const harness = overlap->harness;
    const Extent extent = {warm_least, warm_most, harness->budget_s * 1e6 / 5.0};
    const double begin_us = harness_now_us();
    for (int count = 0; goes_on(harness, extent, count, begin_us); ++count)
        run(overlap, together);
}

static void calibrate(Overlap* overlap, const char* name)
{
    static double transfer_us[harness_samples_max];
    double kernel_ns[samples_least];
    const long iterations = 200000;
    const Extent extent = sampling(overlap);
    int count = 0;
    for (const double begin_us = harness_now_us();
         goes_on(overlap->harness, extent, count, begin_us);)
        transfer_us[count++] = run(overlap, alone_communication);
    for (int index = 0; index < samples_least; ++index) {
        const double begin_us = harness_now_us();
        harness_compute(iterations);
        kernel_ns[index] = (harness_now_us() - begin_us) * 1e3 / (double)iterations;
    }
    harness_emit(overlap->harness, name, "transfer_us", "us", transfer_us, count);
    harness_emit(overlap->harness, name, "kernel_ns", "ns", kernel_ns, samples_least);
}

static void measure(Overlap* overlap, const char* name)
{
    static double totals_us[3][harness_samples_max];
    static double ratios[harness_samples_max];
    const Extent extent = sampling(overlap);
    int count = 0;
    for (const double begin_us = harness_now_us();
         goes_on(overlap->harness, extent, count, begin_us); ++count) {
        for (int part = alone_communication; part <= together; ++part)
            totals_us[part][count] = run(overlap, (Part)part);
    }
    const double communication_us = median(totals_us[alone_communication], count);
    const double computation_us = median(totals_us[alone_computation], count);
    const bool computes_longer = computation_us > communication_us;
    const double longer_us = computes_longer ? computation_us : communication_us;
    const double shorter_us = computes_longer ? communication_us : computation_us;
    for (int index = 0; index < count; ++index)
        ratios[index] = (totals_us[together][index] - longer_us) / shorter_us;
    harness_emit(overlap->harness, name, "r_overhead", "ratio", ratios, count);
    harness_emit(overlap->harness, name, "total_us", "us", totals_us[together], count);
    harness_emit(overlap->harness, name, "transfer_us", "us", totals_us[alone_communication],
                 count);
}

static void run_case(Overlap* overlap, bool is_written)
{
    char size[24];
    char name[64];
    harness_size_name((size_t)overlap->size_bytes, size, sizeof size);
    const int length = snprintf(name, sizeof name, "%s %s", pattern_names[overlap->pattern], size);
    if (overlap->delay_us > 0.0) {
        snprintf(name + length, sizeof name - (size_t)length, ", %g ms", overlap->delay_us * 1e-3);
    }
    if (is_written)
        strcat(name, ", written");
    if (!harness_wants(overlap->harness, name))
        return;
    overlap->work = harness_work(overlap->harness, name);
    if (has_rows(overlap)) {
        MPI_Type_vector(overlap->size_bytes / row_bytes, row_bytes, row_stride, MPI_BYTE,
                        &overlap->type);
        MPI_Type_commit(&overlap->type);
    }
    verify(overlap);
    overlap->is_written = is_written;
    warm_up(overlap);
    if (overlap->work == 0) {
        calibrate(overlap, name);
    } else {
        measure(overlap, name);
    }
    if (has_rows(overlap))
        MPI_Type_free(&overlap->type);
}

int main(int argc, char** argv)
{
    static const int sizes_bytes[] = {65536, 1048576, 16777216};
    enum { size_count = sizeof sizes_bytes / sizeof sizes_bytes[0], page = 4096 };
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    if (harness.ranks != 2)
        harness_fail(&harness, "overlap needs exactly 2 ranks: mpiexec -n 2");
    const size_t room = (size_t)sizes_bytes[size_count - 1] * row_stride / row_bytes;
    void* outgoing = NULL;
    void* incoming = NULL;
    if (posix_memalign(&outgoing, page, room) != 0 || posix_memalign(&incoming, page, room) != 0) {
        harness_fail(&harness, "no memory");
    }
    const char* const delay = getenv("HEADWAY_DELAY_US");
    const double delay_us = delay != NULL ? strtod(delay, NULL) : 0.0;
    for (int pattern = pattern_send; pattern <= pattern_alltoall; ++pattern) {
        for (int index = 0; index < size_count; ++index) {
            if (pattern > pattern_both && index != 0)
                break;  // a buffer holds the blocks of all ranks for the smallest size only
            for (int written = 0; written <= (pattern <= pattern_both ? 1 : 0); ++written) {
                Overlap overlap = {.harness = &harness,
                                   .pattern = (Pattern)pattern,
                                   .size_bytes = sizes_bytes[index],
                                   .type = MPI_BYTE,
                                   .outgoing = outgoing,
                                   .incoming = incoming,
                                   .delay_us = delay_us,
                                   .margin_us = margin_of(delay_us),
                                   .lead_us = lead_least_us(sizes_bytes[index])};
                run_case(&overlap, written != 0);
            }
        }
    }
    free(outgoing);
    free(incoming);
    return harness_end(&harness);
}

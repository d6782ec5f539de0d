// SPDX-License-Identifier: Apache-2.0
// Time of blocking collectives, as rank 0 sees them: each is repeated without a pause, and the
// barrier of the harness between samples is not measured. Sizes are bytes that one rank
// contributes, or receives from the root. Cases: "Bcast 8 B", "Barrier".
// "Alltoall 64 KiB, written": the input is written before each call, as programs do, and the time
// holds that too (see latency.c).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

enum { page = 4096, name_max = 64 };

typedef struct {
    const Harness* harness;
    int count;  // elements of 8 bytes
    double* input;
    double* output;
    int is_written;
} Operands;

static void barrier(const Operands* o)
{
    MPI_Barrier(o->harness->comm);
}

static void bcast(const Operands* o)
{
    MPI_Bcast(o->output, o->count, MPI_DOUBLE, 0, o->harness->comm);
}

static void reduce(const Operands* o)
{
    MPI_Reduce(o->input, o->output, o->count, MPI_DOUBLE, MPI_SUM, 0, o->harness->comm);
}

static void allreduce(const Operands* o)
{
    MPI_Allreduce(o->input, o->output, o->count, MPI_DOUBLE, MPI_SUM, o->harness->comm);
}

static void gather(const Operands* o)
{
    MPI_Gather(o->input, o->count, MPI_DOUBLE, o->output, o->count, MPI_DOUBLE, 0,
               o->harness->comm);
}

static void scatter(const Operands* o)
{
    MPI_Scatter(o->input, o->count, MPI_DOUBLE, o->output, o->count, MPI_DOUBLE, 0,
                o->harness->comm);
}

static void allgather(const Operands* o)
{
    MPI_Allgather(o->input, o->count, MPI_DOUBLE, o->output, o->count, MPI_DOUBLE,
                  o->harness->comm);
}

static void alltoall(const Operands* o)
{
    MPI_Alltoall(o->input, o->count, MPI_DOUBLE, o->output, o->count, MPI_DOUBLE, o->harness->comm);
}

static void scan(const Operands* o)
{
    MPI_Scan(o->input, o->output, o->count, MPI_DOUBLE, MPI_SUM, o->harness->comm);
}

static void exscan(const Operands* o)
{
    MPI_Exscan(o->input, o->output, o->count, MPI_DOUBLE, MPI_SUM, o->harness->comm);
}

static void reduce_scatter(const Operands* o)
{
    MPI_Reduce_scatter_block(o->input, o->output, o->count, MPI_DOUBLE, MPI_SUM, o->harness->comm);
}

// What output[index] is, where input[i] of rank r is value(r, i); negative: nothing is received.
static double value(int rank, int index)
{
    return rank * 1000.0 + index % 997;
}

static double sum_of(int ranks, int index)
{
    double sum = 0;
    for (int rank = 0; rank < ranks; ++rank)
        sum += value(rank, index);
    return sum;
}

static double sum_of_all(const Operands* o, int index)
{
    return sum_of(o->harness->ranks, index);
}

static double sum_so_far(const Operands* o, int index)
{
    return sum_of(o->harness->rank + 1, index);
}

static double sum_before(const Operands* o, int index)
{
    return o->harness->rank == 0 ? -1 : sum_of(o->harness->rank, index);
}

static double part_of_sum(const Operands* o, int index)
{
    return sum_of(o->harness->ranks, o->harness->rank * o->count + index);
}

static double nothing(const Operands* o, int index)
{
    (void)o;
    (void)index;
    return -1;
}

static double of_root(const Operands* o, int index)
{
    (void)o;
    return value(0, index);
}

static double sum_at_root(const Operands* o, int index)
{
    return o->harness->rank == 0 ? sum_of_all(o, index) : -1;
}

static double of_each(const Operands* o, int index)
{
    return value(index / o->count, index % o->count);
}

static double of_each_at_root(const Operands* o, int index)
{
    return o->harness->rank == 0 ? of_each(o, index) : -1;
}

static double part_of_root(const Operands* o, int index)
{
    return value(0, o->harness->rank * o->count + index);
}

static double part_of_each(const Operands* o, int index)
{
    return value(index / o->count, o->harness->rank * o->count + index % o->count);
}

typedef struct {
    const char* name;
    void (*call)(const Operands*);
    double (*expected)(const Operands*, int index);
    int is_output_of_all;  // one block for each rank, else one block
} Collective;

static const Collective collectives[] = {
    {"Barrier", barrier, nothing, 0},
    {"Bcast", bcast, of_root, 0},
    {"Reduce", reduce, sum_at_root, 0},
    {"Allreduce", allreduce, sum_of_all, 0},
    {"Gather", gather, of_each_at_root, 1},
    {"Scatter", scatter, part_of_root, 0},
    {"Allgather", allgather, of_each, 1},
    {"Alltoall", alltoall, part_of_each, 1},
    {"Scan", scan, sum_so_far, 0},
    {"Exscan", exscan, sum_before, 0},
    {"Reduce_scatter_block", reduce_scatter, part_of_sum, 0},
};
enum { collective_count = sizeof collectives / sizeof collectives[0] };

typedef struct {
    const Collective* collective;
    const Operands* operands;
} Run;

static void repeat(void* context, long repeats)
{
    const Run* const run = context;
    const Operands* const o = run->operands;
    const size_t blocks = run->collective->call == alltoall ? (size_t)o->harness->ranks : 1;
    for (long count = 0; count < repeats; ++count) {
        if (o->is_written)
            memset(o->input, (int)(count % 2), sizeof(double) * (size_t)o->count * blocks);
        run->collective->call(o);
    }
}

static void verify(const Run* run)
{
    const Operands* const o = run->operands;
    const int ranks = o->harness->ranks;
    const int received = o->count * (run->collective->is_output_of_all ? ranks : 1);
    for (int index = 0; index < o->count * ranks; ++index) {
        o->input[index] = value(o->harness->rank, index);
        o->output[index] =
            run->collective->call == bcast && o->harness->rank == 0 ? value(0, index) : -1;
    }
    run->collective->call(o);
    for (int index = 0; index < received; ++index) {
        const double expected = run->collective->expected(o, index);
        if (expected < 0 || o->output[index] == expected)
            continue;
        harness_fail(o->harness, "a collective delivered wrong values");
    }
}

static void measure(const Collective* collective, const Operands* operands)
{
    static double samples_us[harness_samples_max];
    char size[32];
    char name[name_max];
    harness_size_name((size_t)operands->count * sizeof(double), size, sizeof size);
    if (collective->call == barrier) {
        snprintf(name, sizeof name, "%s", collective->name);
    } else {
        snprintf(name, sizeof name, "%s %s%s", collective->name, size,
                 operands->is_written ? ", written" : "");
    }
    if (!harness_wants(operands->harness, name))
        return;
    Run run = {collective, operands};
    verify(&run);
    const int count = harness_sample(operands->harness, repeat, &run, samples_us);
    harness_emit(operands->harness, name, "time_us", "us", samples_us, count);
}

int main(int argc, char** argv)
{
    // 8 to 64 B, 256 B, and by twos from 1 KiB to 1 MiB
    static const int counts[] = {1,    2,    8,    32,    128,   256,   512,   1024,
                                 2048, 4096, 8192, 16384, 32768, 65536, 131072};
    enum { size_count = sizeof counts / sizeof counts[0] };
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    const size_t room = sizeof(double) * (size_t)counts[size_count - 1] * (size_t)harness.ranks;
    void* input = NULL;
    void* output = NULL;
    if (posix_memalign(&input, page, room) != 0 || posix_memalign(&output, page, room) != 0)
        harness_fail(&harness, "no memory");
    for (int each = 0; each < collective_count; ++each) {
        const int sizes = collectives[each].call == barrier ? 1 : size_count;
        for (int index = 0; index < sizes; ++index) {
            Operands operands = {&harness, counts[index], input, output, 0};
            measure(&collectives[each], &operands);
            operands.is_written = 1;
            if (collectives[each].call == allreduce || collectives[each].call == allgather ||
                collectives[each].call == alltoall)
                measure(&collectives[each], &operands);
        }
    }
    free(input);
    free(output);
    return harness_end(&harness);
}

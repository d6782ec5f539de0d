// SPDX-License-Identifier: Apache-2.0
// What a job on several hosts must do: ring, collectives, messages of all lengths in both
// directions and out of order, and transfers while all ranks compute. Prints one line a rank.
//   between [largest]   messages of up to so many bytes
//   between abort       the last rank ends the job after a ring
//   between forever     a ring that only a fault ends
//   between until FILE  rings and exchanges until there is such a file
//   between burst FOLDER [connected]  short messages that leave while their sender computes
#include <dlfcn.h>
#include <headway/interface.h>
#include <mpi.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

static void require(int holds, const char* what)
{
    if (!holds) {
        fprintf(stderr, "between: rank %d: %s\n", rank, what);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static unsigned char value(int from, int round, size_t i)
{
    return (unsigned char)(from * 31 + round * 7 + (int)(i % 251) + (int)(i >> 16));
}

static unsigned char* filled(size_t bytes, int round)
{
    unsigned char* data = malloc(bytes + 1);
    for (size_t i = 0; i < bytes; ++i)
        data[i] = value(rank, round, i);
    return data;
}

static int is_from(const unsigned char* data, size_t bytes, int from, int round)
{
    for (size_t i = 0; i < bytes; ++i) {
        if (data[i] != value(from, round, i))
            return 0;
    }
    return 1;
}

static void ring(void)
{
    int token = 0;
    if (rank == 0) {
        MPI_Send(&token, 1, MPI_INT, 1 % size, 0, MPI_COMM_WORLD);
        MPI_Recv(&token, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        require(token == size - 1, "the token was not passed on");
    } else {
        MPI_Recv(&token, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        ++token;
        MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
    }
}

static void collectives(void)
{
    enum { count = 20000 };
    double* in = malloc(count * sizeof *in);
    double* out = malloc(count * sizeof *out);
    for (int length = 1; length <= count; length *= 141) {
        for (int i = 0; i < length; ++i)
            in[i] = rank + i;
        MPI_Allreduce(in, out, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < length; ++i)
            require(out[i] == size * (size - 1) / 2.0 + (double)size * i, "a sum is wrong");
    }
    free(in);
    free(out);
}

// All with all, every length, each receive posted before and after its message has come.
static void exchange(size_t bytes, int round)
{
    unsigned char* out = filled(bytes, round);
    unsigned char* in = malloc((size_t)size * (bytes + 1));
    MPI_Request* requests = malloc((size_t)size * 2 * sizeof(MPI_Request));
    for (int peer = 0; peer < size; ++peer) {
        MPI_Isend(out, (int)bytes, MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[peer]);
        if (round % 2 == 1)
            MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int peer = size - 1; peer >= 0; --peer)
        MPI_Irecv(in + (size_t)peer * bytes, (int)bytes, MPI_BYTE, peer, round, MPI_COMM_WORLD,
                  &requests[size + peer]);
    MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < size; ++peer)
        require(is_from(in + (size_t)peer * bytes, bytes, peer, round), "a message is wrong");
    free(out);
    free(in);
    free(requests);
}

// Several messages to the rank's opposite, received from the last one to the first, of which there
// is less room than message. Each of them has come before the first is received, or perhaps not.
static void backwards(size_t bytes, bool have_come)
{
    enum { messages = 7, all_but_one = messages - 1 };
    const int peer = (rank + size / 2) % size, from = (rank + size - size / 2) % size;
    unsigned char* out = filled(bytes + messages, 0);
    unsigned char* in = malloc(messages * bytes);
    MPI_Request requests[messages];
    for (int i = 0; i < messages; ++i)
        MPI_Isend(out + i, (int)bytes, MPI_BYTE, peer, i, MPI_COMM_WORLD, &requests[i]);
    if (have_come) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Probe(from, all_but_one, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = messages - 1; i >= 0; --i) {
        const size_t room = i == 0 ? bytes / 3 : bytes;
        unsigned char* const place = in + (size_t)i * bytes;
        const int code =
            MPI_Recv(place, (int)room, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        require((code == MPI_SUCCESS) == (room == bytes), "a message has another length");
        for (size_t k = 0; k < room; ++k)
            require(place[k] == value(from, 0, k + (size_t)i), "a message is wrong");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
    free(out);
    free(in);
}

static void report_under_way(void)
{
    if (rank == 0) {
        puts("between: under way");
        fflush(stdout);
    }
}

static void go_on_until(const char* file)
{
    int is_there = 0;
    for (int lap = 0; !is_there; ++lap) {
        ring();
        exchange(20000, 2 * (lap % 10));
        if (lap == 0)
            report_under_way();
        is_there = access(file, F_OK) == 0;
        MPI_Bcast(&is_there, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

// Work without a call of MPI.
static double compute(double x)
{
    for (int i = 0; i < 1000; ++i)
        x = x * 0.999 + 0.001;
    return x;
}

// A message each way between a rank and its opposite, complete before anybody calls MPI again. With
// `is_offered` it has come before its receive is posted.
static void overlap(size_t bytes, bool is_offered)
{
    const struct headway_interface_1* table = dlsym(RTLD_DEFAULT, "headway_interface_1");
    const int peer = (rank + size / 2) % size, from = (rank + size - size / 2) % size;
    for (int round = 0; table != NULL && round < 4; ++round) {
        unsigned char* out = filled(bytes, round);
        unsigned char* in = malloc(bytes);
        MPI_Request requests[2];
        if (!is_offered)
            MPI_Irecv(in, (int)bytes, MPI_BYTE, from, round, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, (int)bytes, MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[1]);
        if (is_offered) {
            MPI_Probe(from, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Irecv(in, (int)bytes, MPI_BYTE, from, round, MPI_COMM_WORLD, &requests[0]);
        }
        volatile double x = 1;
        while (table->open_operations() != 0)
            x = compute(x);
        int flag = 0;
        MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        require(flag, is_offered ? "a transfer offered early did not end while its ranks computed"
                                 : "a transfer did not end while its ranks computed");
        require(is_from(in, bytes, from, round), "a message is wrong");
        free(out);
        free(in);
    }
}

// Ranks of one half of the job send a burst of short messages each and compute, without a call of
// MPI, until their receivers have told of it by files: what a library gathers must leave by itself.
// Where they are connected, each has exchanged a message with its peer before.
static void burst(const char* folder, int are_connected)
{
    enum { messages = 12 };
    const int peer = (rank + size / 2) % size;
    if (are_connected) {
        int found = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, peer, 8, &found, 1, MPI_INT, peer, 8, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        require(found == peer, "a first message is wrong");
    }
    char file[512];
    snprintf(file, sizeof file, "%s/burst-%d", folder, rank < size / 2 ? peer : rank);
    if (rank < size / 2) {
        for (int number = 0; number < messages; ++number)
            MPI_Send(&number, 1, MPI_INT, peer, 7, MPI_COMM_WORLD);
        volatile double x = 1;
        while (access(file, F_OK) != 0)
            x = compute(x);
        return;
    }
    for (int number = 0; number < messages; ++number) {
        int found = -1;
        MPI_Recv(&found, 1, MPI_INT, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        require(found == number, "a message of a burst is wrong");
    }
    FILE* const made = fopen(file, "w");
    require(made != NULL && fclose(made) == 0, "a file could not be made");
}

int main(int argc, char** argv)
{
    // By which mpiexec.hydra tells the others, if it is to let them be, that one has ended.
    signal(SIGUSR1, SIG_IGN);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int lap = 0; argc > 1 && strcmp(argv[1], "forever") == 0; ++lap) {
        ring();
        if (lap == 0)
            report_under_way();
    }
    if (argc > 2 && strcmp(argv[1], "until") == 0)
        go_on_until(argv[2]);
    if (argc > 2 && strcmp(argv[1], "burst") == 0)
        burst(argv[2], argc > 3 && strcmp(argv[3], "connected") == 0);
    if (argc > 1 && strcmp(argv[1], "abort") == 0) {
        ring();
        require(rank != size - 1, "was told to abort");
        for (;;)
            ring();
    }
    const size_t largest = argc == 2 ? strtoul(argv[1], NULL, 10) : argc > 2 ? 1000 : 4000000;
    const size_t lengths[] = {0, 1, 40, 41, 4096, 16320, 16321, 16384, 100000, largest};
    ring();
    collectives();
    for (int i = 0; i < (int)(sizeof lengths / sizeof *lengths); ++i) {
        exchange(lengths[i], 2 * i);
        exchange(lengths[i], 2 * i + 1);
    }
    if (largest > 0) {
        backwards(largest, true);
        backwards(largest, false);
    }
    const char* const progress = getenv("HEADWAY_PROGRESS");
    if (progress == NULL || strcmp(progress, "none") != 0) {
        overlap(1 << 20, false);
        overlap(300000, true);
    }
    char host[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(host, &length);
    printf("between: rank %d of %d on %s\n", rank, size, host);
    MPI_Finalize();
    return 0;
}

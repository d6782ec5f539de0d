// SPDX-License-Identifier: Apache-2.0
// types CASE: rank 0 sends rank 1 messages that are received as other types; "good" ones are not,
// in all the ways in which the two sides may legally differ.
#include <mpi.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { long_count = 1 << 18 };

typedef struct {
    int number;
    double place[2];
} Record;

static int is(const char* name, const char* wanted)
{
    return strcmp(name, wanted) == 0;
}

// {int, 2 doubles}, or the other way round.
static MPI_Datatype record_type(int turned)
{
    const int lengths[] = {1, 2};
    const MPI_Aint places[] = {offsetof(Record, number), offsetof(Record, place)};
    const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
    const int lengths_turned[] = {2, 1};
    const MPI_Aint places_turned[] = {offsetof(Record, place), offsetof(Record, number)};
    const MPI_Datatype types_turned[] = {MPI_DOUBLE, MPI_INT};
    MPI_Datatype type;
    if (turned)
        MPI_Type_create_struct(2, lengths_turned, places_turned, types_turned, &type);
    else
        MPI_Type_create_struct(2, lengths, places, types, &type);
    MPI_Type_commit(&type);
    return type;
}

static MPI_Datatype column_type(int rows)
{
    MPI_Datatype type;
    MPI_Type_vector(rows, 1, 3, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

// One message from rank 0 to rank 1.
static void move(int rank, const void* out, int sent, MPI_Datatype send_type, void* in, int wanted,
                 MPI_Datatype receive_type)
{
    if (rank == 0)
        MPI_Send(out, sent, send_type, 1, 5, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(in, wanted, receive_type, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void records(int rank)
{
    Record own[4], other[4];
    memset(own, 1, sizeof own);
    MPI_Datatype record = record_type(0);
    MPI_Datatype parts[2];
    MPI_Type_contiguous(2, record, &parts[0]);
    MPI_Type_commit(&parts[0]);
    move(rank, own, 1, parts[0], other, 4, record);  // fewer, and named otherwise
    move(rank, own, 4, record, other, 2, parts[0]);
    move(rank, own, 0, record, other, 4, MPI_INT);  // no elements are of any type
    if (rank == 1 && memcmp(own, other, sizeof own) != 0) {
        // Padding does not travel.
        if (own[3].number != other[3].number || own[3].place[1] != other[3].place[1])
            abort();
    }
    MPI_Type_free(&parts[0]);
    MPI_Type_free(&record);
}

static void packed(int rank)
{
    int own[2] = {3, 4}, other[2] = {0, 0}, used = 0, place = 0;
    char bytes[64];
    MPI_Pack(own, 2, MPI_INT, bytes, sizeof bytes, &used, MPI_COMM_WORLD);
    move(rank, bytes, used, MPI_PACKED, other, 2, MPI_INT);
    if (rank == 1 && (other[0] != 3 || other[1] != 4))
        abort();
    memset(bytes, 0, sizeof bytes);
    move(rank, own, 2, MPI_INT, bytes, sizeof bytes, MPI_PACKED);
    MPI_Unpack(bytes, sizeof bytes, &place, other, 2, MPI_INT, MPI_COMM_WORLD);
    move(rank, own, 2, MPI_INT, bytes, 8, MPI_BYTE);
}

// Matched in another order than they are completed; by names, by wildcards, by probes.
static void orders(int rank, int size)
{
    int numbers[3] = {1, 2, 3};
    double value = 4;
    MPI_Request requests[3];
    MPI_Message message;
    MPI_Status status;
    if (rank == 0) {
        MPI_Send(numbers, 3, MPI_INT, 1, 1, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        MPI_Ssend(numbers, 1, MPI_INT32_T, 1, 2, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_DOUBLE, 1, 3, MPI_COMM_WORLD);
    }
    if (rank == 1) {
        MPI_Irecv(numbers, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&value, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Irecv(numbers, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[2]);
        for (int i = 2; i >= 0; --i)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&value, 1, MPI_DOUBLE, &message, MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(numbers, 1, MPI_INT, (rank + 1) % size, 7, &value, 1, MPI_FLOAT, MPI_PROC_NULL, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(numbers, 3, MPI_INTEGER, (rank + size - 1) % size, 7, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
}

static void good(int rank, int size)
{
    int* many = calloc(long_count * 3, sizeof(int));
    int* more = calloc(long_count * 3, sizeof(int));
    MPI_Datatype column = column_type(long_count);
    move(rank, many, long_count, MPI_INT, more, 1, column);
    move(rank, many, 1, column, more, long_count, MPI_INT);
    move(rank, many, 1, MPI_LONG, more, 1, MPI_INT64_T);
    MPI_Type_free(&column);
    records(rank);
    packed(rank);
    for (int round = 0; round < 50; ++round)
        orders(rank, size);
    free(many);
    free(more);
}

static void persistent(int rank)
{
    float own = 0, other = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (rank == 0)
        MPI_Send_init(&own, 1, MPI_FLOAT, 1, 5, MPI_COMM_WORLD, &request);
    if (rank == 1)
        MPI_Recv_init(&other, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
    if (request != MPI_REQUEST_NULL)
        MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static volatile sig_atomic_t is_told;

static void hear(int number)
{
    is_told = number;
}

// Waited for when the message is there already, but nobody has looked: rank 1 hears by a signal,
// not by a call that would look, that it was sent.
static void waited(int rank)
{
    float own = 0, other = 0;
    int receiver = getpid();
    MPI_Request request;
    (void)signal(SIGUSR1, hear);
    MPI_Bcast(&receiver, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&own, 1, MPI_FLOAT, 1, 5, MPI_COMM_WORLD);
        kill(receiver, SIGUSR1);
    }
    if (rank == 1) {
        MPI_Irecv(&other, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &request);
        MPI_Send(NULL, 0, MPI_BYTE, 0, 4, MPI_COMM_WORLD);
        while (!is_told)
            ;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void buffered(int rank)
{
    char room[1024];
    float own = 0;
    int other = 0;
    MPI_Buffer_attach(room, sizeof room);
    if (rank == 0)
        MPI_Bsend(&own, 1, MPI_FLOAT, 1, 5, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(&other, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&room, &other);
}

static void probed(int rank)
{
    float own = 0;
    int other = 0;
    MPI_Message message;
    if (rank == 0)
        MPI_Send(&own, 1, MPI_FLOAT, 1, 5, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&other, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
    }
}

static void exchanged(int rank)
{
    float own = 0;
    int other = 0;
    const int partner = rank == 0 ? 1 : rank == 1 ? 0 : MPI_PROC_NULL;
    if (rank == 0)
        MPI_Sendrecv(&own, 1, MPI_FLOAT, partner, 5, &other, 1, MPI_INT, partner, 5, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Sendrecv_replace(&other, 1, MPI_INT, partner, 5, partner, 5, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
}

static void listed(int rank)
{
    float own = 0;
    int numbers[2] = {0, 0};
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (rank == 0) {
        MPI_Isend(numbers, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&own, 1, MPI_FLOAT, 1, 6, MPI_COMM_WORLD, &requests[1]);
    }
    if (rank == 1) {
        MPI_Irecv(&numbers[0], 1, MPI_INT, 0, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&numbers[1], 1, MPI_INT, 0, 6, MPI_COMM_WORLD, &requests[1]);
    }
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

// The error comes back, and the message is there all the same.
static void returned(int rank)
{
    const float own = 1;
    float other = 0;
    if (rank == 0)
        MPI_Send(&own, 1, MPI_FLOAT, 1, 5, MPI_COMM_WORLD);
    if (rank != 1)
        return;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int code = MPI_Recv(&other, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    int class = 0;
    MPI_Error_class(code, &class);
    printf("class %s, value %g\n", class == MPI_ERR_TYPE ? "type" : "other", (double)other);
}

// One message, which the two sides cut into partitions of their own.
static void partitioned(int rank, int tag, MPI_Datatype sent)
{
    static int numbers[16];
    MPI_Request request;
    if (rank > 1)
        return;
    if (rank == 0)
        MPI_Psend_init(numbers, 4, 2, sent, 1, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    else
        MPI_Precv_init(numbers, 2, 4, MPI_INT, 0, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    if (rank == 0)
        MPI_Pready_range(0, 3, request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
}

static void short_cases(const char* name, int rank)
{
    static double doubles[8];
    static float floats[8];
    static int numbers[16];
    if (is(name, "kind"))
        move(rank, floats, 3, MPI_FLOAT, numbers, 3, MPI_INT);
    if (is(name, "size"))
        move(rank, doubles, 1, MPI_DOUBLE, numbers, 2, MPI_INT);
    if (is(name, "half"))
        move(rank, numbers, 3, MPI_INT, doubles, 8, MPI_DOUBLE);
    if (is(name, "sign"))
        move(rank, numbers, 1, MPI_UNSIGNED, numbers, 1, MPI_INT);
    if (is(name, "truncated"))
        move(rank, numbers, 10, MPI_INT, numbers, 4, MPI_INT);
}

static void long_cases(const char* name, int rank)
{
    float* many = calloc(long_count, sizeof(float));
    MPI_Datatype type = record_type(rank == 0);
    Record record = {0, {0, 0}};
    if (is(name, "order"))
        move(rank, &record, 1, type, &record, 1, type);
    if (is(name, "long"))
        move(rank, many, long_count, MPI_FLOAT, many, long_count, MPI_INT);
    if (is(name, "long_truncated"))
        move(rank, many, long_count, MPI_FLOAT, many, long_count / 2, MPI_FLOAT);
    MPI_Type_free(&type);
    free(many);
}

int main(int count, char** arguments)
{
    int rank = 0, size = 0;
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char* name = count > 1 ? arguments[1] : "good";
    if (is(name, "good"))
        good(rank, size);
    if (is(name, "persistent"))
        persistent(rank);
    if (is(name, "waited"))
        waited(rank);
    if (is(name, "buffered"))
        buffered(rank);
    if (is(name, "probed"))
        probed(rank);
    if (is(name, "exchanged"))
        exchanged(rank);
    if (is(name, "listed"))
        listed(rank);
    if (is(name, "partitioned")) {
        partitioned(rank, 5, MPI_INT);
        partitioned(rank, 5, MPI_FLOAT);
    }
    if (is(name, "good")) {
        partitioned(rank, 6, MPI_INT);
        partitioned(rank, 5, MPI_INT32_T);
        partitioned(rank, 6, MPI_INT);
    }
    if (is(name, "returned"))
        returned(rank);
    short_cases(name, rank);
    long_cases(name, rank);
    MPI_Finalize();
    printf("rank %d went on\n", rank);
    return 0;
}

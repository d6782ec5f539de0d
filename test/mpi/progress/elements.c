// SPDX-License-Identifier: Apache-2.0
// Long messages of elements with gaps move while their ranks compute, whichever end has the gaps
// and whoever computes: only threads of an end's own process know where its bytes lie.
#include "board.h"

enum {
    rows = 12000,     // of a matrix whose column travels
    row_doubles = 5,  // the column's doubles and gaps
    wide = 2,         // doubles of the column in a row
    doubles = rows * wide,
    tag = 3,
    gap = -7,
};

// Which ends have gaps: the sender's, the receiver's, both.
enum { ways = 3 };

struct column {
    double* memory;
    MPI_Datatype type;
};

static struct column column_make(struct check* t)
{
    struct column c = {check_memory(sizeof(double) * rows * row_doubles), MPI_DATATYPE_NULL};
    for (int i = 0; i < rows * row_doubles; ++i)
        c.memory[i] = gap;
    CHECK_CALL(t, MPI_Type_vector(rows, wide, row_doubles, MPI_DOUBLE, &c.type));
    CHECK_CALL(t, MPI_Type_commit(&c.type));
    return c;
}

static double* column_at(struct column* c, int i)
{
    return &c->memory[i / wide * row_doubles + i % wide];
}

static double value_of(int round, int i)
{
    return round * 1e6 + i;
}

/// Doubles of the first `count` that are not the round's, and gaps that were written.
static int column_wrong(struct column* c, int round, int count)
{
    int wrong = 0;
    for (int row = 0; row < rows; ++row) {
        for (int i = 0; i < row_doubles; ++i) {
            const int index = row * wide + i;
            const int is_there = i < wide && index < count;
            const double want = is_there ? value_of(round, index) : gap;
            wrong += c->memory[row * row_doubles + i] != want;
        }
    }
    return wrong;
}

static void send(struct check* t, int way, int round, int count, MPI_Request* request,
                 struct column* c, double* plain)
{
    if (way == 1) {
        for (int i = 0; i < count; ++i)
            plain[i] = value_of(round, i);
        CHECK_CALL(t, MPI_Isend(plain, count, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD, request));
        return;
    }
    for (int i = 0; i < doubles; ++i)
        *column_at(c, i) = value_of(round, i);
    CHECK_CALL(t, MPI_Isend(c->memory, 1, c->type, 1, tag, MPI_COMM_WORLD, request));
}

static void receive(struct check* t, int way, MPI_Request* request, struct column* c, double* plain)
{
    if (way == 0)
        CHECK_CALL(t, MPI_Irecv(plain, doubles, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, request));
    else
        CHECK_CALL(t, MPI_Irecv(c->memory, 1, c->type, 0, tag, MPI_COMM_WORLD, request));
}

/// What arrived of `count` doubles. The gaps are as they were.
static void check_arrived(struct check* t, int way, int round, int count, struct column* c,
                          const double* plain)
{
    int wrong = 0;
    for (int i = 0; way == 0 && i < count; ++i)
        wrong += plain[i] != value_of(round, i);
    CHECK_INT(t, wrong + (way == 0 ? 0 : column_wrong(c, round, count)), 0);
}

/// `first` starts its side and computes; the other one comes later, and waits in MPI or computes.
static void one_message(struct check* t, struct board board, int way, int first, int other_waits)
{
    static const int counts[] = {doubles, 5001};  // plain sends may be shorter than their receive
    const int round = (way * 2 + first) * 2 + other_waits;
    const int count = way == 1 ? counts[other_waits] : doubles;
    const struct headway_interface_1* headway = board_interface();
    struct column column = column_make(t);
    double* plain = check_memory(sizeof(double) * doubles);
    MPI_Request request = MPI_REQUEST_NULL;
    if (t->rank != first)
        compute_until_raised(board, 0, round + 1);
    if (t->rank == 0)
        send(t, way, round, count, &request, &column, plain);
    else
        receive(t, way, &request, &column, plain);
    CHECK_CALL(t, MPI_Type_free(&column.type));  // its message may use it still
    if (t->rank == first)
        board_raise(board, 0);
    if (t->rank != first && other_waits)
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    else
        compute_until_complete(headway);
    board_raise(board, 1);
    compute_until_raised(board, 1, 2 * (round + 1));
    if (request != MPI_REQUEST_NULL) {
        int flag = 0;
        CHECK_CALL(t, MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
        CHECK_INT(t, flag, 1);
    }
    if (t->rank == 1)
        check_arrived(t, way, round, count, &column, plain);
    free(column.memory);
    free(plain);
}

/// A message of more than its receive has room for fills it, and nothing else.
static void too_long(struct check* t)
{
    struct column column = column_make(t);
    if (t->rank == 0) {
        double* plain = check_memory(sizeof(double) * 2 * doubles);
        for (int i = 0; i < 2 * doubles; ++i)
            plain[i] = value_of(1, i);
        CHECK_CALL(t, MPI_Send(plain, 2 * doubles, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD));
        free(plain);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        REFUSED(t,
                MPI_Recv(column.memory, 1, column.type, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
                MPI_ERR_TRUNCATE);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        CHECK_INT(t, column_wrong(&column, 1, doubles), 0);
    }
    CHECK_CALL(t, MPI_Type_free(&column.type));
    free(column.memory);
}

/// Nobody waits for the request of a send that is freed.
static void freed(struct check* t)
{
    struct column column = column_make(t);
    if (t->rank == 0) {
        MPI_Request request;
        send(t, 0, 9, doubles, &request, &column, NULL);
        CHECK_CALL(t, MPI_Request_free(&request));
    } else {
        CHECK_CALL(
            t, MPI_Recv(column.memory, 1, column.type, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        CHECK_INT(t, column_wrong(&column, 9, doubles), 0);
    }
    CHECK_CALL(t, MPI_Type_free(&column.type));
    MPI_Barrier(MPI_COMM_WORLD);  // the buffer is in use until the message was received
    free(column.memory);
}

static int test_main(void)
{
    struct check t = check_start("progress/elements");
    struct board board = board_open(&t);
    for (int way = 0; way < ways; ++way) {
        for (int first = 0; first < 2; ++first) {
            for (int other_waits = 0; other_waits < 2; ++other_waits)
                one_message(&t, board, way, first, other_waits);
        }
    }
    too_long(&t);
    freed(&t);
    board_close(board);
    return check_finish(&t);
}

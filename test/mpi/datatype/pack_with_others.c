// SPDX-License-Identifier: Apache-2.0
// Long vectors are packed and unpacked while other threads of the rank wait in MPI, which take part
// in it; several threads pack at once.
#define CHECK_OWN_INIT
#include <pthread.h>

#include "../check.h"

enum { rows = 40000, wide = 5, stride = 8, rounds = 8, waiting = 2, tag = 4 };

struct side {
    struct check check;  // the thread's own
    int number;
    MPI_Comm comm;
};

static int value(int seed, int row, int column)
{
    return seed * 7919 + row * 31 + column;
}

static void pack_once(struct side* side, MPI_Datatype type, int seed, int* memory, int* packed)
{
    struct check* t = &side->check;
    const int bytes = rows * wide * (int)sizeof(int);
    int position = 0, wrong = 0;
    for (int row = 0; row < rows; ++row) {
        for (int column = 0; column < stride; ++column)
            memory[row * stride + column] = value(seed, row, column);
    }
    CHECK_CALL(t, MPI_Pack(memory, 1, type, packed, bytes, &position, side->comm));
    CHECK_INT(t, position, bytes);
    for (int i = 0; i < rows * wide; ++i)
        wrong += packed[i] != value(seed, i / wide, i % wide);
    for (int i = 0; i < rows * stride; ++i)
        memory[i] = -1;
    position = 0;
    CHECK_CALL(t, MPI_Unpack(packed, bytes, &position, memory, 1, type, side->comm));
    CHECK_INT(t, position, bytes);
    for (int i = 0; i < rows * stride; ++i) {
        const int row = i / stride, column = i % stride;
        wrong += memory[i] != (column < wide ? value(seed, row, column) : -1);
    }
    CHECK_INT(t, wrong, 0);
}

static void* pack_often(void* argument)
{
    struct side* side = argument;
    int* memory = check_memory(sizeof(int) * rows * stride);
    int* packed = check_memory(sizeof(int) * rows * wide);
    MPI_Datatype type;
    CHECK_CALL(&side->check, MPI_Type_vector(rows, wide, stride, MPI_INT, &type));
    CHECK_CALL(&side->check, MPI_Type_commit(&type));
    for (int round = 0; round < rounds; ++round)
        pack_once(side, type, side->number * rounds + round, memory, packed);
    CHECK_CALL(&side->check, MPI_Type_free(&type));
    free(memory);
    free(packed);
    return NULL;
}

static void* wait_for_it(void* argument)
{
    struct side* side = argument;
    int got = 0;
    CHECK_CALL(&side->check, MPI_Recv(&got, 1, MPI_INT, side->check.rank, tag + side->number,
                                      side->comm, MPI_STATUS_IGNORE));
    CHECK_INT(&side->check, got, side->number);
    return NULL;
}

static void start(struct check* t, pthread_t* thread, void* (*body)(void*), struct side* side)
{
    CHECK_INT(t, pthread_create(thread, NULL, body, side), 0);
}

static int test_main(void)
{
    int provided = -1;
    const int started = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("pack_with_others");
    pthread_t threads[waiting + 1];
    struct side sides[waiting + 2];
    CHECK_INT(&t, started, MPI_SUCCESS);
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    for (int i = 0; i < waiting + 2; ++i) {
        sides[i] = (struct side){t, i, MPI_COMM_WORLD};
        sides[i].check.checks = sides[i].check.failures = 0;
    }
    pack_often(&sides[waiting]);  // nobody waits
    for (int i = 0; i <= waiting; ++i)
        start(&t, &threads[i], i < waiting ? wait_for_it : pack_often, &sides[i]);
    pack_often(&sides[waiting + 1]);
    for (int i = waiting; i >= 0; --i) {
        if (i < waiting)
            CHECK_CALL(&t, MPI_Send(&i, 1, MPI_INT, t.rank, tag + i, MPI_COMM_WORLD));
        CHECK_INT(&t, pthread_join(threads[i], NULL), 0);
    }
    for (int i = 0; i < waiting + 2; ++i) {
        t.checks += sides[i].check.checks;
        t.failures += sides[i].check.failures;
    }
    const int result = check_finish(&t);
    MPI_Finalize();
    return result;
}

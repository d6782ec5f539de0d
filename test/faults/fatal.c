// SPDX-License-Identifier: Apache-2.0
// fatal CASE: makes one error that ends the job under the default error handler. Rank 1 (rank 0
// of a lone rank) makes it while the others wait for a message that never comes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void wait_for_ever(void)
{
    int value;
    MPI_Recv(&value, 1, MPI_INT, 0, 4711, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void fail_inside(const char* name, int size)
{
    int value = 0, other[2] = {0, 0};
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Request request;
    if (strcmp(name, "rank") == 0)
        MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    if (strcmp(name, "comm") == 0)
        MPI_Barrier(MPI_COMM_NULL);
    if (strcmp(name, "count") == 0)
        MPI_Bcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD);
    if (strcmp(name, "type") == 0)
        MPI_Isend(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD, &request);
    if (strcmp(name, "tag") == 0)
        MPI_Recv(&value, 1, MPI_INT, 0, -9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (strcmp(name, "root") == 0)
        MPI_Reduce(&value, other, 1, MPI_INT, MPI_SUM, size, MPI_COMM_WORLD);
    if (strcmp(name, "op") == 0)
        MPI_Allreduce(&value, other, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD);
    if (strcmp(name, "free") == 0)
        MPI_Comm_free(&comm);
    if (strcmp(name, "truncate") == 0) {
        int me = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &me);
        MPI_Isend(other, 2, MPI_INT, me, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(&value, 1, MPI_INT, me, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (strcmp(name, "abort") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
        MPI_Ssend(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    }
    if (strcmp(name, "session") == 0) {
        MPI_Session session;
        MPI_Group group;
        MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
        MPI_Group_from_session_pset(session, "mpi://NONE", &group);
    }
    if (strcmp(name, "closed") == 0)
        MPI_Session_get_num_psets(MPI_SESSION_NULL, MPI_INFO_NULL, &value);
    if (strcmp(name, "keyval") == 0)
        MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &value);
    if (strcmp(name, "unbuilt") == 0) {
        MPI_Win window;
        MPI_Win_create(&value, sizeof value, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
    }
}

int main(int count, char** arguments)
{
    const char* name = count > 1 ? arguments[1] : "";
    int rank = 0, size = 0, value = 0;
    if (strcmp(name, "before") == 0) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        printf("went on\n");
        return 0;
    }
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(name, "none") == 0) {
        printf("rank %d of %d\n", rank, size);
        MPI_Finalize();
        return 0;
    }
    if (strcmp(name, "after") == 0) {
        MPI_Finalize();
        MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        printf("went on\n");
        return 0;
    }
    if (rank == (size > 1 ? 1 : 0)) {
        fail_inside(name, size);
        printf("went on\n");
        fflush(stdout);
        exit(3);
    }
    wait_for_ever();
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// given_up FORM: a reduction of four ranks to rank 0, in which rank 3 gives more than the others,
// so that rank 2, between the two, fails. Rank 0 keeps the default error handler. FORM is blocking,
// started or persistent.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char** argv)
{
    int rank = 0, code = MPI_SUCCESS, class = MPI_SUCCESS;
    long given[2] = {1, 1}, got[2] = {0, 0};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Init(&argc, &argv);
    const char* form = argc > 1 ? argv[1] : "blocking";
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const int count = rank == 3 ? 2 : 1;
    if (strcmp(form, "blocking") == 0) {
        code = MPI_Reduce(given, got, count, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    } else {
        if (strcmp(form, "started") == 0) {
            MPI_Ireduce(given, got, count, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD, &request);
        } else {
            MPI_Reduce_init(given, got, count, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &request);
            MPI_Start(&request);
        }
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Error_class(code, &class);
    if (rank == 2 && class != MPI_ERR_TRUNCATE)
        printf("rank 2 was not told\n");
    if (rank == 0)
        printf("went on\n");
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

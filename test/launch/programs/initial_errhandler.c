// SPDX-License-Identifier: Apache-2.0
// Makes errors where argv[1] says: "before" MPI_Init, on "world", on "self", outside of any object
// ("none"), in a communicator made from MPI_COMM_WORLD ("dup"), or "after" MPI_Finalize. Says what
// came back.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int wrong_without_object(void)
{
    char value[8];
    int room = sizeof value, flag = 0;
    return MPI_Info_get_string(MPI_INFO_NULL, "key", &room, value, &flag);
}

static const char* name_of(MPI_Errhandler handler)
{
    return handler == MPI_ERRORS_ARE_FATAL ? "fatal"
           : handler == MPI_ERRORS_ABORT   ? "abort"
           : handler == MPI_ERRORS_RETURN  ? "return"
                                           : "another";
}

static void say_handlers(void)
{
    MPI_Errhandler world, self;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &world);
    MPI_Comm_get_errhandler(MPI_COMM_SELF, &self);
    char value[64] = "";
    int room = sizeof value, flag = 0;
    MPI_Info_get_string(MPI_INFO_ENV, "mpi_initial_errhandler", &room, value, &flag);
    printf("handlers %s %s %s\n", name_of(world), name_of(self), value);
}

int main(int argc, char** argv)
{
    const char* const place = argc > 1 ? argv[1] : "nowhere";
    int code = MPI_SUCCESS;
    if (strcmp(place, "before") == 0)
        code = wrong_without_object();
    MPI_Init(&argc, &argv);
    if (strcmp(place, "handlers") == 0)
        say_handlers();
    if (strcmp(place, "world") == 0)
        code = MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (strcmp(place, "self") == 0)
        code = MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_SELF);
    if (strcmp(place, "none") == 0)
        code = wrong_without_object();
    if (strcmp(place, "dup") == 0) {
        MPI_Comm dup;
        MPI_Comm_dup(MPI_COMM_WORLD, &dup);
        code = MPI_Send(NULL, -1, MPI_INT, 0, 0, dup);
        MPI_Comm_free(&dup);
    }
    MPI_Finalize();
    if (strcmp(place, "after") == 0)
        code = wrong_without_object();
    int error_class = -1;
    MPI_Error_class(code, &error_class);
    printf("class %s\n", error_class == MPI_SUCCESS     ? "success"
                         : error_class == MPI_ERR_COUNT ? "count"
                         : error_class == MPI_ERR_INFO  ? "info"
                                                        : "another");
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Says which kinds of memory MPI can use, on rank 0: what the environment, the world, a duplicate
// of it and sessions know, one of which asks for kinds itself.
#include <mpi.h>
#include <stdio.h>

enum { text_bytes = 256 };

static void say(int rank, const char* whose, MPI_Info info)
{
    char text[text_bytes] = "";
    int room = text_bytes, flag = 0;
    MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &room, text, &flag);
    if (rank == 0)
        printf("%s: %s\n", whose, flag ? text : "(none)");
}

static void say_of_comm(int rank, const char* whose, MPI_Comm comm)
{
    MPI_Info info;
    MPI_Comm_get_info(comm, &info);
    say(rank, whose, info);
    MPI_Info_free(&info);
}

static void say_of_session(int rank, const char* whose, MPI_Info asked)
{
    MPI_Session session;
    MPI_Info info;
    MPI_Session_init(asked, MPI_ERRORS_RETURN, &session);
    MPI_Session_get_info(session, &info);
    say(rank, whose, info);
    MPI_Info_free(&info);
    MPI_Session_finalize(&session);
}

int main(int argc, char** argv)
{
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    say(rank, "environment", MPI_INFO_ENV);
    say_of_comm(rank, "world", MPI_COMM_WORLD);
    MPI_Comm dup;
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    say_of_comm(rank, "duplicate", dup);
    MPI_Comm_free(&dup);
    say_of_session(rank, "session", MPI_INFO_NULL);
    MPI_Info asked;
    MPI_Info_create(&asked);
    MPI_Info_set(asked, "mpi_memory_alloc_kinds", "mpi,none_such");
    say_of_session(rank, "session that asks", asked);
    MPI_Info_free(&asked);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Names of communicators, and what is plain to say of an intracommunicator.
#include "../check.h"

static void has_name(struct check* t, MPI_Comm comm, const char* want)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length = -1;
    memset(name, 'x', sizeof name);
    CHECK_CALL(t, MPI_Comm_get_name(comm, name, &length));
    CHECK_INT(t, length, strlen(want));
    CHECK(t, strcmp(name, want) == 0);
}

static void names(struct check* t)
{
    MPI_Comm copy;
    char longest[MPI_MAX_OBJECT_NAME + 40];
    has_name(t, MPI_COMM_WORLD, "MPI_COMM_WORLD");
    has_name(t, MPI_COMM_SELF, "MPI_COMM_SELF");
    has_name(t, MPI_COMM_NULL, "MPI_COMM_NULL");
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    has_name(t, copy, "");
    CHECK_CALL(t, MPI_Comm_set_name(copy, "halo exchange"));
    has_name(t, copy, "halo exchange");
    memset(longest, 'n', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    CHECK_CALL(t, MPI_Comm_set_name(copy, longest));
    longest[MPI_MAX_OBJECT_NAME - 1] = '\0';
    has_name(t, copy, longest);
    CHECK_CALL(t, MPI_Comm_set_name(copy, ""));
    has_name(t, copy, "");
    CHECK_CALL(t, MPI_Comm_free(&copy));
    REFUSED(t, MPI_Comm_set_name(MPI_COMM_NULL, "name"), MPI_ERR_COMM);
}

static void intracommunicators(struct check* t)
{
    int flag = 1, size = 0;
    MPI_Group group;
    MPI_Comm parent = MPI_COMM_WORLD;
    CHECK_CALL(t, MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
    CHECK_INT(t, flag, 0);
    REFUSED(t, MPI_Comm_remote_size(MPI_COMM_WORLD, &size), MPI_ERR_COMM);
    REFUSED(t, MPI_Comm_remote_group(MPI_COMM_WORLD, &group), MPI_ERR_COMM);
    CHECK_CALL(t, MPI_Comm_get_parent(&parent));
    CHECK(t, parent == MPI_COMM_NULL);
    CHECK_CALL(t, MPI_Topo_test(MPI_COMM_WORLD, &flag));
    CHECK_INT(t, flag, MPI_UNDEFINED);
}

static void disconnect(struct check* t)
{
    MPI_Comm copy;
    MPI_Request request;
    int out = t->rank, in = -1;
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &copy));
    CHECK_CALL(t, MPI_Isend(&out, 1, MPI_INT, to, 1, copy, &request));
    CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, from, 1, copy, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, from);
    MPI_Comm old = copy;
    CHECK_CALL(t, MPI_Comm_disconnect(&copy));
    CHECK(t, copy == MPI_COMM_NULL);
    REFUSED(t, MPI_Comm_size(old, &in), MPI_ERR_COMM);
    MPI_Comm world = MPI_COMM_WORLD;
    REFUSED(t, MPI_Comm_disconnect(&world), MPI_ERR_COMM);
}

static int test_main(void)
{
    struct check t = check_start("names");
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    names(&t);
    intracommunicators(&t);
    disconnect(&t);
    return check_finish(&t);
}

// SPDX-License-Identifier: Apache-2.0
// Knobs as control variables: what is set before MPI_Init is in effect, what may change late
// changes, other settings are refused then. Needs a process a rank: ranks of one process share its
// knobs.
#define CHECK_OWN_INIT
#include "../check.h"

static MPI_T_cvar_handle open_knob(struct check* t, const char* name, int* scope)
{
    int index = -1, count = 0;
    MPI_T_cvar_handle handle = MPI_T_CVAR_HANDLE_NULL;
    CHECK_CALL(t, MPI_T_cvar_get_index(name, &index));
    CHECK_CALL(t,
               MPI_T_cvar_get_info(index, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, scope));
    CHECK_CALL(t, MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    return handle;
}

static uint64_t read_number(struct check* t, MPI_T_cvar_handle handle)
{
    uint64_t value = ~(uint64_t)0;
    CHECK_CALL(t, MPI_T_cvar_read(handle, &value));
    return value;
}

// Whether a standard send of so many bytes returns before its receive is there: it does up to the
// eager limit. Sending to itself, a rank needs nobody for the answer.
static int is_sent_at_once(int bytes)
{
    static char out[20000], in[20000];
    MPI_Request request;
    int flag = 0;
    MPI_Isend(out, bytes, MPI_CHAR, 0, 1, MPI_COMM_SELF, &request);
    MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(in, bytes, MPI_CHAR, 0, 1, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return flag;
}

static int test_main(void)
{
    struct check t = {"knobs", -1, 0, 0, 0, 0, 0};
    int provided, scope = 0, choice = -1;
    const uint64_t limit = 100, too_much = (uint64_t)1 << 60;
    char path[4096] = "x";
    CHECK_CALL(&t, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_T_cvar_handle eager = open_knob(&t, "eager_limit", &scope);
    CHECK_INT(&t, scope, MPI_T_SCOPE_ALL_EQ);
    CHECK_INT(&t, read_number(&t, eager), 16384);
    CHECK_INT(&t, MPI_T_cvar_write(eager, &too_much), MPI_T_ERR_INVALID);
    CHECK_CALL(&t, MPI_T_cvar_write(eager, &limit));
    CHECK_INT(&t, read_number(&t, eager), 100);
    // Set by the environment of the run.
    MPI_T_cvar_handle quarantine = open_knob(&t, "handle_quarantine", &scope);
    CHECK_INT(&t, read_number(&t, quarantine), 77);
    MPI_T_cvar_handle cma = open_knob(&t, "cma", &scope);
    CHECK_CALL(&t, MPI_T_cvar_read(cma, &choice));
    CHECK_INT(&t, choice, 0);
    choice = 5;
    CHECK_INT(&t, MPI_T_cvar_write(cma, &choice), MPI_T_ERR_INVALID);
    MPI_T_cvar_handle trace = open_knob(&t, "trace", &scope);
    CHECK_CALL(&t, MPI_T_cvar_read(trace, path));
    CHECK_INT(&t, strlen(path), 0);

    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.size);
    CHECK_INT(&t, read_number(&t, eager), 100);
    CHECK_INT(&t, is_sent_at_once(100), 1);
    CHECK_INT(&t, is_sent_at_once(101), 0);
    CHECK_INT(&t, MPI_T_cvar_write(eager, &limit), MPI_T_ERR_CVAR_SET_NOT_NOW);
    MPI_T_cvar_handle yields = open_knob(&t, "yields", &scope);
    CHECK_INT(&t, scope, MPI_T_SCOPE_LOCAL);
    const uint64_t more = 3;
    CHECK_CALL(&t, MPI_T_cvar_write(yields, &more));
    CHECK_INT(&t, read_number(&t, yields), 3);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    CHECK_INT(&t, read_number(&t, yields), 3);
    CHECK_CALL(&t, MPI_T_finalize());
    return check_finish(&t);
}

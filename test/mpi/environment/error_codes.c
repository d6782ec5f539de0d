// SPDX-License-Identifier: Apache-2.0
// Error classes, codes and strings of the application, also before MPI_Init.
#define CHECK_OWN_INIT
#include "../check.h"

struct seen {
    int code;
    int calls;
};

static void has_text(struct check* t, int code, const char* want)
{
    char text[MPI_MAX_ERROR_STRING];
    int length = -1;
    CHECK_CALL(t, MPI_Error_string(code, text, &length));
    CHECK_INT(t, length, strlen(want));
    CHECK(t, strcmp(text, want) == 0);
}

// The record's address is the communicator's name: ranks may be threads, which share globals.
static void on_error(MPI_Comm* comm, int* code, ...)
{
    struct seen* seen = NULL;
    char name[MPI_MAX_OBJECT_NAME];
    int length = 0;
    MPI_Comm_get_name(*comm, name, &length);
    if (sscanf(name, "%p", (void**)&seen) == 1) {
        seen->code = *code;
        ++seen->calls;
    }
}

static void added(struct check* t, int early)
{
    int error_class = -1, code = -1, got = -1;
    CHECK_CALL(t, MPI_Add_error_class(&error_class));
    CHECK(t, error_class > MPI_ERR_LASTCODE);
    CHECK(t, error_class != early);
    has_text(t, error_class, "");
    CHECK_CALL(t, MPI_Add_error_string(error_class, "a class"));
    has_text(t, error_class, "a class");
    CHECK_CALL(t, MPI_Add_error_code(error_class, &code));
    CHECK_CALL(t, MPI_Error_class(code, &got));
    CHECK_INT(t, got, error_class);
    CHECK_CALL(t, MPI_Add_error_string(code, "a code"));
    has_text(t, code, "a code");
    // From the leaves on.
    REFUSED(t, MPI_Remove_error_class(error_class), MPI_ERR_ARG);
    REFUSED(t, MPI_Remove_error_code(code), MPI_ERR_ARG);
    CHECK_CALL(t, MPI_Remove_error_string(code));
    CHECK_CALL(t, MPI_Remove_error_code(code));
    CHECK_CALL(t, MPI_Remove_error_string(error_class));
    CHECK_CALL(t, MPI_Remove_error_class(error_class));
    REFUSED(t, MPI_Error_class(code, &got), MPI_ERR_ARG);
    REFUSED(t, MPI_Remove_error_class(MPI_SUCCESS), MPI_ERR_ARG);
    REFUSED(t, MPI_Add_error_string(MPI_ERR_RANK, "text"), MPI_ERR_ARG);
    REFUSED(t, MPI_Add_error_code(code, &got), MPI_ERR_ARG);
}

// A code of the application reaches its handler as it is.
static void raised(struct check* t, int code)
{
    struct seen seen = {0, 0};
    char name[32];
    MPI_Comm copy;
    MPI_Errhandler handler;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_SELF, &copy));
    snprintf(name, sizeof name, "%p", (void*)&seen);
    CHECK_CALL(t, MPI_Comm_set_name(copy, name));
    CHECK_CALL(t, MPI_Comm_create_errhandler(on_error, &handler));
    CHECK_CALL(t, MPI_Comm_set_errhandler(copy, handler));
    CHECK_CALL(t, MPI_Errhandler_free(&handler));
    CHECK_CALL(t, MPI_Comm_call_errhandler(copy, code));
    CHECK_INT(t, seen.calls, 1);
    CHECK_INT(t, seen.code, code);
    CHECK_CALL(t, MPI_Comm_free(&copy));
}

static int test_main(void)
{
    int early = -1, got = -1;
    MPI_Errhandler early_handler;
    const int before[] = {MPI_Add_error_class(&early), MPI_Add_error_string(early, "early"),
                          MPI_Comm_create_errhandler(on_error, &early_handler)};
    MPI_Init(NULL, NULL);
    struct check t = check_start("error_codes");
    for (int i = 0; i < 3; ++i)
        CHECK_INT(&t, before[i], MPI_SUCCESS);
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    has_text(&t, early, "early");
    CHECK_CALL(&t, MPI_Error_class(early, &got));
    CHECK_INT(&t, got, early);
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, early_handler));
    CHECK_CALL(&t, MPI_Errhandler_free(&early_handler));
    added(&t, early);
    raised(&t, early);
    MPI_Finalize();
    has_text(&t, early, "early");
    return check_finish(&t);
}

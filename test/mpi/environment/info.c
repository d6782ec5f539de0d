// SPDX-License-Identifier: Apache-2.0
// Info objects, also before MPI_Init and after MPI_Finalize.
#define CHECK_OWN_INIT
#include "../check.h"

static void has_value(struct check* t, MPI_Info info, const char* key, const char* want)
{
    char value[64];
    int length = 0, flag = -1;
    CHECK_CALL(t, MPI_Info_get_string(info, key, &length, NULL, &flag));
    CHECK_INT(t, flag, want != NULL);
    if (want == NULL)
        return;
    CHECK_INT(t, length, strlen(want) + 1);
    length = sizeof value;
    CHECK_CALL(t, MPI_Info_get_string(info, key, &length, value, &flag));
    CHECK(t, strcmp(value, want) == 0);
    CHECK_CALL(t, MPI_Info_get_valuelen(info, key, &length, &flag));
    CHECK_INT(t, length, strlen(want));
}

enum { COUNT_TEXT = 16 };  // Bytes of a number of processes as text.

// MAXPROCS: what the launcher told before MPI is up, "" where it said nothing yet.
static MPI_Info before_init(struct check* t, char maxprocs[COUNT_TEXT])
{
    MPI_Info info, program;
    int length = COUNT_TEXT, flag = 0;
    char word[] = "program", first[] = "-x", second[] = "7";
    char* words[] = {word, first, second, NULL};
    CHECK_CALL(t, MPI_Info_create(&info));
    CHECK_CALL(t, MPI_Info_set(info, "early", "bird"));
    has_value(t, info, "early", "bird");
    CHECK_CALL(t, MPI_Info_create_env(3, words, &program));
    has_value(t, program, "command", "program");
    has_value(t, program, "argv", "-x 7");
    CHECK_CALL(t, MPI_Info_get_string(program, "maxprocs", &length, maxprocs, &flag));
    // PMIx and PMI by a port say it in MPI_Init only.
    CHECK(t, flag || getenv("PMIX_NAMESPACE") != NULL || getenv("PMI_PORT") != NULL);
    if (!flag)
        maxprocs[0] = '\0';
    CHECK_CALL(t, MPI_Info_free(&program));
    return info;
}

static void keys_and_values(struct check* t)
{
    MPI_Info info, copy;
    char key[MPI_MAX_INFO_KEY], value[4];
    int count = -1, flag = -1, length = 4;
    CHECK_CALL(t, MPI_Info_create(&info));
    CHECK_CALL(t, MPI_Info_get_nkeys(info, &count));
    CHECK_INT(t, count, 0);
    CHECK_CALL(t, MPI_Info_set(info, "b", "first"));
    CHECK_CALL(t, MPI_Info_set(info, "a", "second"));
    CHECK_CALL(t, MPI_Info_set(info, "b", "third"));
    CHECK_CALL(t, MPI_Info_get_nkeys(info, &count));
    CHECK_INT(t, count, 2);
    CHECK_CALL(t, MPI_Info_get_nthkey(info, 1, key));
    CHECK(t, strcmp(key, "a") == 0);
    has_value(t, info, "b", "third");
    has_value(t, info, "c", NULL);
    // Short buffers take the beginning.
    CHECK_CALL(t, MPI_Info_get(info, "b", 2, value, &flag));
    CHECK(t, flag && strcmp(value, "th") == 0);
    CHECK_CALL(t, MPI_Info_get_string(info, "b", &length, value, &flag));
    CHECK(t, flag && strcmp(value, "thi") == 0);
    CHECK_INT(t, length, 6);
    CHECK_CALL(t, MPI_Info_dup(info, &copy));
    CHECK_CALL(t, MPI_Info_delete(info, "b"));
    has_value(t, info, "b", NULL);
    has_value(t, copy, "b", "third");
    CHECK_CALL(t, MPI_Info_free(&copy));
    CHECK(t, copy == MPI_INFO_NULL);
    CHECK_CALL(t, MPI_Info_free(&info));
}

static void environment(struct check* t, const char* maxprocs_before)
{
    MPI_Info copy;
    char size[COUNT_TEXT];
    snprintf(size, sizeof size, "%d", t->size);
    has_value(t, MPI_INFO_ENV, "maxprocs", size);
    CHECK(t, maxprocs_before[0] == '\0' || strcmp(maxprocs_before, size) == 0);
    // What was requested before the program started (MPI 5.0, 11.2.1), and no launcher does that.
    has_value(t, MPI_INFO_ENV, "thread_level", NULL);
    CHECK_CALL(t, MPI_Info_dup(MPI_INFO_ENV, &copy));
    CHECK_CALL(t, MPI_Info_set(copy, "maxprocs", "0"));
    CHECK_CALL(t, MPI_Info_free(&copy));
    has_value(t, MPI_INFO_ENV, "maxprocs", size);
}

static void refusals(struct check* t, MPI_Info info)
{
    char longest[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY];
    int count, flag;
    MPI_Info none = MPI_INFO_NULL, fixed = MPI_INFO_ENV, copy;
    memset(longest, 'v', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    REFUSED(t, MPI_Info_set(info, "", "value"), MPI_ERR_INFO_KEY);
    REFUSED(t, MPI_Info_set(info, longest, "value"), MPI_ERR_INFO_KEY);
    REFUSED(t, MPI_Info_set(info, "key", longest), MPI_ERR_INFO_VALUE);
    REFUSED(t, MPI_Info_delete(info, "nobody"), MPI_ERR_INFO_NOKEY);
    REFUSED(t, MPI_Info_get_nthkey(info, 17, key), MPI_ERR_ARG);
    REFUSED(t, MPI_Info_get_nthkey(info, -1, key), MPI_ERR_ARG);
    REFUSED(t, MPI_Info_get(info, "early", -1, key, &flag), MPI_ERR_ARG);
    REFUSED(t, MPI_Info_set(none, "key", "value"), MPI_ERR_INFO);
    REFUSED(t, MPI_Info_get_nkeys(none, &count), MPI_ERR_INFO);
    REFUSED(t, MPI_Info_free(&none), MPI_ERR_INFO);
    REFUSED(t, MPI_Info_set(fixed, "key", "value"), MPI_ERR_INFO);
    REFUSED(t, MPI_Info_free(&fixed), MPI_ERR_INFO);
    CHECK_CALL(t, MPI_Info_create(&copy));
    MPI_Info freed = copy;
    CHECK_CALL(t, MPI_Info_free(&copy));
    REFUSED(t, MPI_Info_get_nkeys(freed, &count), MPI_ERR_INFO);
    REFUSED(t, MPI_Info_free(&freed), MPI_ERR_INFO);
}

static int test_main(void)
{
    struct check early = {"info", -1, 0, 0, 0, 0, 0};
    char maxprocs_before[COUNT_TEXT];  // Of this rank: ranks that are threads share globals.
    MPI_Info info = before_init(&early, maxprocs_before);
    MPI_Init(NULL, NULL);
    struct check t = check_start("info");
    t.checks += early.checks;
    t.failures += early.failures;
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    has_value(&t, info, "early", "bird");
    keys_and_values(&t);
    environment(&t, maxprocs_before);
    refusals(&t, info);
    MPI_Finalize();
    has_value(&t, info, "early", "bird");
    CHECK_CALL(&t, MPI_Info_free(&info));
    return check_finish(&t);
}

// SPDX-License-Identifier: Apache-2.0
// Control variables, enumerations and categories of the tool interface: from before MPI_Init to
// after MPI_Finalize.
#define CHECK_OWN_INIT
#include "../check.h"

enum { text_bytes = 512, names_max = 4096 };

// Every variable of every category once, and no other.
static void check_categories(struct check* t)
{
    int categories = 0, cvars = 0, pvars = 0, events = 0, stamp = -1;
    CHECK_CALL(t, MPI_T_category_get_num(&categories));
    CHECK_CALL(t, MPI_T_cvar_get_num(&cvars));
    CHECK_CALL(t, MPI_T_pvar_get_num(&pvars));
    CHECK_CALL(t, MPI_T_event_get_num(&events));
    CHECK_CALL(t, MPI_T_category_changed(&stamp));
    CHECK(t, stamp >= 0);
    for (int i = 0; i < categories; ++i) {
        char name[text_bytes] = "", about[text_bytes] = "";
        int name_len = text_bytes, about_len = text_bytes, own[3] = {0, 0, 0}, own_events = 0;
        CHECK_CALL(t, MPI_T_category_get_info(i, name, &name_len, about, &about_len, &own[0],
                                              &own[1], &own[2]));
        CHECK_INT(t, name_len, (int)strlen(name) + 1);
        int found = -1;
        CHECK_CALL(t, MPI_T_category_get_index(name, &found));
        CHECK_INT(t, found, i);
        CHECK_CALL(t, MPI_T_category_get_num_events(i, &own_events));
        int* members = check_memory(names_max * sizeof(int));
        if (own[0] <= names_max)
            CHECK_CALL(t, MPI_T_category_get_cvars(i, own[0], members));
        for (int k = 0; k < own[0] && k < names_max; ++k)
            CHECK(t, members[k] >= 0 && members[k] < cvars);
        CHECK_CALL(t, MPI_T_category_get_pvars(i, own[1], members));
        for (int k = 0; k < own[1]; ++k)
            CHECK(t, members[k] >= 0 && members[k] < pvars);
        CHECK_CALL(t, MPI_T_category_get_events(i, own_events, members));
        for (int k = 0; k < own_events; ++k)
            CHECK(t, members[k] >= 0 && members[k] < events);
        CHECK_CALL(t, MPI_T_category_get_categories(i, own[2], members));
        for (int k = 0; k < own[2]; ++k)
            CHECK(t, members[k] >= 0 && members[k] < categories && members[k] != i);
        free(members);
    }
    if (!t->skip_garbage)
        CHECK_INT(t, MPI_T_category_get_info(categories, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                  MPI_T_ERR_INVALID_INDEX);
    int index;
    if (!t->skip_garbage)
        CHECK_INT(t, MPI_T_category_get_index("no such category", &index), MPI_T_ERR_INVALID_NAME);
}

static void check_enumeration(struct check* t, MPI_T_enum enumeration)
{
    int items = 0, length = 0;
    CHECK_CALL(t, MPI_T_enum_get_info(enumeration, &items, NULL, &length));
    CHECK(t, items > 0 && length > 1);
    for (int i = 0; i < items; ++i) {
        char name[text_bytes] = "";
        int value = -1, name_len = text_bytes;
        CHECK_CALL(t, MPI_T_enum_get_item(enumeration, i, &value, name, &name_len));
        CHECK_INT(t, name_len, (int)strlen(name) + 1);
    }
    CHECK(t, MPI_T_enum_get_item(enumeration, items, NULL, NULL, NULL) != MPI_SUCCESS);
}

static void check_variables(struct check* t)
{
    int cvars = 0;
    CHECK_CALL(t, MPI_T_cvar_get_num(&cvars));
    CHECK(t, cvars > 0);
    for (int i = 0; i < cvars; ++i) {
        char name[text_bytes] = "", start[5] = "";
        int name_len = text_bytes, about_len = 0, verbosity = 0, bind = -1, scope = 0, cut = 5;
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_T_enum enumeration = MPI_T_ENUM_NULL;
        CHECK_CALL(t, MPI_T_cvar_get_info(i, name, &name_len, &verbosity, &type, &enumeration, NULL,
                                          &about_len, &bind, &scope));
        CHECK(t, about_len > 1 && scope != 0 && verbosity != 0);
        CHECK_CALL(t,
                   MPI_T_cvar_get_info(i, start, &cut, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        CHECK(t, strncmp(start, name, 4) == 0 && start[4] == '\0');
        int found = -1;
        CHECK_CALL(t, MPI_T_cvar_get_index(name, &found));
        CHECK_INT(t, found, i);
        if (enumeration != MPI_T_ENUM_NULL)
            check_enumeration(t, enumeration);
        if (bind != MPI_T_BIND_NO_OBJECT)
            continue;
        MPI_T_cvar_handle handle;
        int count = 0;
        CHECK_CALL(t, MPI_T_cvar_handle_alloc(i, NULL, &handle, &count));
        CHECK(t, count > 0);
        char* value = check_memory((size_t)count * 8);
        CHECK_CALL(t, MPI_T_cvar_read(handle, value));
        free(value);
        CHECK_CALL(t, MPI_T_cvar_handle_free(&handle));
        CHECK(t, handle == MPI_T_CVAR_HANDLE_NULL);
    }
    int index;
    if (!t->skip_garbage)
        CHECK_INT(t, MPI_T_cvar_get_index("no such variable", &index), MPI_T_ERR_INVALID_NAME);
    if (!t->skip_garbage)
        CHECK_INT(t, MPI_T_cvar_get_info(-1, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
                  MPI_T_ERR_INVALID_INDEX);
}

static int test_main(void)
{
    struct check t = {"control_variables", -1, 0, 0, 0, 0, 0};
    t.skip_garbage = check_is_set("CHECK_SKIP_GARBAGE");
    int provided = -1, number = 0;
    CHECK_INT(&t, MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_CALL(&t, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK_CALL(&t, MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    check_variables(&t);
    check_categories(&t);
    MPI_Init(NULL, NULL);
    MPI_Comm_rank(MPI_COMM_WORLD, &t.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &t.size);
    CHECK_CALL(&t, MPI_T_finalize());
    check_variables(&t);
    MPI_Finalize();
    check_variables(&t);
    CHECK_CALL(&t, MPI_T_finalize());
    CHECK_INT(&t, MPI_T_cvar_get_num(&number), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_INT(&t, MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
    return check_finish(&t);
}

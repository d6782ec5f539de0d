// SPDX-License-Identifier: Apache-2.0
// Attributes of communicators: when callbacks run, what they see and what their answers do.
#include "../check.h"

struct record {
    MPI_Comm copied_from;
    int copies;
    int deletions;
    int copy_answer;
    int delete_answer;
    int wants_copy;
    char value;
};

static int on_copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag)
{
    struct record* record = extra;
    (void)key;
    record->copied_from = comm;
    ++record->copies;
    *(void**)out = (char*)in + 1;
    *flag = record->wants_copy;
    return record->copy_answer;
}

static int on_delete(MPI_Comm comm, int key, void* value, void* extra)
{
    struct record* record = extra;
    int size = 0;
    (void)key;
    (void)value;
    ++record->deletions;
    // The communicator can still be used.
    MPI_Comm_size(comm, &size);
    return size > 0 ? record->delete_answer : MPI_ERR_COMM;
}

// A communicator kept as an attribute, as libraries do: callbacks call MPI.
static int copy_by_dup(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag)
{
    MPI_Comm copy;
    (void)comm;
    (void)key;
    (void)extra;
    const int code = MPI_Comm_dup((MPI_Comm)in, &copy);
    *(void**)out = (void*)copy;
    *flag = 1;
    return code;
}

static int delete_by_free(MPI_Comm comm, int key, void* value, void* extra)
{
    MPI_Comm kept = (MPI_Comm)value;
    (void)comm;
    (void)key;
    (void)extra;
    return MPI_Comm_free(&kept);
}

static void set_get_delete(struct check* t)
{
    struct record record = {.wants_copy = 1};
    int key = MPI_KEYVAL_INVALID, flag = 1;
    char* seen = NULL;
    char other;
    MPI_Comm parent, copy;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    CHECK_CALL(t, MPI_Comm_create_keyval(on_copy, on_delete, &key, &record));
    CHECK(t, key != MPI_KEYVAL_INVALID);
    CHECK_CALL(t, MPI_Comm_get_attr(parent, key, &seen, &flag));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Comm_set_attr(parent, key, &other));
    CHECK_CALL(t, MPI_Comm_set_attr(parent, key, &record.value));
    CHECK_INT(t, record.deletions, 1);
    CHECK_CALL(t, MPI_Comm_dup(parent, &copy));
    CHECK_INT(t, record.copies, 1);
    CHECK(t, record.copied_from == parent);
    CHECK_CALL(t, MPI_Comm_get_attr(copy, key, &seen, &flag));
    CHECK_INT(t, flag, 1);
    CHECK(t, seen == &record.value + 1);
    CHECK_CALL(t, MPI_Comm_delete_attr(copy, key));
    CHECK_INT(t, record.deletions, 2);
    CHECK_CALL(t, MPI_Comm_get_attr(copy, key, &seen, &flag));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Comm_free(&copy));
    CHECK_INT(t, record.deletions, 2);
    record.wants_copy = 0;
    CHECK_CALL(t, MPI_Comm_dup(parent, &copy));
    CHECK_CALL(t, MPI_Comm_get_attr(copy, key, &seen, &flag));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Comm_free(&copy));
    // The key goes first; its attribute and callbacks stay until the communicator goes.
    int freed = key;
    CHECK_CALL(t, MPI_Comm_free_keyval(&key));
    CHECK_INT(t, key, MPI_KEYVAL_INVALID);
    REFUSED(t, MPI_Comm_set_attr(parent, freed, &other), MPI_ERR_KEYVAL);
    CHECK_CALL(t, MPI_Comm_free(&parent));
    CHECK_INT(t, record.deletions, 3);
    REFUSED(t, MPI_Comm_get_attr(MPI_COMM_SELF, freed, &seen, &flag), MPI_ERR_KEYVAL);
    REFUSED(t, MPI_Comm_free_keyval(&freed), MPI_ERR_KEYVAL);
}

// A key that was freed is there while an attribute has it (MPI-5.0 section 7.7.2): by a number that
// the program kept, attributes are read and deleted, and the key freed again.
static void freed_key_in_use(struct check* t)
{
    struct record record = {.wants_copy = 1};
    int key, kept, again, flag = 0;
    char* seen = NULL;
    MPI_Comm parent, copy;
    CHECK_CALL(t, MPI_Comm_create_keyval(on_copy, on_delete, &key, &record));
    kept = key;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    CHECK_CALL(t, MPI_Comm_set_attr(parent, key, &record.value));
    CHECK_CALL(t, MPI_Comm_free_keyval(&key));
    for (int i = 0; i < 100; ++i) {
        CHECK_CALL(t, MPI_Comm_create_keyval(NULL, NULL, &key, NULL));
        CHECK_CALL(t, MPI_Comm_free_keyval(&key));
    }
    CHECK_CALL(t, MPI_Comm_dup(parent, &copy));
    CHECK_CALL(t, MPI_Comm_get_attr(copy, kept, &seen, &flag));
    CHECK(t, flag && seen == &record.value + 1);
    again = kept;
    CHECK_CALL(t, MPI_Comm_free_keyval(&again));
    CHECK_INT(t, again, MPI_KEYVAL_INVALID);
    CHECK_CALL(t, MPI_Comm_delete_attr(parent, kept));
    CHECK_INT(t, record.deletions, 1);
    CHECK_CALL(t, MPI_Comm_delete_attr(copy, kept));
    CHECK_INT(t, record.deletions, 2);
    REFUSED(t, MPI_Comm_delete_attr(copy, kept), MPI_ERR_KEYVAL);
    CHECK_CALL(t, MPI_Comm_free(&copy));
    CHECK_CALL(t, MPI_Comm_free(&parent));
}

static void failing_callbacks(struct check* t)
{
    struct record good = {.wants_copy = 1}, bad = {.wants_copy = 1};
    int good_key, bad_key, error_class = 0, error_code = 0, flag = 0;
    char* seen;
    MPI_Comm parent, copy = MPI_COMM_SELF;
    CHECK_CALL(t, MPI_Add_error_class(&error_class));
    CHECK_CALL(t, MPI_Add_error_code(error_class, &error_code));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    CHECK_CALL(t, MPI_Comm_create_keyval(on_copy, on_delete, &good_key, &good));
    CHECK_CALL(t, MPI_Comm_create_keyval(on_copy, on_delete, &bad_key, &bad));
    CHECK_CALL(t, MPI_Comm_set_attr(parent, good_key, &good.value));
    CHECK_CALL(t, MPI_Comm_set_attr(parent, bad_key, &bad.value));
    bad.copy_answer = error_code;
    CHECK_INT(t, MPI_Comm_dup(parent, &copy), error_code);
    // What was copied before is deleted again.
    CHECK_INT(t, good.copies, 1);
    CHECK_INT(t, good.deletions, 1);
    CHECK_INT(t, bad.deletions, 0);
    bad.delete_answer = error_code;
    CHECK_INT(t, MPI_Comm_delete_attr(parent, bad_key), error_code);
    CHECK_CALL(t, MPI_Comm_get_attr(parent, bad_key, &seen, &flag));
    CHECK_INT(t, flag, 1);
    CHECK_INT(t, MPI_Comm_free(&parent), error_code);
    CHECK(t, parent != MPI_COMM_NULL);
    bad.delete_answer = MPI_SUCCESS;
    CHECK_CALL(t, MPI_Comm_free(&parent));
    CHECK_INT(t, good.deletions, 2);
    CHECK_INT(t, bad.deletions, 3);
    CHECK_CALL(t, MPI_Comm_free_keyval(&good_key));
    CHECK_CALL(t, MPI_Comm_free_keyval(&bad_key));
    CHECK_CALL(t, MPI_Remove_error_code(error_code));
    CHECK_CALL(t, MPI_Remove_error_class(error_class));
}

static void callbacks_call_mpi(struct check* t)
{
    int key, flag = 0, sum = 0, one = 1;
    void* kept = NULL;
    MPI_Comm parent, inner, copy;
    CHECK_CALL(t, MPI_Comm_create_keyval(copy_by_dup, delete_by_free, &key, NULL));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &inner));
    CHECK_CALL(t, MPI_Comm_set_attr(parent, key, (void*)inner));
    CHECK_CALL(t, MPI_Comm_dup(parent, &copy));
    CHECK_CALL(t, MPI_Comm_get_attr(copy, key, &kept, &flag));
    CHECK_INT(t, flag, 1);
    CHECK(t, (MPI_Comm)kept != inner);
    CHECK_CALL(t, MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, (MPI_Comm)kept));
    CHECK_INT(t, sum, t->size);
    CHECK_CALL(t, MPI_Comm_free(&parent));
    CHECK_CALL(t, MPI_Comm_free(&copy));
    CHECK_CALL(t, MPI_Comm_free_keyval(&key));
    REFUSED(t, MPI_Comm_size(inner, &sum), MPI_ERR_COMM);
}

static void predefined(struct check* t)
{
    const int keys[] = {MPI_TAG_UB,        MPI_IO,          MPI_HOST, MPI_WTIME_IS_GLOBAL,
                        MPI_UNIVERSE_SIZE, MPI_LASTUSEDCODE};
    const int least[] = {32767, MPI_ANY_SOURCE, MPI_PROC_NULL, 0, t->size, MPI_ERR_LASTCODE};
    for (int i = 0; i < 6; ++i) {
        int *value = NULL, flag = 0;
        CHECK_CALL(t, MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &flag));
        CHECK_INT(t, flag, 1);
        CHECK(t, flag && *value >= least[i]);
        REFUSED(t, MPI_Comm_set_attr(MPI_COMM_WORLD, keys[i], value), MPI_ERR_KEYVAL);
        REFUSED(t, MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[i]), MPI_ERR_KEYVAL);
        int copy = keys[i];
        REFUSED(t, MPI_Comm_free_keyval(&copy), MPI_ERR_KEYVAL);
    }
    int *value, flag, added = 0;
    CHECK_CALL(t, MPI_Add_error_class(&added));
    CHECK_CALL(t, MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &value, &flag));
    CHECK_INT(t, *value, added);
    CHECK_CALL(t, MPI_Remove_error_class(added));
    REFUSED(t, MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WIN_BASE, &value, &flag), MPI_ERR_KEYVAL);
    REFUSED(t, MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, &value, &flag),
            MPI_ERR_KEYVAL);
}

// The names of MPI-1 are other names for the same.
static void old_names(struct check* t)
{
    int key, flag = 0;
    char value;
    char* seen = NULL;
    MPI_Comm copy;
    CHECK_CALL(t, MPI_Keyval_create(MPI_DUP_FN, MPI_NULL_DELETE_FN, &key, NULL));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_SELF, &copy));
    CHECK_CALL(t, MPI_Attr_put(copy, key, &value));
    CHECK_CALL(t, MPI_Comm_get_attr(copy, key, &seen, &flag));
    CHECK(t, flag && seen == &value);
    CHECK_CALL(t, MPI_Attr_delete(copy, key));
    CHECK_CALL(t, MPI_Attr_get(copy, key, &seen, &flag));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Keyval_free(&key));
    CHECK_CALL(t, MPI_Comm_free(&copy));
}

// Keys of windows are none of communicators or datatypes, and are freed like theirs.
static void window_keys(struct check* t)
{
    int key = MPI_KEYVAL_INVALID, other = MPI_KEYVAL_INVALID, value = 0;
    CHECK_CALL(t, MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &key, NULL));
    CHECK_CALL(t, MPI_Win_create_keyval(MPI_WIN_DUP_FN, MPI_WIN_NULL_DELETE_FN, &other, NULL));
    CHECK(t, key != MPI_KEYVAL_INVALID && other != MPI_KEYVAL_INVALID && key != other);
    REFUSED(t, MPI_Comm_set_attr(MPI_COMM_SELF, key, &value), MPI_ERR_KEYVAL);
    REFUSED(t, MPI_Type_set_attr(MPI_INT, key, &value), MPI_ERR_KEYVAL);
    int copy = key;
    REFUSED(t, MPI_Comm_free_keyval(&copy), MPI_ERR_KEYVAL);
    CHECK_CALL(t, MPI_Win_free_keyval(&key));
    CHECK_INT(t, key, MPI_KEYVAL_INVALID);
    REFUSED(t, MPI_Win_free_keyval(&key), MPI_ERR_KEYVAL);
    REFUSED(t, MPI_Win_free_keyval(&copy), MPI_ERR_KEYVAL);
    CHECK_CALL(t, MPI_Win_free_keyval(&other));
}

static int test_main(void)
{
    struct check t = check_start("attributes");
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    CHECK_CALL(&t, MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    set_get_delete(&t);
    freed_key_in_use(&t);
    failing_callbacks(&t);
    callbacks_call_mpi(&t);
    predefined(&t);
    old_names(&t);
    if (!t.lenient)
        window_keys(&t);
    return check_finish(&t);
}

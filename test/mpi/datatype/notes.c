// SPDX-License-Identifier: Apache-2.0
// What a program hangs on datatypes: names and attributes, also on predefined ones; duplicates
// inherit attributes by their callbacks and no name. Types found by what a language's type holds.
#include "../check.h"

struct calls {
    int copied;
    int deleted;
};

static int copy_attribute(MPI_Datatype type, int key, void* extra, void* value, void* result,
                          int* flag)
{
    struct calls* calls = extra;
    (void)type;
    (void)key;
    ++calls->copied;
    *(void**)result = (char*)value + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Datatype type, int key, void* value, void* extra)
{
    struct calls* calls = extra;
    (void)type;
    (void)key;
    (void)value;
    ++calls->deleted;
    return MPI_SUCCESS;
}

static int refuse_copy(MPI_Datatype type, int key, void* extra, void* value, void* result,
                       int* flag)
{
    (void)type;
    (void)key;
    (void)extra;
    (void)value;
    (void)result;
    (void)flag;
    return MPI_ERR_OTHER;
}

static void names(struct check* t)
{
    const struct {
        MPI_Datatype type;
        const char* name;
    } known[] = {{MPI_INT, "MPI_INT"},
                 {MPI_DOUBLE_INT, "MPI_DOUBLE_INT"},
                 {MPI_UINT16_T, "MPI_UINT16_T"},
                 // Of synonyms the name that the other is a synonym of (MPI-5.0 table 3.2).
                 {MPI_LONG_LONG, "MPI_LONG_LONG_INT"},
                 {MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX"},
                 {MPI_DATATYPE_NULL, "MPI_DATATYPE_NULL"}};
    char name[MPI_MAX_OBJECT_NAME], longest[MPI_MAX_OBJECT_NAME + 40];
    int length = -1;
    MPI_Datatype type, same;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
        CHECK_CALL(t, MPI_Type_get_name(known[i].type, name, &length));
        CHECK(t, strcmp(name, known[i].name) == 0 && length == (int)strlen(name));
    }
    CHECK_CALL(t, MPI_Type_contiguous(2, MPI_INT, &type));
    CHECK_CALL(t, MPI_Type_get_name(type, name, &length));
    CHECK(t, length == 0 && name[0] == '\0');
    CHECK_CALL(t, MPI_Type_set_name(type, "two ints"));
    CHECK_CALL(t, MPI_Type_get_name(type, name, &length));
    CHECK(t, length == 8 && strcmp(name, "two ints") == 0);
    CHECK_CALL(t, MPI_Type_dup(type, &same));
    CHECK_CALL(t, MPI_Type_get_name(same, name, &length));
    CHECK_INT(t, length, 0);
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    CHECK_CALL(t, MPI_Type_set_name(same, longest));
    CHECK_CALL(t, MPI_Type_get_name(same, name, &length));
    CHECK_INT(t, length, MPI_MAX_OBJECT_NAME - 1);
    if (check_has_predefined()) {
        CHECK_CALL(t, MPI_Type_set_name(MPI_SHORT, "small"));
        CHECK_CALL(t, MPI_Type_get_name(MPI_SHORT, name, &length));
        CHECK(t, strcmp(name, "small") == 0);
        CHECK_CALL(t, MPI_Type_set_name(MPI_SHORT, "MPI_SHORT"));
    }
    CHECK_CALL(t, MPI_Type_free(&type));
    CHECK_CALL(t, MPI_Type_free(&same));
}

static void attributes(struct check* t, MPI_Datatype type)
{
    struct calls calls = {0, 0};
    char values[2];
    int key = MPI_KEYVAL_INVALID, stubborn = MPI_KEYVAL_INVALID, flag = -1;
    void* found = NULL;
    MPI_Datatype same = MPI_DATATYPE_NULL;
    CHECK_CALL(t, MPI_Type_create_keyval(copy_attribute, delete_attribute, &key, &calls));
    CHECK_CALL(t, MPI_Type_get_attr(type, key, &found, &flag));
    CHECK_INT(t, flag, 0);
    CHECK_CALL(t, MPI_Type_set_attr(type, key, values));
    CHECK_CALL(t, MPI_Type_get_attr(type, key, &found, &flag));
    CHECK(t, flag != 0 && found == values);
    CHECK_CALL(t, MPI_Type_dup(type, &same));
    CHECK_CALL(t, MPI_Type_get_attr(same, key, &found, &flag));
    CHECK(t, flag != 0 && found == values + 1);
    CHECK(t, calls.copied == 1 && calls.deleted == 0);
    CHECK_CALL(t, MPI_Type_free(&same));
    CHECK_INT(t, calls.deleted, 1);
    CHECK_CALL(t, MPI_Type_delete_attr(type, key));
    CHECK_INT(t, calls.deleted, 2);
    CHECK_CALL(t, MPI_Type_get_attr(type, key, &found, &flag));
    CHECK_INT(t, flag, 0);

    // A copy callback that fails makes no duplicate.
    CHECK_CALL(t, MPI_Type_create_keyval(refuse_copy, MPI_TYPE_NULL_DELETE_FN, &stubborn, NULL));
    CHECK_CALL(t, MPI_Type_set_attr(type, stubborn, values));
    REFUSED(t, MPI_Type_dup(type, &same), MPI_ERR_OTHER);
    CHECK_CALL(t, MPI_Type_delete_attr(type, stubborn));
    CHECK_CALL(t, MPI_Type_free_keyval(&stubborn));
    CHECK_CALL(t, MPI_Type_free_keyval(&key));
    REFUSED(t, MPI_Type_set_attr(type, key, values), MPI_ERR_KEYVAL);
}

static void languages(struct check* t)
{
    MPI_Datatype real, again, type;
    int size = 0, integers[2] = {0}, combiner = 0, numbers[3] = {0};
    double in[2] = {1.5, 2.5}, out[2] = {0, 0};
    MPI_Aint addresses[1];
    CHECK_CALL(t, MPI_Type_create_f90_real(10, 100, &real));
    CHECK_CALL(t, MPI_Type_create_f90_real(10, 100, &again));
    CHECK(t, real == again);
    CHECK_CALL(t, MPI_Type_size(real, &size));
    CHECK_INT(t, size, 8);
    CHECK_CALL(t, MPI_Type_get_envelope(real, &numbers[0], &numbers[1], &numbers[2], &combiner));
    CHECK(t, combiner == MPI_COMBINER_F90_REAL && numbers[0] == 2);
    CHECK_CALL(t, MPI_Type_get_contents(real, 2, 0, 0, integers, addresses, &type));
    CHECK(t, integers[0] == 10 && integers[1] == 100);
    // It is predefined: committed, of use to predefined operators, never freed.
    CHECK_CALL(t, MPI_Allreduce(in, out, 2, real, MPI_SUM, MPI_COMM_SELF));
    CHECK(t, out[0] == 1.5 && out[1] == 2.5);
    type = real;
    if (!t->lenient)
        REFUSED(t, MPI_Type_free(&type), MPI_ERR_TYPE);
    REFUSED(t, MPI_Type_create_f90_real(1000, 10, &type), MPI_ERR_ARG, MPI_ERR_OTHER);
    CHECK_CALL(t, MPI_Type_create_f90_integer(7, &type));
    CHECK_CALL(t, MPI_Type_size(type, &size));
    CHECK_INT(t, size, 4);
    CHECK_CALL(t, MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type));
    CHECK_CALL(t, MPI_Type_size(type, &size));
    CHECK_INT(t, size, 16);
    REFUSED(t, MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 3, &type), MPI_ERR_ARG);
    CHECK_CALL(t, MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type));
    CHECK(t, type == MPI_DOUBLE_INT);
    CHECK_CALL(t, MPI_Type_get_value_index(MPI_DOUBLE, MPI_FLOAT, &type));
    CHECK(t, type == MPI_DATATYPE_NULL);
}

static int test_main(void)
{
    struct check t = check_start("datatype/notes");
    MPI_Datatype type;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CALL(&t, MPI_Type_contiguous(3, MPI_DOUBLE, &type));
    names(&t);
    attributes(&t, type);
    if (check_has_predefined())
        attributes(&t, MPI_BYTE);
    languages(&t);
    CHECK_CALL(&t, MPI_Type_free(&type));
    return check_finish(&t);
}

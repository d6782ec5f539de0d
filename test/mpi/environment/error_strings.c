// SPDX-License-Identifier: Apache-2.0
// Every error class is its own class, has a text of its own, and the text fits.
#include "../check.h"

static int is_text(const char* text, int length)
{
    if (length <= 0 || length >= MPI_MAX_ERROR_STRING)
        return 0;
    for (int i = 0; i < length; ++i) {
        if (text[i] == '\0' || (unsigned char)text[i] < ' ')
            return 0;
    }
    return text[length] == '\0';
}

static void one(struct check* t, int code, char* text)
{
    int length = -1;
    memset(text, 0x7F, MPI_MAX_ERROR_STRING);
    if (!CHECK_CALL(t, MPI_Error_string(code, text, &length)))
        return;
    if (!CHECK(t, is_text(text, length)))
        fprintf(stderr, "error_strings: of class %d\n", code);
}

static int test_main(void)
{
    struct check t = check_start("error_strings");
    enum { first_class = MPI_SUCCESS, last_class = MPI_ERR_ABI };
    static const int tool_first = MPI_T_ERR_CANNOT_INIT, tool_last = MPI_T_ERR_PVAR_NO_ATOMIC;
    char (*texts)[MPI_MAX_ERROR_STRING] = check_memory((last_class + 1) * sizeof *texts);
    char tool[MPI_MAX_ERROR_STRING];
    for (int code = first_class; code <= last_class; ++code) {
        int error_class = -1;
        CHECK_CALL(&t, MPI_Error_class(code, &error_class));
        CHECK_INT(&t, error_class, code);
        one(&t, code, texts[code]);
        for (int other = first_class; other < code && !t.lenient; ++other) {
            if (!CHECK(&t, strcmp(texts[other], texts[code]) != 0)) {
                fprintf(stderr, "error_strings: %d and %d: %s\n", other, code, texts[code]);
            }
        }
    }
    for (int code = tool_first; code <= tool_last && !t.lenient; ++code)
        one(&t, code, tool);
    free(texts);
    return check_finish(&t);
}

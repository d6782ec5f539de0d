// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "settings.h"

// Finds the value of option `name` in "--name=value" or "--name value"; advances *index over the
// latter. NULL where it is absent.
static const char* option_value(int argc, char** argv, int* index, const char* name)
{
    const size_t length = strlen(name);
    if (argv[*index][length] == '=')
        return argv[*index] + length + 1;
    if (*index + 1 >= argc)
        return NULL;
    return argv[++*index];
}

static bool is_option(const char* argument, const char* name)
{
    const size_t length = strlen(name);
    return strncmp(argument, name, length) == 0 &&
           (argument[length] == '\0' || argument[length] == '=');
}

static bool read_count(const char* text, long high, long* count)
{
    if (text == NULL)
        return false;
    char* end = NULL;
    errno = 0;
    *count = strtol(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && *count >= 1 && *count <= high;
}

static bool count_option(int argc, char** argv, int* index, const char* name, long high,
                         long* count, char* message)
{
    const char* const value = option_value(argc, argv, index, name);
    if (read_count(value, high, count))
        return true;
    snprintf(message, text_max,
             "%s needs a whole number from 1 to %ld, but has '%.60s'; write for example '%s 64'.",
             name, high, value == NULL ? "" : value, name);
    return false;
}

static const char* const part_names[] = {"whole", "communication", "computation"};

const char* part_name(Part part)
{
    return part_names[part];
}

static bool read_part(const char* text, Part* part)
{
    for (int candidate = part_whole; candidate <= part_computation; ++candidate) {
        if (text != NULL && strcmp(text, part_names[candidate]) == 0) {
            *part = (Part)candidate;
            return true;
        }
    }
    return false;
}

bool parse_options(int argc, char** argv, Options* options, char message[text_max])
{
    memset(options, 0, sizeof *options);
    for (int index = 1; index < argc; ++index) {
        const char* const argument = argv[index];
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            options->help = true;
        } else if (strcmp(argument, "--json") == 0) {
            options->json = true;
        } else if (strcmp(argument, "--quiet") == 0) {
            options->quiet = true;
        } else if (is_option(argument, "--input")) {
            options->input_path = option_value(argc, argv, &index, "--input");
            if (options->input_path == NULL || options->input_path[0] == '\0') {
                snprintf(message, text_max, "--input needs a file; write '--input FILE'.");
                return false;
            }
        } else if (is_option(argument, "--grid")) {
            if (!count_option(argc, argv, &index, "--grid", grid_max, &options->grid, message)) {
                return false;
            }
        } else if (is_option(argument, "--iterations")) {
            if (!count_option(argc, argv, &index, "--iterations", 1000000000, &options->iterations,
                              message)) {
                return false;
            }
        } else if (is_option(argument, "--part")) {
            if (!read_part(option_value(argc, argv, &index, "--part"), &options->part)) {
                snprintf(message, text_max,
                         "--part needs 'whole', 'communication' or 'computation'; write for "
                         "example '--part computation'.");
                return false;
            }
        } else {
            snprintf(message, text_max, "unknown argument '%.60s'; --help lists what there is.",
                     argument);
            return false;
        }
    }
    return true;
}

void apply_options(const Options* options, Settings* settings)
{
    if (options->grid > 0) {
        for (int axis = 0; axis < axes; ++axis)
            settings->grid[axis] = (int)options->grid;
    }
    if (options->iterations > 0) {
        settings->max_iterations = options->iterations;
        settings->tolerance = 0.0;
    }
    settings->part = options->part;
    if (settings->part != part_whole)
        settings->tolerance = 0.0;
}

void print_help(void)
{
    printf(
        "jacobi3d: solves -(u_xx + u_yy + u_zz) = f on a box by Jacobi sweeps and compares the\n"
        "result with the analytic solution.\n"
        "\n"
        "usage: [mpiexec -n RANKS] jacobi3d [options]\n"
        "  --input FILE    settings, lines 'key = value' ('#' starts a comment):\n"
        "                    grid            interior points, one number or three\n"
        "                    length          edges of the box, one number or three\n"
        "                    solution        sine, exponential or polynomial\n"
        "                    tolerance       stop at this part of the first residual\n"
        "                    max_iterations  sweeps after which to give up\n"
        "                    check_interval  sweeps from one residual to the next\n"
        "  --grid N        N x N x N points, whatever the input says\n"
        "  --iterations N  exactly N sweeps, whatever tolerance and max_iterations say\n"
        "  --part P        whole (default); communication: the messages without the sweeps;\n"
        "                  computation: the sweeps without messages. The latter two take\n"
        "                  time only: they solve nothing and check nothing\n"
        "  --json          one JSON object instead of the table\n"
        "  --quiet         no progress lines on standard error\n"
        "  --help          this text\n"
        "\n"
        "Exit code: 0 solved and checked, 1 not converged or wrong, 2 wrong input.\n");
}

// SPDX-License-Identifier: Apache-2.0
// Reader of the input file: lines `key = value`, `#` starts a comment, keys in any order.
#include "settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { line_max = 256, key_count = 6 };

static const char* const solution_names[] = {"sine", "exponential", "polynomial"};
enum { solution_count = sizeof solution_names / sizeof solution_names[0] };

typedef struct {
    const char* name;
    const char* wants;  // ends the sentence "'name' needs ..."
    const char* example;
    bool (*store)(const char* value, Settings* settings);
} Key;

Settings default_settings(void)
{
    const Settings settings = {
        .grid = {72, 72, 72},
        .length = {1.0, 1.0, 1.0},
        .solution = solution_exponential,
        .tolerance = 1e-8,
        .max_iterations = 100000,
        .check_interval = 20,
    };
    return settings;
}

const char* solution_name(Solution solution)
{
    return solution_names[solution];
}

// Reads whole numbers from low to high; returns how many stood in the text, -1 if it is not that.
static int read_integers(const char* text, long low, long high, long* values, int values_max)
{
    int count = 0;
    for (;;) {
        while (isspace((unsigned char)*text))
            ++text;
        if (*text == '\0')
            return count;
        char* end = NULL;
        errno = 0;
        const long value = strtol(text, &end, 10);
        const bool ends_well = *end == '\0' || isspace((unsigned char)*end);
        if (end == text || !ends_well || errno != 0 || value < low || value > high)
            return -1;
        if (count == values_max)
            return -1;
        values[count++] = value;
        text = end;
    }
}

// The same for numbers with 0 < value < 1e100, or 0 where that is allowed.
static int read_numbers(const char* text, bool zero_allowed, double* values, int values_max)
{
    int count = 0;
    for (;;) {
        while (isspace((unsigned char)*text))
            ++text;
        if (*text == '\0')
            return count;
        char* end = NULL;
        const double value = strtod(text, &end);
        const bool ends_well = *end == '\0' || isspace((unsigned char)*end);
        const bool in_range = (value > 1e-100 && value < 1e100) || (zero_allowed && value == 0.0);
        if (end == text || !ends_well || !in_range || count == values_max)
            return -1;
        values[count++] = value;
        text = end;
    }
}

static bool store_grid(const char* value, Settings* settings)
{
    long points[axes];
    const int count = read_integers(value, 1, grid_max, points, axes);
    if (count != 1 && count != axes)
        return false;
    for (int axis = 0; axis < axes; ++axis) {
        settings->grid[axis] = (int)points[count == 1 ? 0 : axis];
    }
    return true;
}

static bool store_length(const char* value, Settings* settings)
{
    double edges[axes];
    const int count = read_numbers(value, false, edges, axes);
    if (count != 1 && count != axes)
        return false;
    for (int axis = 0; axis < axes; ++axis) {
        const double edge = edges[count == 1 ? 0 : axis];
        if (edge < 1e-3 || edge > 1e3)
            return false;
        settings->length[axis] = edge;
    }
    return true;
}

static bool store_solution(const char* value, Settings* settings)
{
    for (int index = 0; index < solution_count; ++index) {
        if (strcmp(value, solution_names[index]) == 0) {
            settings->solution = (Solution)index;
            return true;
        }
    }
    return false;
}

static bool store_tolerance(const char* value, Settings* settings)
{
    double tolerance;
    if (read_numbers(value, true, &tolerance, 1) != 1 || tolerance >= 1.0)
        return false;
    settings->tolerance = tolerance;
    return true;
}

static bool store_max_iterations(const char* value, Settings* settings)
{
    return read_integers(value, 1, 1000000000, &settings->max_iterations, 1) == 1;
}

static bool store_check_interval(const char* value, Settings* settings)
{
    return read_integers(value, 1, 1000000000, &settings->check_interval, 1) == 1;
}

static const Key keys[key_count] = {
    {"grid", "one or three whole numbers from 1 to 8192", "64 64 64", store_grid},
    {"length", "one or three numbers from 0.001 to 1000", "1.0 1.0 1.0", store_length},
    {"solution", "one of sine, exponential, polynomial", "sine", store_solution},
    {"tolerance", "one number from 0 to below 1", "1e-8", store_tolerance},
    {"max_iterations", "one whole number from 1 to 1000000000", "100000", store_max_iterations},
    {"check_interval", "one whole number from 1 to 1000000000", "20", store_check_interval},
};

static char* strip(char* text)
{
    while (isspace((unsigned char)*text))
        ++text;
    size_t length = strlen(text);
    while (length > 0 && isspace((unsigned char)text[length - 1]))
        --length;
    text[length] = '\0';
    return text;
}

// Handles one line; `place` is "FILE:LINE", `seen` tells which keys stood in earlier lines.
static bool read_line(char* line, const char* place, bool* seen, Settings* settings, char* message)
{
    line[strcspn(line, "#")] = '\0';
    char* const name_start = strip(line);
    if (*name_start == '\0')
        return true;
    char* const equals = strchr(name_start, '=');
    if (equals == NULL) {
        snprintf(message, text_max, "%s: no '=' in '%.60s'; write a line as 'key = value'.", place,
                 name_start);
        return false;
    }
    *equals = '\0';
    const char* const name = strip(name_start);
    const char* const value = strip(equals + 1);
    for (int index = 0; index < key_count; ++index) {
        const Key* const key = &keys[index];
        if (strcmp(name, key->name) != 0)
            continue;
        if (seen[index]) {
            snprintf(message, text_max, "%s: '%s' stands here a second time; remove one of them.",
                     place, name);
            return false;
        }
        seen[index] = true;
        if (key->store(value, settings))
            return true;
        snprintf(message, text_max, "%s: '%s' needs %s, but has '%.60s'; write '%s = %s'.", place,
                 name, key->wants, value, name, key->example);
        return false;
    }
    snprintf(message, text_max,
             "%s: unknown key '%.60s'; the keys are grid, length, solution, tolerance, "
             "max_iterations, check_interval.",
             place, name);
    return false;
}

bool read_settings(const char* path, Settings* settings, char message[text_max])
{
    FILE* const file = fopen(path, "r");
    if (file == NULL) {
        snprintf(message, text_max, "%.200s: cannot be opened: %s; check the path after --input.",
                 path, strerror(errno));
        return false;
    }
    char line[line_max];
    bool seen[key_count] = {false};
    bool good = true;
    for (long number = 1; good && fgets(line, line_max, file) != NULL; ++number) {
        char place[line_max];
        snprintf(place, sizeof place, "%.200s:%ld", path, number);
        if (strchr(line, '\n') == NULL && !feof(file)) {
            snprintf(message, text_max, "%s: the line has more than %d characters; shorten it.",
                     place, line_max - 2);
            good = false;
        } else {
            good = read_line(line, place, seen, settings, message);
        }
    }
    if (good && ferror(file)) {
        snprintf(message, text_max, "%.200s: cannot be read; give a plain text file to --input.",
                 path);
        good = false;
    }
    fclose(file);
    return good;
}

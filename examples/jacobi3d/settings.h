// SPDX-License-Identifier: Apache-2.0
// What the user asked for: the numerical settings (input file) and the options (command line).
#ifndef JACOBI3D_SETTINGS_H
#define JACOBI3D_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>

enum { axes = 3, grid_max = 8192, text_max = 512 };

// What of the work is done: all of it, or one half by itself, to see what each of them takes.
typedef enum { part_whole, part_communication, part_computation } Part;

typedef enum { solution_sine, solution_exponential, solution_polynomial } Solution;

// Plain data without pointers: rank 0 reads it and broadcasts its bytes.
typedef struct {
    int grid[axes];       // interior points along x, y, z
    double length[axes];  // edges of the box
    Solution solution;    // the analytic solution that right-hand side and boundary come from
    double tolerance;     // stop at residual <= tolerance * first residual; 0: never
    long max_iterations;  // sweeps
    long check_interval;  // sweeps from one residual to the next
    Part part;            // only part_whole solves the problem
} Settings;

// The values that hold without an input file; the installed default.in says the same.
Settings default_settings(void);

// Name of a solution as it stands in the input file.
const char* solution_name(Solution solution);

// Name of a part as it stands on the command line.
const char* part_name(Part part);

// Reads `path` into `settings`; keys that the file leaves out keep their value. Returns false with
// one sentence in `message` that names file, line and cure.
bool read_settings(const char* path, Settings* settings, char message[text_max]);

typedef struct {
    const char* input_path;  // NULL: no input file
    long grid;               // 0: as the input says
    long iterations;         // 0: as the input says, else exactly this many sweeps
    Part part;
    bool json;
    bool quiet;
    bool help;
} Options;

// Returns false with one sentence in `message` where the command line is wrong.
bool parse_options(int argc, char** argv, Options* options, char message[text_max]);

// Puts what the command line says over what the input file said.
void apply_options(const Options* options, Settings* settings);

void print_help(void);

#endif

// SPDX-License-Identifier: Apache-2.0
#include "solver.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "sweep.h"

typedef struct {
    bool shown;     // on this rank
    bool terminal;  // one line rewritten twice a second, else a new line every five
    double begin_s;
    double next_s;
    bool line_open;
} Progress;

static Progress make_progress(bool shown)
{
    const double now_s = MPI_Wtime();
    const bool terminal = shown && isatty(STDERR_FILENO);
    const Progress progress = {shown, terminal, now_s, now_s + (terminal ? 0.5 : 5.0), false};
    return progress;
}

static void show_progress(Progress* progress, const Settings* settings, const Outcome* outcome)
{
    if (!progress->shown)
        return;
    const double now_s = MPI_Wtime();
    if (now_s < progress->next_s)
        return;
    progress->next_s = now_s + (progress->terminal ? 0.5 : 5.0);
    progress->line_open = progress->terminal;
    fprintf(stderr, "%sjacobi3d: %.0f s, sweep %ld of at most %ld, residual %.2e of the first%s",
            progress->terminal ? "\r" : "", now_s - progress->begin_s, outcome->iterations,
            settings->max_iterations, outcome->residual.norm / outcome->first.norm,
            progress->terminal ? "   " : "\n");
    fflush(stderr);
}

static void end_progress(const Progress* progress)
{
    if (progress->line_open)
        fprintf(stderr, "\n");
}

static void sweep(Part part, const Problem* problem, const Block* block, Field* field, Halo* halo,
                  ResidualSum* sum, MpiClock* clock)
{
    Box shells[faces];
    const Box interior = peel_shells(block, shells);
    if (part != part_computation)
        start_halo(halo, block, field, clock);
    if (part != part_communication)
        sweep_box(problem, field, &interior, sum);
    if (part != part_computation)
        finish_halo(halo, block, field, clock);
    if (part != part_communication) {
        for (int face = 0; face < faces; ++face)
            sweep_box(problem, field, &shells[face], sum);
    }
    swap_iterates(field);
}

// Takes in the residual of an earlier iterate and tells whether to stop.
static bool take_residual(const Settings* settings, ResidualCheck* check, MpiClock* clock,
                          Outcome* outcome)
{
    outcome->residual = finish_residual(check, clock);
    if (outcome->residual_iteration == 0)
        outcome->first = outcome->residual;
    outcome->converged = settings->tolerance > 0.0 &&
                         outcome->residual.norm <= settings->tolerance * outcome->first.norm;
    return outcome->converged;
}

Outcome solve(const Settings* settings, const Problem* problem, const Block* block, MPI_Comm comm,
              Field* field, Halo* halo, bool show)
{
    Outcome outcome = {0};
    MpiClock clock = {0};
    ResidualCheck check = make_residual_check(comm, problem, settings->grid);
    bool in_flight = false;
    MPI_Barrier(comm);
    const double begin_s = MPI_Wtime();
    Progress progress = make_progress(show);
    while (outcome.iterations < settings->max_iterations) {
        const long iterate = outcome.iterations;
        const bool is_checked =
            iterate % settings->check_interval == 0 || iterate + 1 == settings->max_iterations;
        ResidualSum sum = begin_sum(&check);
        sweep(settings->part, problem, block, field, halo, is_checked ? &sum : NULL, &clock);
        ++outcome.iterations;
        if (in_flight) {
            in_flight = false;
            if (take_residual(settings, &check, &clock, &outcome))
                break;
            show_progress(&progress, settings, &outcome);
        }
        if (is_checked && settings->part != part_computation) {
            outcome.residual_iteration = iterate;
            start_residual(&check, &sum, &clock);
            in_flight = true;
        }
    }
    if (in_flight)
        take_residual(settings, &check, &clock, &outcome);
    outcome.elapsed_s = MPI_Wtime() - begin_s;
    outcome.mpi_s = clock.inside_s;
    end_progress(&progress);
    return outcome;
}

// SPDX-License-Identifier: Apache-2.0
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static bool gather_times(const Outcome* outcome, const Block* block, MPI_Comm comm, Times* times)
{
    const double mine[2] = {outcome->elapsed_s, outcome->mpi_s};
    double* const all = malloc(2 * (size_t)block->ranks * sizeof(double));
    if (all == NULL)
        return false;
    MPI_Gather(mine, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, comm);
    if (block->rank == 0) {
        *times = (Times){.elapsed_s = all[0], .mpi_min_s = all[1], .mpi_max_s = all[1]};
        for (int rank = 0; rank < block->ranks; ++rank) {
            const double mpi_s = all[2 * rank + 1];
            times->elapsed_s = fmax(times->elapsed_s, all[2 * rank]);
            times->mpi_min_s = fmin(times->mpi_min_s, mpi_s);
            times->mpi_max_s = fmax(times->mpi_max_s, mpi_s);
            times->mpi_mean_s += mpi_s / block->ranks;
        }
    }
    free(all);
    return true;
}

bool make_report(const Settings* settings, const Problem* problem, const Block* block,
                 const Field* field, const Outcome* outcome, MPI_Comm comm, Report* report)
{
    *report = (Report){.settings = *settings, .block = *block, .outcome = *outcome};
    const double error = largest_error(problem, block, field);
    MPI_Allreduce(&error, &report->error, 1, MPI_DOUBLE, MPI_MAX, comm);
    report->error_allowed = error_allowed(problem, outcome->residual.largest);
    const bool is_reached = settings->tolerance == 0.0 || outcome->converged;
    const bool is_right = is_reached && report->error <= report->error_allowed;
    report->passed = settings->part != part_whole || is_right;
    return gather_times(outcome, block, comm, &report->times);
}

static double million_points_per_s(const Report* report)
{
    const int* const grid = report->settings.grid;
    const double points = (double)grid[0] * grid[1] * grid[2];
    return points * (double)report->outcome.iterations / report->times.elapsed_s / 1e6;
}

static void print_verdict(const Report* report)
{
    if (report->settings.part != part_whole) {
        printf("  check        none: only the %s was done\n", part_name(report->settings.part));
    } else if (report->passed) {
        printf("  check        passed\n");
    } else if (!(report->error <= report->error_allowed)) {
        printf(
            "  check        FAILED: the error is larger than the method explains; program or\n"
            "               MPI library computes wrongly\n");
    } else {
        printf(
            "  check        FAILED: not converged in %ld sweeps; raise max_iterations or\n"
            "               tolerance in the input file\n",
            report->outcome.iterations);
    }
}

void print_table(const Report* report)
{
    const Settings* const settings = &report->settings;
    const Outcome* const outcome = &report->outcome;
    const Times* const times = &report->times;
    const int* const parts = report->block.parts;
    const double percent = 100.0 / times->elapsed_s;
    printf("jacobi3d: Poisson's equation, %d x %d x %d points, box %g x %g x %g, solution '%s'\n",
           settings->grid[0], settings->grid[1], settings->grid[2], settings->length[0],
           settings->length[1], settings->length[2], solution_name(settings->solution));
    printf("  ranks        %d as %d x %d x %d\n", report->block.ranks, parts[0], parts[1],
           parts[2]);
    printf("  iterations   %ld\n", outcome->iterations);
    printf("  residual     %.15e at sweep %ld, %.3e of the first\n", outcome->residual.norm,
           outcome->residual_iteration, outcome->residual.norm / outcome->first.norm);
    printf("  error        %.3e against the analytic solution, up to %.3e explained\n",
           report->error, report->error_allowed);
    printf("  time         %.3f s, %.1f million points/s\n", times->elapsed_s,
           million_points_per_s(report));
    printf("  time in MPI  min %.3f s (%.1f %%), mean %.3f s (%.1f %%), max %.3f s (%.1f %%)\n",
           times->mpi_min_s, times->mpi_min_s * percent, times->mpi_mean_s,
           times->mpi_mean_s * percent, times->mpi_max_s, times->mpi_max_s * percent);
    print_verdict(report);
}

void print_json(const Report* report)
{
    const Settings* const settings = &report->settings;
    const Outcome* const outcome = &report->outcome;
    const Times* const times = &report->times;
    const int* const parts = report->block.parts;
    printf("{\"program\": \"jacobi3d\", \"grid\": [%d, %d, %d], ", settings->grid[0],
           settings->grid[1], settings->grid[2]);
    printf("\"length\": [%.17g, %.17g, %.17g], ", settings->length[0], settings->length[1],
           settings->length[2]);
    printf(
        "\"solution\": \"%s\", \"tolerance\": %.17g, \"max_iterations\": %ld, "
        "\"check_interval\": %ld, ",
        solution_name(settings->solution), settings->tolerance, settings->max_iterations,
        settings->check_interval);
    printf("\"part\": \"%s\", ", part_name(settings->part));
    printf("\"ranks\": %d, \"decomposition\": [%d, %d, %d], ", report->block.ranks, parts[0],
           parts[1], parts[2]);
    printf(
        "\"iterations\": %ld, \"converged\": %s, \"residual\": %.17g, "
        "\"residual_largest\": %.17g, \"residual_first\": %.17g, \"residual_iteration\": %ld, ",
        outcome->iterations, outcome->converged ? "true" : "false", outcome->residual.norm,
        outcome->residual.largest, outcome->first.norm, outcome->residual_iteration);
    printf("\"error\": %.17g, \"error_allowed\": %.17g, \"passed\": %s, ", report->error,
           report->error_allowed, report->passed ? "true" : "false");
    printf("\"time_s\": %.9g, \"mpi_min_s\": %.9g, \"mpi_mean_s\": %.9g, \"mpi_max_s\": %.9g}\n",
           times->elapsed_s, times->mpi_min_s, times->mpi_mean_s, times->mpi_max_s);
}

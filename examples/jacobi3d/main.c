// SPDX-License-Identifier: Apache-2.0
// jacobi3d: a complete small MPI application. Solves Poisson's equation on a box by Jacobi's
// method and checks the result against the analytic solution. `jacobi3d --help` says how to use
// it.
#include <stdio.h>

#include "report.h"

enum { exit_passed = 0, exit_failed = 1, exit_usage = 2 };

// What rank 0 has read and tells the others.
typedef struct {
    bool proceed;
    int exit_code;  // where it does not proceed
    bool json;
    bool quiet;
    int parts[axes];
    Settings settings;
} Orders;

static Orders refuse(const char* message)
{
    const Orders orders = {.proceed = false, .exit_code = exit_usage};
    fprintf(stderr, "jacobi3d: %s\n", message);
    return orders;
}

static Orders read_orders(int argc, char** argv, int ranks)
{
    char message[text_max];
    Options options;
    if (!parse_options(argc, argv, &options, message))
        return refuse(message);
    Orders orders = {.proceed = true, .json = options.json, .quiet = options.quiet};
    if (options.help) {
        print_help();
        orders.proceed = false;
        return orders;
    }
    orders.settings = default_settings();
    if (options.input_path != NULL &&
        !read_settings(options.input_path, &orders.settings, message)) {
        return refuse(message);
    }
    apply_options(&options, &orders.settings);
    const int* const grid = orders.settings.grid;
    if (!split_grid(grid, ranks, orders.parts)) {
        snprintf(message, text_max,
                 "a grid of %d x %d x %d points cannot be split over %d ranks; "
                 "take a larger grid or another number of ranks.",
                 grid[0], grid[1], grid[2], ranks);
        return refuse(message);
    }
    return orders;
}

static int run(const Orders* orders, int rank, MPI_Comm comm)
{
    const Problem problem = make_problem(&orders->settings);
    const Block block = make_block(orders->settings.grid, orders->parts, rank);
    Field field;
    Halo halo;
    if (!make_field(&problem, &block, &field) || !make_halo(comm, &block, &halo)) {
        fprintf(stderr, "jacobi3d: rank %d has no memory for its part; take a smaller grid.\n",
                rank);
        MPI_Abort(comm, exit_failed);
    }
    const Outcome outcome = solve(&orders->settings, &problem, &block, comm, &field, &halo,
                                  rank == 0 && !orders->quiet);
    Report report;
    if (!make_report(&orders->settings, &problem, &block, &field, &outcome, comm, &report)) {
        fprintf(stderr, "jacobi3d: rank %d has no memory for the report.\n", rank);
        MPI_Abort(comm, exit_failed);
    }
    if (rank == 0) {
        if (orders->json) {
            print_json(&report);
        } else {
            print_table(&report);
        }
    }
    free_halo(&halo);
    free_field(&field);
    return report.passed ? exit_passed : exit_failed;
}

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int rank;
    int ranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    Orders orders = {0};
    if (rank == 0)
        orders = read_orders(argc, argv, ranks);
    MPI_Bcast(&orders, (int)sizeof orders, MPI_BYTE, 0, comm);
    const int exit_code = orders.proceed ? run(&orders, rank, comm) : orders.exit_code;
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return exit_code;
}

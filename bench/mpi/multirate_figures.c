// SPDX-License-Identifier: Apache-2.0
// What messages between threads cost beside time, as figures of a bench.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "multirate.h"

typedef struct {
    const char* name;
    int class_of;
} Variable;

typedef struct {
    const char* word;    // of option -f
    const char* metric;  // as the bench calls it
    const char* unit;
    Variable variables[multirate_summed_max];  // their sum; none: switches of the system
} Figure;

static const Figure figures[] = {
    [multirate_rate] = {.word = "rate", .metric = "rate_mps", .unit = "1/us"},
    [multirate_locks] = {.word = "locks",
                         .metric = "per_message",
                         .unit = "count",
                         .variables = {{"locks_contended", MPI_T_PVAR_CLASS_COUNTER},
                                       {"gates_contended", MPI_T_PVAR_CLASS_COUNTER}}},
    [multirate_switches] = {.word = "switches", .metric = "per_message", .unit = "count"},
    [multirate_order] = {.word = "order",
                         .metric = "per_message",
                         .unit = "count",
                         .variables = {{"messages_out_of_sequence", MPI_T_PVAR_CLASS_COUNTER}}},
    // Matching is done under the rank's lock, so who waits for that waits for matching.
    [multirate_match] = {.word = "match",
                         .metric = "match_ns",
                         .unit = "ns",
                         .variables = {{"lock_wait_time", MPI_T_PVAR_CLASS_TIMER},
                                       {"match_work_time", MPI_T_PVAR_CLASS_TIMER}}},
};

enum { figure_count = sizeof figures / sizeof figures[0] };

bool multirate_find_figure(const char* word, MultirateFigure* figure)
{
    for (int i = 0; i < figure_count; ++i) {
        if (strcmp(figures[i].word, word) == 0) {
            *figure = (MultirateFigure)i;
            return true;
        }
    }
    return false;
}

const char* multirate_metric_of(MultirateFigure figure)
{
    return figures[figure].metric;
}

const char* multirate_unit_of(MultirateFigure figure)
{
    return figures[figure].unit;
}

// False: this library does not know the variable.
static bool start_variable(MultirateSum* sum, const Variable* variable)
{
    int index = 0, count = 0;
    MPI_T_pvar_handle* const handle = &sum->handles[sum->count];
    if (MPI_T_pvar_get_index(variable->name, variable->class_of, &index) != MPI_SUCCESS ||
        MPI_T_pvar_handle_alloc(sum->session, index, NULL, handle, &count) != MPI_SUCCESS ||
        count != 1)
        return false;
    ++sum->count;
    return MPI_T_pvar_start(sum->session, *handle) == MPI_SUCCESS;
}

const char* multirate_open_sum(MultirateFigure figure, MultirateSum* sum)
{
    const Figure* const wanted = &figures[figure];
    int provided = 0;
    bool is_known = true;
    memset(sum, 0, sizeof *sum);
    sum->figure = figure;
    if (wanted->variables[0].name == NULL)
        return NULL;
    is_known = MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS &&
               MPI_T_pvar_session_create(&sum->session) == MPI_SUCCESS;
    for (int i = 0; is_known && i < multirate_summed_max; ++i) {
        if (wanted->variables[i].name != NULL)
            is_known = start_variable(sum, &wanted->variables[i]);
    }
    return is_known ? NULL : "the library does not count it";
}

double multirate_read_sum(const MultirateSum* sum)
{
    double total = 0.0;
    if (figures[sum->figure].variables[0].name == NULL) {
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        total = (double)(usage.ru_nvcsw + usage.ru_nivcsw);
    }
    for (int i = 0; i < sum->count; ++i) {
        unsigned long long value = 0;
        MPI_T_pvar_read(sum->session, sum->handles[i], &value);
        total += (double)value;
    }
    MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return total;
}

void multirate_close_sum(MultirateSum* sum)
{
    if (sum->count == 0)
        return;
    MPI_T_pvar_session_free(&sum->session);
    MPI_T_finalize();
}

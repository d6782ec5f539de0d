// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "multirate.h"

static const char usage[] =
    "options are -p or -a (pairs or all to all), -n -m RANKS and -x -y THREADS that send and "
    "receive (-m 0: receivers are threads of the senders), -t PAIRS of threads, -s BYTES, "
    "-w MESSAGES, -i -W ITERATIONS, -f FIGURE (rate, locks, switches, order, match; of a bench), "
    "-c -o -T -N -S -j -k -b -A, and those of harness.h";

static const char* read_number(long least, long most, long* number)
{
    char* end = NULL;
    *number = strtol(optarg, &end, 10);
    return *end != '\0' || *number < least || *number > most ? usage : NULL;
}

static const char* read_count(long least, int* count)
{
    long number = 0;
    const char* const why = read_number(least, 1 << 16, &number);
    *count = (int)number;
    return why;
}

static const char* read_option(int letter, MultirateOptions* options)
{
    switch (letter) {
        case 'p':
            options->is_all_to_all = false;
            return NULL;
        case 'a':
            options->is_all_to_all = true;
            return NULL;
        case 'n':
            return read_count(1, &options->sending_ranks);
        case 'm':
            return read_count(0, &options->receiving_ranks);
        case 'x':
            return read_count(1, &options->sending_threads);
        case 'y':
            return read_count(1, &options->receiving_threads);
        case 't': {
            const char* const why = read_count(1, &options->sending_threads);
            options->receiving_threads = options->sending_threads;
            return why;
        }
        case 's':
            return read_number(0, 1L << 30, &options->size_bytes);
        case 'w':
            return read_number(1, 32767, &options->window);
        case 'i':
            return read_number(1, 1L << 40, &options->iterations);
        case 'W':
            return read_number(0, 1L << 40, &options->warm_up);
        case 'c':
            options->has_own_communicators = true;
            return NULL;
        case 'o':
            options->allows_overtaking = true;
            return NULL;
        case 'T':
            options->has_any_tag = true;
            return NULL;
        case 'N':
            options->has_pair_tags = true;
            return NULL;
        case 'S':
            options->is_single = true;
            return NULL;
        case 'j':
            options->is_json = true;
            return NULL;
        case 'k':
            options->checks_payload = true;
            return NULL;
        case 'b':
            options->binds = false;
            return NULL;
        case 'A':
            options->prints_rates = true;
            return NULL;
        case 'f':
            return multirate_find_figure(optarg, &options->figure) ? NULL : usage;
        default:
            return usage;
    }
}

const char* multirate_read_options(int argc, char** argv, MultirateOptions* options,
                                   int* other_count, char** others)
{
    *options = (MultirateOptions){.sending_ranks = 1,
                                  .receiving_ranks = 1,
                                  .sending_threads = 1,
                                  .receiving_threads = 1,
                                  .size_bytes = 0,
                                  .window = 128,
                                  .iterations = 1000,
                                  .warm_up = 10,
                                  .binds = true};
    char** const own = malloc(sizeof(char*) * (size_t)(argc + 1));
    if (own == NULL)
        return "no memory for the options";
    int own_count = 0;
    own[own_count++] = argv[0];
    others[(*other_count)++] = argv[0];
    for (int i = 1; i < argc; ++i) {
        const bool is_other = strncmp(argv[i], "--", 2) == 0;
        if (is_other) {
            others[(*other_count)++] = argv[i++];
            if (i < argc)
                others[(*other_count)++] = argv[i];
        } else {
            own[own_count++] = argv[i];
        }
    }
    own[own_count] = NULL;
    others[*other_count] = NULL;
    const char* why = NULL;
    opterr = 0;
    for (int letter;
         why == NULL && (letter = getopt(own_count, own, "pan:m:x:y:t:s:w:i:W:coTNSjkbAf:")) != -1;)
        why = read_option(letter, options);
    if (why == NULL && optind != own_count)
        why = usage;
    free(own);
    return why;
}

void multirate_initialise(const MultirateOptions* options, int* argc, char*** argv)
{
    int provided = 0;
    if (options->is_single)
        MPI_Init(argc, argv);
    else
        MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided);
}

const char* multirate_check(const MultirateOptions* options)
{
    int ranks = 0, level = 0, has_bound = 0;
    int* bound = NULL;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Query_thread(&level);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &has_bound);
    const bool shares_ranks = options->receiving_ranks == 0;
    const long senders = (long)options->sending_ranks * options->sending_threads;
    const long receivers =
        (long)(shares_ranks ? options->sending_ranks : options->receiving_ranks) *
        options->receiving_threads;
    if (ranks != options->sending_ranks + options->receiving_ranks)
        return "the job must have as many ranks as -n and -m say together; start it so";
    if (options->has_any_tag && options->has_pair_tags)
        return "-N promises that no receive names any tag, and -T asks for that; give one of them";
    if (!options->is_all_to_all && senders != receivers)
        return "pairs need as many senders as receivers; change -n -x or -m -y, or use -a";
    const bool has_threads =
        shares_ranks || options->sending_threads > 1 || options->receiving_threads > 1;
    if (has_threads && level != MPI_THREAD_MULTIPLE)
        return "threads need MPI_THREAD_MULTIPLE, which this library did not give (or -S is set)";
    const long pairs = options->is_all_to_all ? senders * receivers : senders;
    if (has_bound && (2 * pairs + 1 > *bound || options->window > *bound))
        return "there are not so many tags; use fewer pairs or a smaller window";
    return NULL;
}

void multirate_refuse(const char* why)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        fprintf(stderr, "multirate: %s.\n", why);
    MPI_Finalize();
}

static const char* const counter_names[multirate_counters_max] = {
    "locks_contended", "lock_wait_time", "turns_given", "threads_woken", "hand_overs", "parks",
};

static int counter_class(int counter)
{
    return counter == 1 ? MPI_T_PVAR_CLASS_TIMER : MPI_T_PVAR_CLASS_COUNTER;
}

void multirate_start_counters(MultirateCounters* counters)
{
    int provided = 0;
    memset(counters, 0, sizeof *counters);
    counters->is_open = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS &&
                        MPI_T_pvar_session_create(&counters->session) == MPI_SUCCESS;
    for (int i = 0; counters->is_open && i < multirate_counters_max; ++i) {
        int index = 0, count = 0;
        if (MPI_T_pvar_get_index(counter_names[i], counter_class(i), &index) == MPI_SUCCESS &&
            MPI_T_pvar_handle_alloc(counters->session, index, NULL, &counters->handles[i],
                                    &count) == MPI_SUCCESS) {
            MPI_T_pvar_start(counters->session, counters->handles[i]);
            counters->is_known[i] = count == 1;
        }
    }
}

void multirate_stop_counters(MultirateCounters* counters)
{
    for (int i = 0; i < multirate_counters_max; ++i) {
        unsigned long long value = 0;
        if (counters->is_known[i])
            MPI_T_pvar_read(counters->session, counters->handles[i], &value);
        counters->values[i] = (double)value;
    }
    if (counters->is_open) {
        MPI_T_pvar_session_free(&counters->session);
        MPI_T_finalize();
    }
    MPI_Allreduce(MPI_IN_PLACE, counters->values, multirate_counters_max, MPI_DOUBLE, MPI_SUM,
                  MPI_COMM_WORLD);
}

static const char* payload_word(const MultirateOptions* options, long wrong)
{
    return wrong != 0 ? "wrong" : options->checks_payload ? "right" : "not checked";
}

static void print_json(const MultirateOptions* options, double messages, double elapsed_s,
                       long wrong, const MultirateCounters* counters)
{
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(library, &length);
    library[strcspn(library, "\n\"\\")] = '\0';
    printf("{\"bench\": \"multirate\", \"library\": \"%s\", \"pattern\": \"%s\", ", library,
           options->is_all_to_all ? "all-to-all" : "pairs");
    printf(
        "\"sending_ranks\": %d, \"sending_threads\": %d, \"receiving_ranks\": %d, "
        "\"receiving_threads\": %d, ",
        options->sending_ranks, options->sending_threads, options->receiving_ranks,
        options->receiving_threads);
    printf(
        "\"size_bytes\": %ld, \"window\": %ld, \"iterations\": %ld, \"communicators\": \"%s\", "
        "\"overtaking\": %s, \"any_tag\": %s, \"pair_tags\": %s, \"payload\": \"%s\", ",
        options->size_bytes, options->window, options->iterations,
        options->has_own_communicators ? "one a pair" : "one",
        options->allows_overtaking ? "true" : "false", options->has_any_tag ? "true" : "false",
        options->has_pair_tags ? "true" : "false", payload_word(options, wrong));
    printf("\"elapsed_s\": %.9g, \"rate_mps\": %.9g, \"messages\": %.0f", elapsed_s,
           messages / elapsed_s * 1e-6, messages);
    for (int i = 0; i < multirate_counters_max; ++i) {
        if (counters->is_known[i])
            printf(", \"%s\": %.0f", counter_names[i], counters->values[i]);
    }
    printf("}\n");
}

void multirate_print(const MultirateOptions* options, double messages, double elapsed_s, long wrong,
                     const MultirateCounters* counters)
{
    const double rate = messages / elapsed_s;
    if (options->is_json) {
        print_json(options, messages, elapsed_s, wrong, counters);
    } else {
        printf("%d %d %d %d %ld %ld %.2f Gbps %.3f usec %.2f msg/s\n", options->sending_ranks,
               options->sending_threads, options->receiving_ranks, options->receiving_threads,
               options->size_bytes, options->window, rate * (double)options->size_bytes * 8.0 / 1e9,
               1e6 / rate, rate);
    }
    if (wrong != 0)
        fprintf(stderr, "multirate: %ld messages were wrong; the library loses or mixes bytes.\n",
                wrong);
}

void multirate_print_rates(const MultirateOptions* options, const double* rates, int row, int ranks)
{
    for (int rank = 0; rank < ranks; ++rank) {
        for (int thread = 0; thread < row && rates[rank * row + thread] >= 0.0; ++thread) {
            printf(options->is_json ? "{\"rank\": %d, \"thread\": %d, \"messages_per_s\": %.9g}\n"
                                    : "rank %d thread %d: %.2f msg/s\n",
                   rank, thread, rates[rank * row + thread]);
        }
    }
}

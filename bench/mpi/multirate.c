// SPDX-License-Identifier: Apache-2.0
// Rate of messages between entities, each a process or a thread, in windows of pre-posted receives.
// A plain MPI program:
//
//     mpicc -O2 -o multirate multirate.c multirate_*.c harness.c -lm -lpthread
//     mpiexec -n 2 ./multirate -s 8 -w 64 -t 4          # 4 pairs of threads
//     mpiexec -n 1 ./multirate -s 8 -w 64 -m 0          # two threads of one process
//
// An iteration of a pair: the receiver posts a window and says that it is ready, the sender sends
// the window, the receiver says that all is there. With the options of harness.h the case that
// --cases names is sampled as in every other bench.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "multirate.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

typedef struct Job Job;

typedef struct {
    Job* job;
    bool sends;
    int index;   // among the senders or the receivers of the job
    int thread;  // of its rank; 0 runs on the main thread
    unsigned char* bytes;
    MPI_Request* requests;
    double busy_s;
    long windows;  // of a receiver: that it has posted, for all its peers
    long wrong;
    pthread_t handle;
} Entity;

struct Job {
    MultirateOptions options;
    int rank;
    int senders, receivers, pairs;
    MPI_Comm control;
    MPI_Comm* data;  // one, or one a pair
    Entity* entities;
    int entity_count;     // of this rank
    int receiving_count;  // of them, how many receive
    // What the rank's threads do together: the main thread writes `repeats`, then all pass.
    long repeats;
    atomic_int arrived;
    atomic_int turn;
    atomic_long windows;  // posted by the rank's receivers, together
};

// All threads of the rank meet. They give their cores away while they wait, so that more threads
// than cores are measured too, and sleep nowhere, as waking would be measured with the messages.
static void meet(Job* job)
{
    const int turn = atomic_load(&job->turn);
    if (atomic_fetch_add(&job->arrived, 1) + 1 == job->entity_count) {
        atomic_store(&job->arrived, 0);
        atomic_store(&job->turn, turn + 1);
        return;
    }
    while (atomic_load(&job->turn) == turn)
        sched_yield();
}

// Receivers of a rank may take each other's messages where their pairs share communicator and tags.
// One who posted its next window before another one its last would take what that one waits for,
// and where a sender has both for peers, it would wait for ever: so nobody is more than a window
// ahead of what all have posted.
static void wait_for_slower_receivers(const Entity* entity)
{
    Job* const job = entity->job;
    while (atomic_load(&job->windows) < entity->windows * job->receiving_count)
        sched_yield();
}

static int rank_of(const Job* job, bool sends, int index)
{
    const MultirateOptions* const options = &job->options;
    if (sends)
        return index / options->sending_threads;
    const int first = options->receiving_ranks == 0 ? 0 : options->sending_ranks;
    return first + index / options->receiving_threads;
}

static int peers_of(const Entity* entity)
{
    if (!entity->job->options.is_all_to_all)
        return 1;
    return entity->sends ? entity->job->receivers : entity->job->senders;
}

static int peer_at(const Entity* entity, int position)
{
    return entity->job->options.is_all_to_all ? position : entity->index;
}

static int pair_of(const Entity* entity, int peer)
{
    const int sender = entity->sends ? entity->index : peer;
    const int receiver = entity->sends ? peer : entity->index;
    return entity->job->options.is_all_to_all ? sender * entity->job->receivers + receiver : sender;
}

static MPI_Comm data_of(const Job* job, int pair)
{
    return job->data[job->options.has_own_communicators ? pair : 0];
}

// Place of a message in the entity's buffer. A sender whose bytes nobody looks at sends the same
// ones again and again.
static unsigned char* place(const Entity* entity, int peer_position, long slot)
{
    const MultirateOptions* const options = &entity->job->options;
    if (entity->sends && !options->checks_payload)
        return entity->bytes;
    return entity->bytes + (peer_position * options->window + slot) * options->size_bytes;
}

static unsigned char pattern(int pair, long slot, long offset)
{
    return (unsigned char)(31 * pair + 7 * slot + offset + offset / 251 + 1);
}

// A pair with a communicator of its own says there that it is ready, and done, unless receives from
// any tag would take that. Tags of data come before these.
static bool keeps_to_itself(const Job* job)
{
    return job->options.has_own_communicators && !job->options.has_any_tag;
}

static MPI_Comm control_of(const Job* job, int pair)
{
    return keeps_to_itself(job) ? job->data[pair] : job->control;
}

enum { ready, done };

static int control_tag(const Job* job, int pair, int what)
{
    return (keeps_to_itself(job) ? (int)job->options.window + job->pairs : 2 * pair) + what;
}

// Of a message of a pair. With one tag a pair they come in order.
static int tag_of(const Job* job, int pair, long slot)
{
    return job->options.has_pair_tags ? pair : (int)slot;
}

static void send_window(Entity* entity)
{
    const Job* const job = entity->job;
    const MultirateOptions* const options = &job->options;
    const int peers = peers_of(entity);
    int count = 0;
    for (int i = 0; i < peers; ++i) {
        const int peer = peer_at(entity, i), pair = pair_of(entity, peer);
        MPI_Recv(NULL, 0, MPI_BYTE, rank_of(job, false, peer), control_tag(job, pair, ready),
                 control_of(job, pair), MPI_STATUS_IGNORE);
        for (long slot = 0; slot < options->window; ++slot)
            MPI_Isend(place(entity, i, slot), (int)options->size_bytes, MPI_BYTE,
                      rank_of(job, false, peer), tag_of(job, pair, slot), data_of(job, pair),
                      &entity->requests[count++]);
    }
    MPI_Waitall(count, entity->requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < peers; ++i) {
        const int peer = peer_at(entity, i), pair = pair_of(entity, peer);
        MPI_Recv(NULL, 0, MPI_BYTE, rank_of(job, false, peer), control_tag(job, pair, done),
                 control_of(job, pair), MPI_STATUS_IGNORE);
    }
}

static bool has_pattern(const unsigned char* bytes, long size_bytes, int pair, long slot)
{
    for (long k = 0; k < size_bytes; ++k) {
        if (bytes[k] != pattern(pair, slot, k))
            return false;
    }
    return true;
}

// Where pairs share a communicator and threads share a rank, a message may meet the receive of
// another pair of the same two ranks. With any tag, the tag tells the place; with one tag a pair,
// its order.
static bool is_right(const Entity* entity, int own_pair, long own_slot, const MPI_Status* status,
                     const unsigned char* bytes)
{
    const Job* const job = entity->job;
    const MultirateOptions* const options = &job->options;
    int length = -1;
    MPI_Get_count(status, MPI_BYTE, &length);
    if (length != options->size_bytes)
        return false;
    if (options->has_pair_tags)
        return status->MPI_TAG == own_pair && has_pattern(bytes, length, own_pair, own_slot);
    if (options->has_own_communicators)
        return has_pattern(bytes, length, own_pair, status->MPI_TAG);
    for (int pair = 0; pair < job->pairs; ++pair) {
        const int sender = options->is_all_to_all ? pair / job->receivers : pair;
        const int receiver = options->is_all_to_all ? pair % job->receivers : pair;
        if (rank_of(job, true, sender) == status->MPI_SOURCE &&
            rank_of(job, false, receiver) == job->rank &&
            has_pattern(bytes, length, pair, status->MPI_TAG))
            return true;
    }
    return false;
}

static void check_window(Entity* entity, const MPI_Status* statuses)
{
    const MultirateOptions* const options = &entity->job->options;
    int count = 0;
    for (int i = 0; i < peers_of(entity); ++i) {
        const int pair = pair_of(entity, peer_at(entity, i));
        for (long slot = 0; slot < options->window; ++slot) {
            unsigned char* const bytes = place(entity, i, slot);
            entity->wrong += !is_right(entity, pair, slot, &statuses[count++], bytes);
            memset(bytes, 0, (size_t)options->size_bytes);
        }
    }
}

static void receive_window(Entity* entity, MPI_Status* statuses)
{
    Job* const job = entity->job;
    const MultirateOptions* const options = &job->options;
    const int peers = peers_of(entity);
    int count = 0;
    if (options->is_all_to_all && !options->has_own_communicators && !options->has_pair_tags)
        wait_for_slower_receivers(entity);
    for (int i = 0; i < peers; ++i) {
        const int peer = peer_at(entity, i), pair = pair_of(entity, peer);
        for (long slot = 0; slot < options->window; ++slot)
            MPI_Irecv(place(entity, i, slot), (int)options->size_bytes, MPI_BYTE,
                      rank_of(job, true, peer),
                      options->has_any_tag ? MPI_ANY_TAG : tag_of(job, pair, slot),
                      data_of(job, pair), &entity->requests[count++]);
        MPI_Send(NULL, 0, MPI_BYTE, rank_of(job, true, peer), control_tag(job, pair, ready),
                 control_of(job, pair));
    }
    ++entity->windows;
    atomic_fetch_add(&job->windows, 1);
    MPI_Waitall(count, entity->requests, statuses == NULL ? MPI_STATUSES_IGNORE : statuses);
    for (int i = 0; i < peers; ++i) {
        const int peer = peer_at(entity, i), pair = pair_of(entity, peer);
        MPI_Send(NULL, 0, MPI_BYTE, rank_of(job, true, peer), control_tag(job, pair, done),
                 control_of(job, pair));
    }
}

static void run(Entity* entity, long repeats)
{
    MPI_Status* statuses = NULL;
    const int requests = peers_of(entity) * (int)entity->job->options.window;
    if (entity->job->options.checks_payload && !entity->sends)
        statuses = malloc(sizeof(MPI_Status) * (size_t)requests);
    const double begin_s = MPI_Wtime();
    for (long i = 0; i < repeats; ++i) {
        if (entity->sends) {
            send_window(entity);
        } else {
            receive_window(entity, statuses);
            if (statuses != NULL)
                check_window(entity, statuses);
        }
    }
    entity->busy_s = MPI_Wtime() - begin_s;
    free(statuses);
}

// Thread k of a rank on the k-th of the cores that it may use.
static void bind_thread(int thread)
{
    cpu_set_t allowed, own;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0)
        return;
    int left = thread % CPU_COUNT(&allowed);
    for (size_t core = 0; core < CPU_SETSIZE; ++core) {
        if (!CPU_ISSET(core, &allowed) || left-- != 0)
            continue;
        CPU_ZERO(&own);
        CPU_SET(core, &own);
        pthread_setaffinity_np(pthread_self(), sizeof own, &own);
        return;
    }
}

// repeats < 0: the end.
static void* follow(void* argument)
{
    Entity* const entity = argument;
    Job* const job = entity->job;
    if (job->options.binds)
        bind_thread(entity->thread);
    for (;;) {
        meet(job);
        const long repeats = job->repeats;
        if (repeats < 0)
            return NULL;
        run(entity, repeats);
        meet(job);
    }
}

// Called by the main thread of every rank.
static void run_all(void* context, long repeats)
{
    Job* const job = context;
    if (job->entity_count == 0)
        return;
    job->repeats = repeats;
    meet(job);
    if (repeats < 0)
        return;
    run(&job->entities[0], repeats);
    meet(job);
}

static void* room(size_t count, size_t size)
{
    void* const bytes = calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
    if (bytes == NULL) {
        fprintf(stderr, "multirate: no memory; use smaller windows (-w) or messages (-s).\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return bytes;
}

static void make_entity(Job* job, bool sends, int index, int thread)
{
    Entity* const entity = &job->entities[thread];
    *entity = (Entity){.job = job, .sends = sends, .index = index, .thread = thread};
    const int peers = peers_of(entity);
    const size_t messages = (size_t)peers * (size_t)job->options.window;
    entity->requests = room(messages, sizeof(MPI_Request));
    entity->bytes = room(messages, (size_t)job->options.size_bytes);
    for (int i = 0; sends && job->options.checks_payload && i < peers; ++i) {
        for (long slot = 0; slot < job->options.window; ++slot) {
            unsigned char* const bytes = place(entity, i, slot);
            for (long k = 0; k < job->options.size_bytes; ++k)
                bytes[k] = pattern(pair_of(entity, peer_at(entity, i)), slot, k);
        }
    }
}

static void make_communicators(Job* job)
{
    const int count = job->options.has_own_communicators ? job->pairs : 1;
    job->data = room((size_t)count, sizeof(MPI_Comm));
    MPI_Info hints;
    MPI_Comm_dup(MPI_COMM_WORLD, &job->control);
    MPI_Info_create(&hints);
    if (job->options.has_pair_tags)
        MPI_Info_set(hints, "mpi_assert_no_any_tag", "true");
    if (job->options.allows_overtaking)
        MPI_Info_set(hints, "mpi_assert_allow_overtaking", "true");
    for (int i = 0; i < count; ++i)
        MPI_Comm_dup_with_info(MPI_COMM_WORLD, hints, &job->data[i]);
    MPI_Info_free(&hints);
}

static void open_job(Job* job)
{
    const MultirateOptions* const options = &job->options;
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    const bool shares_ranks = options->receiving_ranks == 0;
    job->senders = options->sending_ranks * options->sending_threads;
    job->receivers = (shares_ranks ? options->sending_ranks : options->receiving_ranks) *
                     options->receiving_threads;
    job->pairs = options->is_all_to_all ? job->senders * job->receivers : job->senders;
    make_communicators(job);
    const bool sends = job->rank < options->sending_ranks;
    const int sending = sends ? options->sending_threads : 0;
    const int receiving = !sends || shares_ranks ? options->receiving_threads : 0;
    job->entity_count = sending + receiving;
    job->receiving_count = receiving;
    job->entities = room((size_t)job->entity_count, sizeof(Entity));
    const int receiving_rank = job->rank - (shares_ranks ? 0 : options->sending_ranks);
    for (int i = 0; i < sending; ++i)
        make_entity(job, true, job->rank * sending + i, i);
    for (int i = 0; i < receiving; ++i)
        make_entity(job, false, receiving_rank * receiving + i, sending + i);
    for (int i = 1; i < job->entity_count; ++i) {
        if (pthread_create(&job->entities[i].handle, NULL, follow, &job->entities[i]) != 0) {
            fprintf(stderr, "multirate: no thread %d; use fewer (-t, -x, -y).\n", i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    if (options->binds && job->entity_count > 1)
        bind_thread(0);
}

static void close_job(Job* job)
{
    run_all(job, -1);
    for (int i = 0; i < job->entity_count; ++i) {
        if (i != 0)
            pthread_join(job->entities[i].handle, NULL);
        free(job->entities[i].bytes);
        free(job->entities[i].requests);
    }
    for (int i = 0; i < (job->options.has_own_communicators ? job->pairs : 1); ++i)
        MPI_Comm_free(&job->data[i]);
    MPI_Comm_free(&job->control);
    free(job->data);
    free(job->entities);
}

// Rates of the rank's entities, in the order of ranks and threads; -1 where a rank has fewer.
static double* gather_rates(const Job* job, int* row, int ranks)
{
    MPI_Allreduce(&job->entity_count, row, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    double* const own = room((size_t)*row, sizeof(double));
    double* const all = room((size_t)*row * (size_t)ranks, sizeof(double));
    for (int i = 0; i < *row; ++i) {
        const Entity* const entity = &job->entities[i];
        own[i] = i >= job->entity_count ? -1.0
                                        : (double)peers_of(entity) * (double)job->options.window *
                                              (double)job->options.iterations / entity->busy_s;
    }
    MPI_Gather(own, *row, MPI_DOUBLE, all, *row, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    free(own);
    return all;
}

static int run_plain(Job* job)
{
    const MultirateOptions* const options = &job->options;
    run_all(job, options->warm_up);
    MPI_Barrier(MPI_COMM_WORLD);
    MultirateCounters counters;
    multirate_start_counters(&counters);
    const double begin_s = MPI_Wtime();
    run_all(job, options->iterations);
    MPI_Barrier(MPI_COMM_WORLD);
    double elapsed_s = MPI_Wtime() - begin_s;
    multirate_stop_counters(&counters);
    long wrong = 0;
    for (int i = 0; i < job->entity_count; ++i)
        wrong += job->entities[i].wrong;
    int ranks = 0, row = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Allreduce(MPI_IN_PLACE, &elapsed_s, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    double* const rates = gather_rates(job, &row, ranks);
    if (job->rank == 0) {
        const double messages =
            (double)job->pairs * (double)options->window * (double)options->iterations;
        multirate_print(options, messages, elapsed_s, wrong, &counters);
        if (options->prints_rates)
            multirate_print_rates(options, rates, row, ranks);
    }
    free(rates);
    return wrong == 0 ? 0 : 1;
}

enum { figure_samples = 5 };

// Iterations for a sample of a figure: as many as the time of the bench has room for. 0: one alone
// takes all of it.
static long repeats_of_sample(Job* job, const Harness* harness)
{
    const double begin_s = MPI_Wtime();
    run_all(job, 1);
    const double took_s = MPI_Wtime() - begin_s;
    long repeats = (long)(harness->budget_s / figure_samples / (took_s > 1e-6 ? took_s : 1e-6));
    if (repeats == 0 && took_s < harness->budget_s)
        repeats = 1;
    MPI_Bcast(&repeats, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    return repeats;
}

static void sample_figure(Job* job, Harness* harness, const char* name)
{
    double samples[figure_samples];
    MultirateSum sum;
    const char* const why = multirate_open_sum(job->options.figure, &sum);
    if (why != NULL) {
        harness_skip(harness, name, why);
        return;
    }
    long repeats = repeats_of_sample(job, harness);
    const int count = repeats == 0 ? 1 : figure_samples;
    repeats = repeats == 0 ? 1 : repeats;
    const double messages = (double)job->pairs * (double)job->options.window * (double)repeats;
    for (int i = 0; i < count; ++i) {
        const double before = multirate_read_sum(&sum);
        run_all(job, repeats);
        samples[i] = (multirate_read_sum(&sum) - before) / messages;
    }
    harness_emit(harness, name, multirate_metric_of(job->options.figure),
                 multirate_unit_of(job->options.figure), samples, count);
    multirate_close_sum(&sum);
}

static int run_bench(Job* job, Harness* harness)
{
    static double samples[harness_samples_max];
    const char* const name = harness->cases != NULL ? harness->cases : "multirate";
    run_all(job, 1);
    for (int i = 0; i < job->entity_count; ++i) {
        if (job->entities[i].wrong != 0)
            harness_fail(harness, "a window delivered wrong messages");
    }
    // Checked once; samples are of messages alone.
    job->options.checks_payload = false;
    if (job->options.figure == multirate_rate) {
        const int count = harness_sample(harness, run_all, job, samples);
        for (int i = 0; i < count; ++i)
            samples[i] = (double)job->pairs * (double)job->options.window / samples[i];
        harness_emit(harness, name, "rate_mps", "1/us", samples, count);
    } else {
        sample_figure(job, harness, name);
    }
    close_job(job);
    return harness_end(harness);
}

int main(int argc, char** argv)
{
    Job job;
    memset(&job, 0, sizeof job);
    int harness_argc = 0;
    char** const harness_argv = malloc(sizeof(char*) * (size_t)(argc + 1));
    const char* const why =
        multirate_read_options(argc, argv, &job.options, &harness_argc, harness_argv);
    const bool is_bench = harness_argc > 1;
    Harness harness;
    if (is_bench) {
        char** arguments = harness_argv;
        if (!harness_begin(&harness_argc, &arguments, &harness))
            return harness_end(&harness);
    } else {
        multirate_initialise(&job.options, &argc, &argv);
    }
    const char* const refusal = why != NULL ? why : multirate_check(&job.options);
    if (refusal != NULL) {
        multirate_refuse(refusal);
        return 2;
    }
    open_job(&job);
    int code = 0;
    if (is_bench) {
        code = run_bench(&job, &harness);
    } else {
        code = run_plain(&job);
        close_job(&job);
        MPI_Finalize();
    }
    free(harness_argv);
    return code;
}

// SPDX-License-Identifier: Apache-2.0
// Communicators whose members promise mpi_assert_no_any_tag, so that their messages are spread over
// the rank's instances by their tags (HEADWAY_INSTANCES, docs/design/035): order of each tag,
// wildcards of the source, probes, exchanges whose two tags belong to two instances, ends of all
// kinds, communicators that are freed under traffic or change while they are used, and programs
// that break the promise. CHECK_SPREADS=1: the job's shape is one that spreads.
#define CHECK_OWN_INIT
#include <pthread.h>
#include <sched.h>

#include "../check.h"

enum { tag_count = 12, long_bytes = 200000, messages_a_tag = 10 };
static const char promise[] = "mpi_assert_no_any_tag";

struct pair {
    struct check check;
    MPI_Comm comm;
    int other;  // a peer; the rank itself where it is alone
    int first_tag;
    int rounds;
    void (*join_rank)(void* rank);  // of a thread in a team; else null
    void* rank;
};

static MPI_Info make_info(struct check* t, const char* key, const char* value)
{
    MPI_Info info;
    CHECK_CALL(t, MPI_Info_create(&info));
    CHECK_CALL(t, MPI_Info_set(info, key, value));
    return info;
}

static MPI_Comm make_promised(struct check* t, MPI_Comm parent)
{
    MPI_Comm made;
    MPI_Info info = make_info(t, promise, "true");
    CHECK_CALL(t, MPI_Comm_dup_with_info(parent, info, &made));
    CHECK_CALL(t, MPI_Info_free(&info));
    CHECK_CALL(t, MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN));
    return made;
}

static void promise_now(struct check* t, MPI_Comm comm, const char* value)
{
    MPI_Info info = make_info(t, promise, value);
    CHECK_CALL(t, MPI_Comm_set_info(comm, info));
    CHECK_CALL(t, MPI_Info_free(&info));
}

// Any tag is refused only where messages are spread by theirs.
static int is_spread(MPI_Comm comm)
{
    int flag = 0;
    return MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS;
}

static int spreads(void)
{
    return (int)check_setting("CHECK_SPREADS", 0);
}

// What Headway knows is there with its default, whatever else was set; duplicates begin anew.
static void read_hints(struct check* t)
{
    static const char* const keys[] = {promise, "mpi_assert_no_any_source",
                                       "mpi_assert_exact_length", "mpi_assert_allow_overtaking"};
    MPI_Comm comm, copy;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    for (int i = 0; i < 4; ++i)
        CHECK(t, check_has_hint(t, comm, keys[i], "false"));
    MPI_Info info = make_info(t, keys[2], "true");
    CHECK_CALL(t, MPI_Comm_set_info(comm, info));
    CHECK_CALL(t, MPI_Info_free(&info));
    promise_now(t, comm, "true");
    promise_now(t, comm, "perhaps");
    for (int i = 0; i < 4; ++i)
        CHECK(t, check_has_hint(t, comm, keys[i], i == 0 || i == 2 ? "true" : "false"));
    CHECK_CALL(t, MPI_Comm_dup(comm, &copy));
    for (int i = 0; i < 4; ++i)
        CHECK(t, check_has_hint(t, copy, keys[i], "false"));
    CHECK(t, !is_spread(copy));
    CHECK_CALL(t, MPI_Comm_free(&copy));
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

static int refuse_copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag)
{
    (void)comm, (void)key, (void)in, (void)out;
    *flag = 0;
    return *(const int*)extra ? MPI_ERR_OTHER : MPI_SUCCESS;
}

// A duplicate that fails on one member keeps none of the others waiting.
static void fail_alone(struct check* t)
{
    int key = MPI_KEYVAL_INVALID, refuses = t->rank == 0;
    MPI_Comm parent, made = MPI_COMM_NULL;
    MPI_Info info = make_info(t, promise, "true");
    CHECK_CALL(t, MPI_Comm_create_keyval(refuse_copy, MPI_COMM_NULL_DELETE_FN, &key, &refuses));
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &parent));
    CHECK_CALL(t, MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN));
    CHECK_CALL(t, MPI_Comm_set_attr(parent, key, &refuses));
    CHECK_INT(t, MPI_Comm_dup_with_info(parent, info, &made) != MPI_SUCCESS, t->rank == 0);
    if (t->rank != 0)
        CHECK_CALL(t, MPI_Comm_free(&made));
    CHECK_CALL(t, MPI_Comm_free(&parent));
    CHECK_CALL(t, MPI_Comm_free_keyval(&key));
    CHECK_CALL(t, MPI_Info_free(&info));
}

// All ways to a promised communicator; one member that does not promise keeps the old way.
static void make_all_ways(struct check* t)
{
    enum { ways = 7 };
    MPI_Comm made[ways], self;
    MPI_Request request;
    const int own_number = t->rank, no_edges = 0;
    MPI_Info yes = make_info(t, promise, "true");
    MPI_Info own = make_info(t, promise, t->rank == t->size - 1 ? "false" : "true");
    CHECK_CALL(t, MPI_Comm_dup_with_info(MPI_COMM_WORLD, own, &made[0]));
    CHECK_CALL(t, MPI_Comm_idup_with_info(MPI_COMM_WORLD, own, &made[1], &request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Comm_idup_with_info(MPI_COMM_WORLD, yes, &made[2], &request));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Comm_dup_with_info(MPI_COMM_WORLD, yes, &made[3]));
    CHECK_CALL(t, MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, yes, &made[4]));
    CHECK_CALL(t, MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 0, NULL,
                                                 MPI_UNWEIGHTED, yes, 0, &made[5]));
    CHECK_CALL(t, MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &own_number, &no_edges, NULL,
                                        MPI_UNWEIGHTED, yes, 1, &made[6]));
    CHECK_CALL(t, MPI_Comm_dup_with_info(MPI_COMM_SELF, yes, &self));
    for (int i = 0; i < ways; ++i) {
        CHECK_CALL(t, MPI_Comm_set_errhandler(made[i], MPI_ERRORS_RETURN));
        CHECK_INT(t, is_spread(made[i]), i >= 2 && spreads());
        CHECK_INT(t, check_has_hint(t, made[i], promise, "true"), i >= 2 || t->rank != t->size - 1);
        CHECK_CALL(t, MPI_Comm_free(&made[i]));
    }
    CHECK_CALL(t, MPI_Comm_free(&self));
    CHECK_CALL(t, MPI_Info_free(&yes));
    CHECK_CALL(t, MPI_Info_free(&own));
}

static int length_of(int tag, int i)
{
    static const int lengths[] = {4, 0, 100, 5000, 40000, long_bytes};
    return lengths[(tag + i) % 6];
}

// Each tag's messages come in order, whatever is received first, and from whom is not said.
static void keep_order(struct check* t, const struct pair* pair)
{
    MPI_Request out[tag_count * messages_a_tag];
    char* sent[tag_count * messages_a_tag];
    char* in = check_memory(long_bytes);
    int count = 0;
    for (int i = 0; i < messages_a_tag; ++i) {
        for (int tag = 0; tag < tag_count; ++tag) {
            const int length = length_of(tag, i);
            sent[count] = check_memory((size_t)length);
            check_fill(sent[count], (size_t)length, (uint64_t)(tag * 1000 + i));
            CHECK_CALL(t, MPI_Isend(sent[count], length, MPI_BYTE, pair->other,
                                    pair->first_tag + tag, pair->comm, &out[count]));
            ++count;
        }
    }
    for (int tag = tag_count - 1; tag >= 0; --tag) {
        for (int i = 0; i < messages_a_tag; ++i) {
            MPI_Status status;
            int length = -1;
            CHECK_CALL(t,
                       MPI_Recv(in, long_bytes, MPI_BYTE, i % 2 == 0 ? MPI_ANY_SOURCE : pair->other,
                                pair->first_tag + tag, pair->comm, &status));
            CHECK_CALL(t, MPI_Get_count(&status, MPI_BYTE, &length));
            CHECK_INT(t, length, length_of(tag, i));
            CHECK_INT(t, status.MPI_TAG, pair->first_tag + tag);
            CHECK_INT(t, status.MPI_SOURCE, pair->other);
            CHECK_PATTERN(t, in, (size_t)length, (uint64_t)(tag * 1000 + i));
        }
    }
    CHECK_CALL(t, MPI_Waitall(count, out, MPI_STATUSES_IGNORE));
    for (int i = 0; i < count; ++i)
        free(sent[i]);
    free(in);
}

static void find_each(struct check* t, const struct pair* pair)
{
    for (int i = 0; i < 4 * tag_count; ++i) {
        const int tag = pair->first_tag + i % tag_count;
        int out = i, in = -1, flag = 0;
        MPI_Status status;
        MPI_Message message;
        MPI_Request request, sent;
        CHECK_CALL(t, MPI_Issend(&out, 1, MPI_INT, pair->other, tag, pair->comm, &sent));
        if (i / tag_count == 0) {
            CHECK_CALL(t, MPI_Probe(MPI_ANY_SOURCE, tag, pair->comm, &status));
            CHECK_INT(t, status.MPI_TAG, tag);
            CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, pair->other, tag, pair->comm, &status));
        } else if (i / tag_count == 1) {
            while (!flag)
                CHECK_CALL(t, MPI_Iprobe(pair->other, tag, pair->comm, &flag, &status));
            CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, pair->other, tag, pair->comm, &request));
            CHECK_CALL(t, MPI_Wait(&request, &status));
        } else if (i / tag_count == 2) {
            CHECK_CALL(t, MPI_Mprobe(pair->other, tag, pair->comm, &message, &status));
            CHECK_CALL(t, MPI_Mrecv(&in, 1, MPI_INT, &message, &status));
        } else {
            while (!flag)
                CHECK_CALL(t, MPI_Improbe(pair->other, tag, pair->comm, &flag, &message, &status));
            CHECK_CALL(t, MPI_Imrecv(&in, 1, MPI_INT, &message, &request));
            flag = 0;
            while (!flag)
                CHECK_CALL(t, MPI_Test(&request, &flag, &status));
        }
        CHECK_INT(t, in, i);
        CHECK_INT(t, status.MPI_SOURCE, pair->other);
        CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    }
}

static void end_exchange(struct check* t, int how, MPI_Request* request, MPI_Status* status)
{
    MPI_Request both[2] = {*request, MPI_REQUEST_NULL};
    int flag = 0, index = -1;
    switch (how % 4) {
        case 0:
            CHECK_CALL(t, MPI_Wait(request, status));
            break;
        case 1:
            while (!flag)
                CHECK_CALL(t, MPI_Test(request, &flag, status));
            break;
        case 2:
            CHECK_CALL(t, MPI_Waitany(2, both, &index, status));
            CHECK_INT(t, index, 0);
            break;
        default:
            while (!flag)
                CHECK_CALL(t, MPI_Request_get_status(*request, &flag, status));
            CHECK_CALL(t, MPI_Waitall(2, both, MPI_STATUSES_IGNORE));
            break;
    }
}

// Of two ranks the one sends the tag that the other one wants, so that the halves differ.
static void exchange_tags(struct check* t, const struct pair* pair)
{
    char* out = check_memory(long_bytes);
    char* in = check_memory(long_bytes);
    const int is_lower = t->rank < pair->other;
    for (int i = 0; i < 6 * tag_count; ++i) {
        const int length = length_of(i, i / tag_count);
        const int tags[] = {pair->first_tag + i % tag_count,
                            pair->first_tag + (i + i / tag_count) % tag_count};
        const int out_tag = pair->other == t->rank ? tags[0] : tags[is_lower];
        const int in_tag = pair->other == t->rank ? tags[0] : tags[!is_lower];
        const uint64_t seed = (uint64_t)(1000 + i);
        MPI_Status status;
        MPI_Request request;
        check_fill(out, (size_t)length, seed);
        switch (i % 4) {
            case 0:
                CHECK_CALL(t,
                           MPI_Sendrecv(out, length, MPI_BYTE, pair->other, out_tag, in, long_bytes,
                                        MPI_BYTE, pair->other, in_tag, pair->comm, &status));
                break;
            case 1:
                check_fill(in, (size_t)length, seed);
                CHECK_CALL(t, MPI_Sendrecv_replace(in, length, MPI_BYTE, pair->other, out_tag,
                                                   pair->other, in_tag, pair->comm, &status));
                break;
            case 2:
                CHECK_CALL(
                    t, MPI_Isendrecv(out, length, MPI_BYTE, pair->other, out_tag, in, long_bytes,
                                     MPI_BYTE, pair->other, in_tag, pair->comm, &request));
                end_exchange(t, i / 4, &request, &status);
                break;
            default:
                check_fill(in, (size_t)length, seed);
                CHECK_CALL(t, MPI_Isendrecv_replace(in, length, MPI_BYTE, pair->other, out_tag,
                                                    pair->other, in_tag, pair->comm, &request));
                end_exchange(t, i / 4, &request, &status);
                break;
        }
        CHECK_INT(t, status.MPI_SOURCE, pair->other);
        CHECK_INT(t, status.MPI_TAG, in_tag);
        CHECK_PATTERN(t, in, (size_t)length, seed);
    }
    free(out);
    free(in);
}

// Persistent, buffered and partitioned ones, beside collectives.
static void start_again(struct check* t, const struct pair* pair)
{
    enum { many = 6 };
    char room[many * (sizeof(int) + MPI_BSEND_OVERHEAD)];
    int out[many], in[many], sum = 0, part_out = 7, part_in = -1;
    MPI_Request starts[2 * many + 2];
    CHECK_CALL(t, MPI_Comm_attach_buffer(pair->comm, room, sizeof room));
    for (int i = 0; i < many; ++i) {
        const int tag = pair->first_tag + i;
        CHECK_CALL(t, MPI_Recv_init(&in[i], 1, MPI_INT, i % 2 == 0 ? MPI_ANY_SOURCE : pair->other,
                                    tag, pair->comm, &starts[i]));
        if (i % 3 == 0)
            CHECK_CALL(t, MPI_Send_init(&out[i], 1, MPI_INT, pair->other, tag, pair->comm,
                                        &starts[many + i]));
        else if (i % 3 == 1)
            CHECK_CALL(t, MPI_Ssend_init(&out[i], 1, MPI_INT, pair->other, tag, pair->comm,
                                         &starts[many + i]));
        else
            CHECK_CALL(t, MPI_Bsend_init(&out[i], 1, MPI_INT, pair->other, tag, pair->comm,
                                         &starts[many + i]));
    }
    CHECK_CALL(t, MPI_Precv_init(&part_in, 1, 1, MPI_INT, pair->other, pair->first_tag, pair->comm,
                                 MPI_INFO_NULL, &starts[2 * many]));
    CHECK_CALL(t, MPI_Psend_init(&part_out, 1, 1, MPI_INT, pair->other, pair->first_tag, pair->comm,
                                 MPI_INFO_NULL, &starts[2 * many + 1]));
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < many; ++i) {
            out[i] = 10 * round + i;
            in[i] = -1;
        }
        part_in = -1;
        CHECK_CALL(t, MPI_Startall(2 * many + 2, starts));
        CHECK_CALL(t, MPI_Pready(0, starts[2 * many + 1]));
        CHECK_CALL(t, MPI_Waitall(2 * many + 2, starts, MPI_STATUSES_IGNORE));
        for (int i = 0; i < many; ++i)
            CHECK_INT(t, in[i], 10 * round + i);
        CHECK_INT(t, part_in, 7);
        CHECK_CALL(t, MPI_Allreduce(&round, &sum, 1, MPI_INT, MPI_SUM, pair->comm));
        CHECK_INT(t, sum, round * t->size);
    }
    for (int i = 0; i < 2 * many + 2; ++i)
        CHECK_CALL(t, MPI_Request_free(&starts[i]));
    char* memory = NULL;
    int size = 0;
    CHECK_CALL(t, MPI_Comm_detach_buffer(pair->comm, &memory, &size));
}

// The communicator is freed while receives of several tags are posted, or sends are under way.
static void free_early(struct check* t, const struct pair* pair)
{
    for (int round = 0; round < 20; ++round) {
        MPI_Comm made = make_promised(t, pair->comm);
        MPI_Request requests[2 * tag_count];
        int out[tag_count], in[tag_count];
        for (int tag = 0; tag < tag_count; ++tag) {
            out[tag] = 100 * round + tag;
            CHECK_CALL(t, MPI_Irecv(&in[tag], 1, MPI_INT, pair->other, tag, made, &requests[tag]));
        }
        for (int tag = tag_count - 1; tag >= 0; --tag)
            CHECK_CALL(t, MPI_Isend(&out[tag], 1, MPI_INT, pair->other, tag, made,
                                    &requests[tag_count + tag]));
        if (round % 3 == 0)
            CHECK_CALL(t, MPI_Comm_free(&made));
        CHECK_CALL(t, MPI_Waitall(2 * tag_count, requests, MPI_STATUSES_IGNORE));
        for (int tag = 0; tag < tag_count; ++tag)
            CHECK_INT(t, in[tag], 100 * round + tag);
        if (round % 3 == 1)
            CHECK_CALL(t, MPI_Comm_free(&made));
        if (round % 3 == 2)
            CHECK_CALL(t, MPI_Comm_disconnect(&made));
    }
}

// Each call that would take any tag says so, and takes nothing.
static void break_promise(struct check* t, const struct pair* pair)
{
    int in = -1, flag = 0, out = 5;
    MPI_Request request, sent;
    MPI_Message message;
    if (!is_spread(pair->comm)) {
        CHECK_CALL(t, MPI_Isend(&out, 1, MPI_INT, pair->other, 3, pair->comm, &sent));
        CHECK_CALL(
            t, MPI_Recv(&in, 1, MPI_INT, pair->other, MPI_ANY_TAG, pair->comm, MPI_STATUS_IGNORE));
        CHECK_INT(t, in, 5);
        CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
        return;
    }
    CHECK_CALL(t, MPI_Isend(&out, 1, MPI_INT, pair->other, 3, pair->comm, &sent));
    REFUSED(t, MPI_Recv(&in, 1, MPI_INT, pair->other, MPI_ANY_TAG, pair->comm, MPI_STATUS_IGNORE),
            MPI_ERR_TAG);
    REFUSED(t, MPI_Irecv(&in, 1, MPI_INT, pair->other, MPI_ANY_TAG, pair->comm, &request),
            MPI_ERR_TAG);
    REFUSED(t, MPI_Probe(pair->other, MPI_ANY_TAG, pair->comm, MPI_STATUS_IGNORE), MPI_ERR_TAG);
    REFUSED(t, MPI_Mprobe(pair->other, MPI_ANY_TAG, pair->comm, &message, MPI_STATUS_IGNORE),
            MPI_ERR_TAG);
    REFUSED(t,
            MPI_Improbe(pair->other, MPI_ANY_TAG, pair->comm, &flag, &message, MPI_STATUS_IGNORE),
            MPI_ERR_TAG);
    REFUSED(t,
            MPI_Sendrecv(&out, 1, MPI_INT, pair->other, 4, &in, 1, MPI_INT, pair->other,
                         MPI_ANY_TAG, pair->comm, MPI_STATUS_IGNORE),
            MPI_ERR_TAG);
    REFUSED(t,
            MPI_Isendrecv(&out, 1, MPI_INT, pair->other, 4, &in, 1, MPI_INT, pair->other,
                          MPI_ANY_TAG, pair->comm, &request),
            MPI_ERR_TAG);
    CHECK_CALL(t, MPI_Recv_init(&in, 1, MPI_INT, pair->other, MPI_ANY_TAG, pair->comm, &request));
    REFUSED(t, MPI_Start(&request), MPI_ERR_TAG);
    CHECK_CALL(t, MPI_Request_free(&request));
    CHECK_CALL(
        t, MPI_Recv(&in, 1, MPI_INT, MPI_PROC_NULL, MPI_ANY_TAG, pair->comm, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, -1);
    CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, pair->other, 3, pair->comm, MPI_STATUS_IGNORE));
    CHECK_INT(t, in, 5);
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
}

// Both groups of an inter-communicator promise.
static void pass_between_groups(struct check* t)
{
    MPI_Comm half, inter, made;
    const int is_second = t->rank >= t->size / 2;
    CHECK_CALL(t, MPI_Comm_split(MPI_COMM_WORLD, is_second, t->rank, &half));
    CHECK_CALL(
        t, MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, is_second ? 0 : t->size / 2, 1, &inter));
    made = make_promised(t, inter);
    CHECK_INT(t, is_spread(made), spreads());
    promise_now(t, inter, "true");
    int remote = 0, rank = -1;
    CHECK_CALL(t, MPI_Comm_remote_size(made, &remote));
    CHECK_CALL(t, MPI_Comm_rank(half, &rank));
    if (rank < remote) {
        for (int tag = 0; tag < tag_count; ++tag) {
            int in = -1, own_size = 0;
            CHECK_CALL(t, MPI_Comm_size(half, &own_size));
            CHECK_CALL(t, MPI_Send(&tag, 1, MPI_INT, rank % remote, tag, made));
            if (rank < own_size)
                CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, rank, tag, made, MPI_STATUS_IGNORE));
            CHECK_INT(t, in, tag);
        }
    }
    CHECK_CALL(t, MPI_Comm_free(&made));
    CHECK_CALL(t, MPI_Comm_free(&inter));
    CHECK_CALL(t, MPI_Comm_free(&half));
}

// A communicator in use changes its way only where nothing of it is under way on any rank, and back
// as well. While the rank has one thread.
static void change_in_use(struct check* t, const struct pair* pair)
{
    MPI_Comm comm;
    int out[2] = {1, 2}, in = -1;
    MPI_Request request, sent;
    CHECK_CALL(t, MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    CHECK_CALL(t, MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    // A message that nobody has received yet, or whose receiver has not even looked.
    CHECK_CALL(t, MPI_Isend(&out[0], 1, MPI_INT, pair->other, 5, comm, &sent));
    promise_now(t, comm, "true");
    CHECK_INT(t, is_spread(comm), 0);
    CHECK(t, check_has_hint(t, comm, promise, "true"));
    CHECK_CALL(t, MPI_Isend(&out[1], 1, MPI_INT, pair->other, 5, comm, &request));
    for (int i = 0; i < 2; ++i) {
        CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, pair->other, 5, comm, MPI_STATUS_IGNORE));
        CHECK_INT(t, in, out[i]);
    }
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    // A receive that is posted, on one rank.
    if (t->rank == 0)
        CHECK_CALL(t, MPI_Irecv(&in, 1, MPI_INT, pair->other, 6, comm, &request));
    promise_now(t, comm, "true");
    CHECK_INT(t, is_spread(comm), 0);
    if (pair->other == 0)
        CHECK_CALL(t, MPI_Send(&out[1], 1, MPI_INT, 0, 6, comm));
    if (t->rank == 0)
        CHECK_CALL(t, MPI_Wait(&request, MPI_STATUS_IGNORE));
    // Nothing is left.
    promise_now(t, comm, "true");
    CHECK_INT(t, is_spread(comm), spreads());
    for (int tag = 0; tag < tag_count; ++tag) {
        CHECK_CALL(t, MPI_Sendrecv(&tag, 1, MPI_INT, pair->other, tag, &in, 1, MPI_INT, pair->other,
                                   tag, comm, MPI_STATUS_IGNORE));
        CHECK_INT(t, in, tag);
    }
    // Back, but not while a message waits.
    CHECK_CALL(t, MPI_Isend(&out[0], 1, MPI_INT, pair->other, 7, comm, &sent));
    promise_now(t, comm, "false");
    CHECK_INT(t, is_spread(comm), spreads());
    CHECK(t, check_has_hint(t, comm, promise, spreads() ? "true" : "false"));
    CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, pair->other, 7, comm, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    promise_now(t, comm, "false");
    CHECK_INT(t, is_spread(comm), 0);
    CHECK(t, check_has_hint(t, comm, promise, "false"));
    CHECK_CALL(t, MPI_Isend(&out[0], 1, MPI_INT, pair->other, 8, comm, &sent));
    CHECK_CALL(t, MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Wait(&sent, MPI_STATUS_IGNORE));
    CHECK_CALL(t, MPI_Comm_free(&comm));
}

static void* work_on_tags(void* argument)
{
    struct pair* pair = argument;
    if (pair->join_rank != NULL)
        pair->join_rank(pair->rank);
    for (int round = 0; round < pair->rounds; ++round) {
        keep_order(&pair->check, pair);
        find_each(&pair->check, pair);
        exchange_tags(&pair->check, pair);
    }
    return NULL;
}

// Threads with tags of their own on one communicator; meanwhile it gives and takes the promise.
static void work_in_threads(struct check* t, const struct pair* pair, int changes)
{
    enum { thread_count = 4 };
    struct pair pairs[thread_count];
    pthread_t threads[thread_count];
    for (int i = 0; i < thread_count; ++i) {
        pairs[i] = *pair;
        pairs[i].check = *t;
        pairs[i].check.checks = pairs[i].check.failures = 0;
        pairs[i].first_tag = 1 + i * tag_count;
        CHECK_INT(t, pthread_create(&threads[i], NULL, work_on_tags, &pairs[i]), 0);
    }
    for (int i = 0; i < changes; ++i)
        promise_now(t, pair->comm, i % 3 == 2 ? "false" : "true");
    for (int i = 0; i < thread_count; ++i) {
        CHECK_INT(t, pthread_join(threads[i], NULL), 0);
        t->checks += pairs[i].check.checks;
        t->failures += pairs[i].check.failures;
    }
}

static int test_main(void)
{
    int provided = -1;
    const int started = MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided);
    struct check t = check_start("no_any_tag");
    CHECK_INT(&t, started, MPI_SUCCESS);
    CHECK_INT(&t, provided, MPI_THREAD_MULTIPLE);
    struct pair pair = {.check = t,
                        .other = (t.rank ^ 1) < t.size ? t.rank ^ 1 : t.rank,
                        .rounds = (int)check_setting("CHECK_ROUNDS", 1)};
#ifdef CHECK_HAS_INTERFACE
    if (check_setting("HEADWAY_TEAM", 0) > 0) {
        pair.rank = check_interface()->own_rank();
        pair.join_rank = check_interface()->join_rank;
    }
#endif
    read_hints(&t);
    fail_alone(&t);
    make_all_ways(&t);
    change_in_use(&t, &pair);
    pair.comm = make_promised(&t, MPI_COMM_WORLD);
    CHECK_INT(&t, is_spread(pair.comm), spreads());
    keep_order(&t, &pair);
    find_each(&t, &pair);
    exchange_tags(&t, &pair);
    start_again(&t, &pair);
    free_early(&t, &pair);
    break_promise(&t, &pair);
    if (t.size > 1)
        pass_between_groups(&t);
    // Threads from the beginning on a communicator that changes while the first of them come.
    MPI_Comm changing;
    CHECK_CALL(&t, MPI_Comm_dup(MPI_COMM_WORLD, &changing));
    const MPI_Comm promised = pair.comm;
    pair.comm = changing;
    work_in_threads(&t, &pair, 20);
    pair.comm = promised;
    work_in_threads(&t, &pair, 0);
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    CHECK_CALL(&t, MPI_Comm_free(&changing));
    CHECK_CALL(&t, MPI_Comm_free(&pair.comm));
    MPI_Finalize();
    return check_finish(&t);
}

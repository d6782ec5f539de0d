// SPDX-License-Identifier: Apache-2.0
// Messages that nobody receives yet cost their receiver a bounded amount of memory: rank 0 sends
// CHECK_MESSAGES messages of 1 KiB to each other rank, which takes the last of them first and so
// has to find a place for all others. Then all arrive, whole and in order. Run with small and
// large values of HEADWAY_UNEXPECTED_LIMIT.
#include "../check.h"

enum { message_bytes = 1024, patterns = 256, tag_data = 1, tag_last = 2, batch = 1000 };

// Kilobytes of a field of /proc/self/status.
static long status_kb(const char* field)
{
    char line[256];
    long value = -1;
    FILE* file = fopen("/proc/self/status", "r");
    if (file == NULL)
        return -1;
    while (fgets(line, sizeof line, file) != NULL) {
        const size_t length = strlen(field);
        if (strncmp(line, field, length) == 0)
            value = strtol(line + length, NULL, 10);
    }
    fclose(file);
    return value;
}

#ifdef CHECK_HAS_INTERFACE
static int read_memory(struct headway_memory* memory)
{
    const struct headway_interface_1* table = dlsym(RTLD_DEFAULT, "headway_interface_1");
    if (table == NULL || table->size_bytes < offsetof(struct headway_interface_1, read_memory) +
                                                 sizeof table->read_memory) {
        return 0;
    }
    return table->read_memory(memory) == 0;
}
#endif

static void send_all(struct check* t, int messages)
{
    unsigned char* out = check_memory((size_t)patterns * message_bytes);
    const int receivers = t->size - 1, all = messages * receivers;
    MPI_Request* requests = check_memory(((size_t)all + 1) * sizeof *requests);
    for (int i = 0; i < patterns; ++i) {
        check_fill(out + i * message_bytes, message_bytes, (uint64_t)i);
    }
    for (int k = 0; k < all; ++k) {
        const int i = k / receivers, to = 1 + k % receivers;
        CHECK_CALL(t, MPI_Isend(out + i % patterns * message_bytes, message_bytes, MPI_BYTE, to,
                                tag_data, MPI_COMM_WORLD, &requests[k]));
    }
    for (int to = 1; to < t->size; ++to) {
        CHECK_CALL(t, MPI_Send(NULL, 0, MPI_BYTE, to, tag_last, MPI_COMM_WORLD));
    }
    CHECK_CALL(t, MPI_Waitall(all, requests, MPI_STATUSES_IGNORE));
#ifdef CHECK_HAS_INTERFACE
    struct headway_memory memory;
    if (read_memory(&memory)) {
        CHECK(t, memory.offers_for_room > 0 || check_setting("CHECK_OFFERS", 1) == 0);
    }
#endif
    free(requests);
    free(out);
}

// Whether the kernel's count is that of one rank: a team shares it, and what the thread sanitizer
// notes about the node heap is anonymous memory as well.
static int is_count_ours(void)
{
#ifdef __SANITIZE_THREAD__
    return 0;
#else
    return check_setting("HEADWAY_TEAM", 0) == 0;
#endif
}

// What the messages may cost, in kilobytes.
static void check_growth(struct check* t, long before_kb, long limit_kb)
{
    if (is_count_ours()) {
        CHECK(t, status_kb("RssAnon:") - before_kb < limit_kb);
    }
#ifdef CHECK_HAS_INTERFACE
    struct headway_memory memory;
    if (read_memory(&memory)) {
        CHECK(t, memory.block_bytes / 1024 < (uint64_t)limit_kb);
        CHECK(t, memory.unexpected_bytes_max / 1024 < (uint64_t)limit_kb);
    }
#endif
}

static void receive_all(struct check* t, int messages, long limit_kb)
{
    unsigned char in[message_bytes];
    MPI_Status status;
    const long before_kb = status_kb("RssAnon:");
    int flag = 0, count = 0, bad = 0;
    CHECK_CALL(t, MPI_Recv(NULL, 0, MPI_BYTE, 0, tag_last, MPI_COMM_WORLD, &status));
    check_growth(t, before_kb, limit_kb);
    for (int i = 0; i < messages; ++i) {
        // By name, by any name, and by a matched probe: all take the oldest.
        const int tag = i % 3 == 0 ? MPI_ANY_TAG : tag_data;
        if (i % 5 == 4) {
            MPI_Message message = MPI_MESSAGE_NULL;
            CHECK_CALL(t, MPI_Improbe(0, tag, MPI_COMM_WORLD, &flag, &message, &status));
            if (!CHECK_INT(t, flag, 1))
                return;
            CHECK_CALL(t, MPI_Mrecv(in, message_bytes, MPI_BYTE, &message, &status));
        } else {
            CHECK_CALL(t, MPI_Recv(in, message_bytes, MPI_BYTE, i % 2 ? 0 : MPI_ANY_SOURCE, tag,
                                   MPI_COMM_WORLD, &status));
        }
        MPI_Get_count(&status, MPI_BYTE, &count);
        bad += count != message_bytes || status.MPI_SOURCE != 0 || status.MPI_TAG != tag_data;
        bad += check_differs(in, message_bytes, (uint64_t)(i % patterns)) != -1;
    }
    CHECK_INT(t, bad, 0);
    CHECK_CALL(t, MPI_Iprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
    CHECK_INT(t, flag, 0);
}

// The same from a rank to itself, where a started receive has to free the way.
static void to_itself(struct check* t, int messages, long limit_kb)
{
    unsigned char out[message_bytes], in[message_bytes];
    MPI_Request* requests = check_memory((size_t)messages * sizeof *requests);
    int bad = 0;
    check_fill(out, message_bytes, 77);
    for (int i = 0; i < messages; ++i) {
        CHECK_CALL(
            t, MPI_Isend(out, message_bytes, MPI_BYTE, t->rank, i, MPI_COMM_WORLD, &requests[i]));
    }
    CHECK_CALL(t, MPI_Recv(in, message_bytes, MPI_BYTE, t->rank, messages - 1, MPI_COMM_WORLD,
                           MPI_STATUS_IGNORE));
#ifdef CHECK_HAS_INTERFACE
    struct headway_memory memory;
    if (read_memory(&memory))
        CHECK(t, memory.unexpected_bytes / 1024 < (uint64_t)limit_kb);
#endif
    for (int i = 0; i < messages - 1; ++i) {
        memset(in, 0, sizeof in);
        CHECK_CALL(t, MPI_Recv(in, message_bytes, MPI_BYTE, t->rank, i, MPI_COMM_WORLD,
                               MPI_STATUS_IGNORE));
        bad += check_differs(in, message_bytes, 77) != -1;
    }
    CHECK_INT(t, bad, 0);
    CHECK_CALL(t, MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE));
    free(requests);
}

static int test_main(void)
{
    struct check t = check_start("bounded");
    const int messages = (int)check_setting("CHECK_MESSAGES", 20000);
    const long limit_kb = check_setting("CHECK_LIMIT_KB", 65536);
    if (t.rank == 0) {
        send_all(&t, messages);
    } else {
        receive_all(&t, messages, limit_kb);
    }
    CHECK_CALL(&t, MPI_Barrier(MPI_COMM_WORLD));
    to_itself(&t, batch * 8, limit_kb);
    // Collectives go on between full ranks.
    int sum = 0;
    CHECK_CALL(&t, MPI_Allreduce(&t.rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK_INT(&t, sum, t.size * (t.size - 1) / 2);
    return check_finish(&t);
}

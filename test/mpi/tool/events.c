// SPDX-License-Identifier: Apache-2.0
// Events with callbacks: a message that arrives before its receive, and the receive that finds it.
#include "../check.h"

enum {
    text_bytes = 256,
    tag = 11,
    bytes = 900,
    element_count = 4,
    records_max = 64,
    flood_messages = 10000
};

struct heard {
    struct check* check;
    int32_t source[records_max];
    int32_t tag[records_max];
    uint64_t amount[records_max];
    int count;
    int calls_inside;
    MPI_Count last_ns;
    MPI_Aint amount_place;
};

// Counts those of this test; others, of collectives say, are none of its business.
static void on_message(MPI_T_event_instance instance, MPI_T_event_registration registration,
                       MPI_T_cb_safety safety, void* data)
{
    struct heard* heard = data;
    struct check* t = heard->check;
    int32_t source = -1, its_tag = -1;
    uint64_t amount = 0;
    int source_index = -1, rank = -1;
    MPI_Count stamp = 0;
    (void)registration;
    CHECK_INT(t, safety, MPI_T_CB_REQUIRE_NONE);
    CHECK_CALL(t, MPI_T_event_read(instance, 0, &source));
    CHECK_CALL(t, MPI_T_event_read(instance, 1, &its_tag));
    CHECK_CALL(t, MPI_T_event_read(instance, 3, &amount));
    CHECK_INT(t, MPI_T_event_read(instance, element_count, &amount), MPI_T_ERR_INVALID_INDEX);
    CHECK_CALL(t, MPI_T_event_get_source(instance, &source_index));
    CHECK_INT(t, source_index, 0);
    // All elements at once, at the places that the kind tells: the amount is the last.
    union {
        char bytes[64];
        uint64_t words[8];
    } all;
    memset(&all, 0, sizeof all);
    CHECK_CALL(t, MPI_T_event_copy(instance, all.bytes));
    uint64_t copied = 0;
    memcpy(&copied, all.bytes + heard->amount_place, sizeof copied);
    CHECK(t, copied == amount);
    CHECK_CALL(t, MPI_T_event_get_timestamp(instance, &stamp));
    CHECK(t, stamp >= heard->last_ns);
    heard->last_ns = stamp;
    // It runs on the rank's own thread, inside MPI, and may call it.
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK_INT(t, rank, t->rank);
    if (its_tag != tag || heard->count == records_max)
        return;
    heard->source[heard->count] = source;
    heard->tag[heard->count] = its_tag;
    heard->amount[heard->count++] = amount;
}

static void on_freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void* data)
{
    (void)registration;
    (void)safety;
    ++*(int*)data;
}

static MPI_T_event_registration listen(struct check* t, const char* name, struct heard* heard)
{
    int index = -1;
    MPI_T_event_registration registration = NULL;
    CHECK_CALL(t, MPI_T_event_get_index(name, &index));
    MPI_Aint places[element_count];
    int elements = element_count;
    CHECK_CALL(t, MPI_T_event_get_info(index, NULL, NULL, NULL, NULL, places, &elements, NULL, NULL,
                                       NULL, NULL, NULL));
    CHECK_INT(t, elements, element_count);
    heard->amount_place = places[element_count - 1];
    CHECK_CALL(t, MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &registration));
    CHECK_CALL(t, MPI_T_event_register_callback(registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL,
                                                heard, on_message));
    return registration;
}

static void check_kinds(struct check* t)
{
    int events = 0;
    CHECK_CALL(t, MPI_T_event_get_num(&events));
    CHECK(t, events >= 3);
    for (int i = 0; i < events; ++i) {
        char name[text_bytes] = "";
        int name_len = text_bytes, verbosity = 0, about_len = 0, bind = -1, found = -1;
        int elements = 8;
        MPI_Datatype types[8];
        MPI_Aint places[8];
        MPI_T_enum enumeration;
        MPI_Info info = MPI_INFO_NULL;
        CHECK_CALL(t, MPI_T_event_get_info(i, name, &name_len, &verbosity, types, places, &elements,
                                           &enumeration, &info, NULL, &about_len, &bind));
        CHECK(t, elements > 0 && elements <= 8 && about_len > 1);
        for (int k = 1; k < elements; ++k)
            CHECK(t, places[k] > places[k - 1]);
        CHECK_CALL(t, MPI_Info_free(&info));
        CHECK_CALL(t, MPI_T_event_get_index(name, &found));
        CHECK_INT(t, found, i);
    }
    int sources = 0, length = 0;
    MPI_T_source_order order = MPI_T_SOURCE_UNORDERED;
    MPI_Count ticks = 0, most = 0, first = 0, second = 0;
    CHECK_CALL(t, MPI_T_source_get_num(&sources));
    CHECK_INT(t, sources, 1);
    CHECK_CALL(t, MPI_T_source_get_info(0, NULL, &length, NULL, NULL, &order, &ticks, &most, NULL));
    CHECK(t, order == MPI_T_SOURCE_ORDERED && ticks > 0 && most > 0 && length > 1);
    CHECK_CALL(t, MPI_T_source_get_timestamp(0, &first));
    CHECK_CALL(t, MPI_T_source_get_timestamp(0, &second));
    CHECK(t, second >= first);
    CHECK_INT(t, MPI_T_source_get_timestamp(1, &first), MPI_T_ERR_INVALID_INDEX);
}

static void check_hints(struct check* t, MPI_T_event_registration registration)
{
    MPI_Info given, used;
    char value[text_bytes] = "";
    int length = text_bytes, flag = 0;
    MPI_Info_create(&given);
    MPI_Info_set(given, "hint", "this");
    CHECK_CALL(t, MPI_T_event_handle_set_info(registration, given));
    CHECK_CALL(t, MPI_T_event_handle_get_info(registration, &used));
    MPI_Info_get_string(used, "hint", &length, value, &flag);
    CHECK(t, flag && strcmp(value, "this") == 0);
    MPI_Info_free(&used);
    CHECK_CALL(t, MPI_T_event_callback_set_info(registration, MPI_T_CB_REQUIRE_NONE, given));
    CHECK_CALL(t, MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &used));
    MPI_Info_get_string(used, "hint", &length, value, &flag);
    CHECK(t, flag);
    MPI_Info_free(&used);
    MPI_Info_free(&given);
}

static void check_messages(struct check* t)
{
    struct heard kept = {.check = t}, late = {.check = t};
    const int to = (t->rank + 1) % t->size, from = (t->rank + t->size - 1) % t->size;
    char out[bytes] = "", in[bytes];
    MPI_T_event_registration on_kept = listen(t, "message_unexpected", &kept);
    MPI_T_event_registration on_late = listen(t, "message_matched_late", &late);
    check_hints(t, on_kept);
    CHECK_CALL(t, MPI_T_event_set_dropped_handler(on_kept, NULL));
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD);
    // The probe finds it, so it is there without a receive.
    MPI_Probe(from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_INT(t, kept.count, 1);
    CHECK_INT(t, kept.source[0], from);
    CHECK_INT(t, kept.amount[0], bytes);
    CHECK_INT(t, late.count, 0);
    MPI_Recv(in, bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_INT(t, late.count, 1);
    CHECK_INT(t, late.source[0], from);
    CHECK_INT(t, late.amount[0], bytes);

    // A message whose receive is there first is none of both.
    MPI_Request request;
    MPI_Irecv(in, bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_INT(t, kept.count, 1);
    CHECK_INT(t, late.count, 1);

    int freed = 0;
    CHECK_CALL(t, MPI_T_event_handle_free(on_kept, &freed, on_freed));
    CHECK_INT(t, freed, 1);
    CHECK_INT(t, MPI_T_event_handle_free(on_kept, &freed, on_freed), MPI_T_ERR_INVALID_HANDLE);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD);
    MPI_Probe(from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(in, bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_INT(t, kept.count, 1);
    CHECK_INT(t, late.count, 2);
    CHECK_CALL(t, MPI_T_event_handle_free(on_late, NULL, NULL));
}

struct flood {
    struct check* check;
    MPI_T_event_registration registration;
    int heard;
    MPI_Count dropped;
};

static void on_flood(MPI_T_event_instance instance, MPI_T_event_registration registration,
                     MPI_T_cb_safety safety, void* data)
{
    struct flood* flood = data;
    int32_t its_tag = -1;
    (void)registration, (void)safety;
    CHECK_CALL(flood->check, MPI_T_event_read(instance, 1, &its_tag));
    flood->heard += its_tag == tag;
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source,
                       MPI_T_cb_safety safety, void* data)
{
    struct flood* flood = data;
    CHECK(flood->check, count > 0);
    CHECK(flood->check, registration == flood->registration);
    CHECK_INT(flood->check, source, 0);
    CHECK_INT(flood->check, safety, MPI_T_CB_REQUIRE_NONE);
    flood->dropped += count;
}

// Events wait for the end of a call; of more than there is room for, some are dropped and counted.
// Every rank sends to itself, all messages in one call.
static void check_dropped(struct check* t)
{
    struct flood flood = {.check = t};
    MPI_Request* const requests = check_memory(sizeof(MPI_Request) * flood_messages);
    char out = 1, in = 0;
    int index = -1;
    CHECK_CALL(t, MPI_T_event_get_index("message_unexpected", &index));
    CHECK_CALL(t, MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &flood.registration));
    CHECK_CALL(t, MPI_T_event_register_callback(flood.registration, MPI_T_CB_REQUIRE_NONE,
                                                MPI_INFO_NULL, &flood, on_flood));
    for (int i = 0; i < flood_messages; ++i)
        CHECK_CALL(t, MPI_Send_init(&out, 1, MPI_CHAR, t->rank, tag, MPI_COMM_WORLD, &requests[i]));
    for (int round = 0; round < 2; ++round) {
        const MPI_Count dropped_before = flood.dropped;
        const int heard_before = flood.heard;
        CHECK_CALL(
            t, MPI_T_event_set_dropped_handler(flood.registration, round == 0 ? on_dropped : NULL));
        CHECK_CALL(t, MPI_Startall(flood_messages, requests));
        // A rank's own messages keep their order: with the last receive all have arrived.
        for (int i = 0; i < flood_messages; ++i)
            MPI_Recv(&in, 1, MPI_CHAR, t->rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_CALL(t, MPI_Waitall(flood_messages, requests, MPI_STATUSES_IGNORE));
        const int heard = flood.heard - heard_before;
        const MPI_Count dropped = flood.dropped - dropped_before;
        CHECK(t, heard > 0 && heard < flood_messages);
        if (round == 0)
            // Over a network a step of the barrier that another rank has reached may be dropped,
            // too.
            CHECK(t, heard + dropped >= flood_messages && heard + dropped < flood_messages + 8);
        else
            CHECK_INT(t, dropped, 0);
    }
    for (int i = 0; i < flood_messages; ++i)
        CHECK_CALL(t, MPI_Request_free(&requests[i]));
    CHECK_CALL(t, MPI_T_event_handle_free(flood.registration, NULL, NULL));
    free(requests);
}

static int test_main(void)
{
    struct check t = check_start("events");
    int provided;
    CHECK_CALL(&t, MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    check_kinds(&t);
    check_messages(&t);
    MPI_Barrier(MPI_COMM_WORLD);
    check_dropped(&t);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CALL(&t, MPI_T_finalize());
    return check_finish(&t);
}

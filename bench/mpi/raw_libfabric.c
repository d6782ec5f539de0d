// SPDX-License-Identifier: Apache-2.0
// What libfabric itself needs for a ping-pong over the provider that Headway takes: an endpoint a
// rank, one buffer posted, the completion queue polled. No headers, no matching, no MPI but for the
// exchange of addresses. Libfabric is opened by name, so that every bench program builds alike.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#if defined __has_include
#if __has_include(<rdma/fi_endpoint.h>)
#define HAS_LIBFABRIC
#endif
#endif

#ifndef HAS_LIBFABRIC
int main(int argc, char** argv)
{
    Harness harness;
    if (harness_begin(&argc, &argv, &harness)) {
        harness_skip(&harness, "8 B", "built without libfabric's headers");
        harness_skip(&harness, "4 KiB", "built without libfabric's headers");
    }
    return harness_end(&harness);
}
#else

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>

enum { message_max = 4096, name_max = 256 };

typedef struct {
    int (*getinfo)(uint32_t, const char*, const char*, uint64_t, const struct fi_info*,
                   struct fi_info**);
    struct fi_info* (*dupinfo)(const struct fi_info*);
    int (*fabric)(struct fi_fabric_attr*, struct fid_fabric**, void*);
} Library;

typedef struct {
    const Harness* harness;
    struct fi_info* info;
    struct fid_fabric* fabric;
    struct fid_domain* domain;
    struct fid_av* addresses;
    struct fid_cq* completions;
    struct fid_ep* endpoint;
    fi_addr_t peer;
    int size_bytes;
    int sends;  // under way
    struct fi_context2 sent;
    struct fi_context2 received;
    unsigned char outgoing[message_max];
    unsigned char incoming[message_max];
} Raw;

static void demand(const Raw* raw, long code, const char* call)
{
    static char text[name_max];
    if (code >= 0)
        return;
    snprintf(text, sizeof text, "%s of libfabric says %ld", call, code);
    harness_fail(raw->harness, text);
}

static int open_library(Library* library)
{
    void* const object = dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
    if (object == NULL)
        return 0;
    *(void**)&library->getinfo = dlsym(object, "fi_getinfo");
    *(void**)&library->dupinfo = dlsym(object, "fi_dupinfo");
    *(void**)&library->fabric = dlsym(object, "fi_fabric");
    return library->getinfo != NULL && library->dupinfo != NULL && library->fabric != NULL;
}

// The first interface of `provider` that leads out of the machine, with this code and no layer
// above it; NULL: there is none.
static struct fi_info* find_provider(const Library* library, const char* provider)
{
    struct fi_info* const hints = library->dupinfo(NULL);
    struct fi_info* list = NULL;
    struct fi_info* found = NULL;
    if (hints == NULL)
        return NULL;
    hints->caps = FI_MSG;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->tx_attr->msg_order = FI_ORDER_SAS;
    hints->rx_attr->msg_order = FI_ORDER_SAS;
    hints->domain_attr->threading = FI_THREAD_DOMAIN;
    hints->domain_attr->mr_mode = 0;
    hints->addr_format = FI_SOCKADDR_IN;
    if (library->getinfo(FI_VERSION(1, 17), NULL, NULL, 0, hints, &list) == 0) {
        for (struct fi_info* info = list; info != NULL && found == NULL; info = info->next) {
            if (strcmp(info->fabric_attr->prov_name, provider) == 0 &&
                strcmp(info->domain_attr->name, "lo") != 0)
                found = library->dupinfo(info);
        }
    }
    return found;
}

static void open_endpoint(Raw* raw, const Library* library)
{
    struct fi_cq_attr queue = {.format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_FD};
    struct fi_av_attr table = {.type = FI_AV_TABLE};
    demand(raw, library->fabric(raw->info->fabric_attr, &raw->fabric, NULL), "fi_fabric");
    demand(raw, fi_domain(raw->fabric, raw->info, &raw->domain, NULL), "fi_domain");
    demand(raw, fi_av_open(raw->domain, &table, &raw->addresses, NULL), "fi_av_open");
    demand(raw, fi_cq_open(raw->domain, &queue, &raw->completions, NULL), "fi_cq_open");
    demand(raw, fi_endpoint(raw->domain, raw->info, &raw->endpoint, NULL), "fi_endpoint");
    demand(raw, fi_ep_bind(raw->endpoint, &raw->addresses->fid, 0), "fi_ep_bind");
    demand(raw, fi_ep_bind(raw->endpoint, &raw->completions->fid, FI_TRANSMIT | FI_RECV),
           "fi_ep_bind");
    demand(raw, fi_enable(raw->endpoint), "fi_enable");
    char own[name_max] = {0};
    char theirs[name_max] = {0};
    size_t bytes = sizeof own;
    demand(raw, fi_getname(&raw->endpoint->fid, own, &bytes), "fi_getname");
    const int other = 1 - raw->harness->rank;
    MPI_Sendrecv(own, sizeof own, MPI_BYTE, other, 3, theirs, sizeof theirs, MPI_BYTE, other, 3,
                 raw->harness->comm, MPI_STATUS_IGNORE);
    if (fi_av_insert(raw->addresses, theirs, 1, &raw->peer, 0, NULL) != 1)
        harness_fail(raw->harness, "fi_av_insert of libfabric takes no address");
}

// Takes one completion if there is one; whether it was of a message that came.
static int poll_once(Raw* raw)
{
    struct fi_cq_entry entry;
    const ssize_t count = fi_cq_read(raw->completions, &entry, 1);
    if (count == -FI_EAGAIN)
        return 0;
    demand(raw, count, "fi_cq_read");
    if (entry.op_context == &raw->received)
        return 1;
    --raw->sends;
    return 0;
}

static void post_receive(Raw* raw)
{
    demand(raw,
           fi_recv(raw->endpoint, raw->incoming, message_max, NULL, FI_ADDR_UNSPEC, &raw->received),
           "fi_recv");
}

static void send_one(Raw* raw)
{
    while (raw->sends != 0)
        poll_once(raw);
    const size_t bytes = (size_t)raw->size_bytes;
    const int is_injected = bytes <= raw->info->tx_attr->inject_size;
    long code = -FI_EAGAIN;
    while (code == -FI_EAGAIN) {
        code = is_injected
                   ? fi_inject(raw->endpoint, raw->outgoing, bytes, raw->peer)
                   : fi_send(raw->endpoint, raw->outgoing, bytes, NULL, raw->peer, &raw->sent);
        if (code == -FI_EAGAIN)
            poll_once(raw);  // a connection is being made; nothing comes before it stands
    }
    demand(raw, code, "fi_send");
    raw->sends += is_injected ? 0 : 1;
}

static void receive_one(Raw* raw)
{
    while (!poll_once(raw)) {
    }
    post_receive(raw);
}

static void ping_pong(void* context, long repeats)
{
    Raw* const raw = context;
    for (long count = 0; count < repeats; ++count) {
        if (raw->harness->rank == 0)
            send_one(raw);
        receive_one(raw);
        if (raw->harness->rank == 1)
            send_one(raw);
    }
}

static void measure(Raw* raw, int size_bytes)
{
    static double samples_us[harness_samples_max];
    char name[32];
    harness_size_name((size_t)size_bytes, name, sizeof name);
    if (!harness_wants(raw->harness, name))
        return;
    raw->size_bytes = size_bytes;
    memset(raw->outgoing, 17 + raw->harness->rank, message_max);
    ping_pong(raw, 1);
    if (raw->incoming[size_bytes - 1] != 18 - raw->harness->rank)
        harness_fail(raw->harness, "libfabric delivered wrong bytes");
    const int count = harness_sample(raw->harness, ping_pong, raw, samples_us);
    for (int index = 0; index < count; ++index)
        samples_us[index] /= 2.0;
    harness_emit(raw->harness, name, "oneway_us", "us", samples_us, count);
}

int main(int argc, char** argv)
{
    static Raw raw;
    Harness harness;
    if (!harness_begin(&argc, &argv, &harness))
        return harness_end(&harness);
    if (harness.ranks != 2)
        harness_fail(&harness, "raw_libfabric needs exactly 2 ranks: mpiexec -n 2");
    Library library;
    raw.harness = &harness;
    if (!open_library(&library))
        harness_fail(&harness, "libfabric.so.1 cannot be opened");
    // As src/transport/ofi/provider.cpp: before libfabric 1.18 `net` is what `tcp` is after it.
    raw.info = find_provider(&library, "net");
    if (raw.info == NULL)
        raw.info = find_provider(&library, "tcp");
    if (raw.info == NULL)
        harness_fail(&harness, "libfabric has no provider of datagrams over sockets here");
    open_endpoint(&raw, &library);
    post_receive(&raw);
    measure(&raw, 8);
    measure(&raw, message_max);
    MPI_Barrier(harness.comm);  // nobody closes before all have come so far
    fi_close(&raw.endpoint->fid);
    fi_close(&raw.completions->fid);
    fi_close(&raw.addresses->fid);
    fi_close(&raw.domain->fid);
    fi_close(&raw.fabric->fid);
    return harness_end(&harness);
}
#endif

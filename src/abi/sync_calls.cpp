// SPDX-License-Identifier: Apache-2.0
// Sync objects, and progress on demand (include/mpi-ext.h, docs/design/023).
#include "abi/sync_calls.hpp"

#include "abi/check.hpp"
#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/request.hpp"

namespace headway::abi {
namespace {

using engine::SyncEvent;
using engine::SyncObject;
using object::Persistent;
using object::Rank;

std::uint64_t cookie_of(void* completion_data)
{
    return reinterpret_cast<std::uintptr_t>(completion_data);
}

/// The request of an event ends; the event is gone.
int end_event(Call& call, SyncEvent* event, MPI_Status* status)
{
    Rank& rank = rank_of(call);
    engine::Op* const op = event->op;
    Persistent* const starter = object::starter_of(*op);
    MPI_Request request = object::release_request(rank, *event);
    const bool ends_binding = event->is_last;
    object::drop_event(rank, event);
    const int error = end_request(call, &request, op, status);
    if (status != MPI_STATUS_IGNORE) {
        status->MPI_ERROR = error;
    }
    if (ends_binding) {
        object::unbind(rank, *starter);
    }
    return error;
}

int refuse_attached(Call& call)
{
    return call.fail(MPI_ERR_REQUEST,
                     "the request is attached to a sync object already; call MPIX_Sync_detach "
                     "first");
}

int refuse_partitioned(Call& call)
{
    return call.fail(MPI_ERR_REQUEST,
                     "a partitioned request cannot be attached; complete it by MPI_Wait or "
                     "MPI_Test");
}

/// The events that can be taken now, after a round of progress if there are none before it.
/// Returns as collect_events.
int look_for_events(Call& call, SyncObject& object)
{
    int error = collect_events(call, object);
    if (object.queued == 0) {
        object::advance_all(rank_of(call));
        const int later = collect_events(call, object);
        error = later != MPI_SUCCESS ? later : error;
    }
    return error;
}

/// `answer` of a sync object, or -1 after an error.
template <typename Answer>
int ask(Call& call, MPIX_Sync sync, const Answer& answer)
{
    SyncObject* const object = find_sync(call, sync);
    if (object == nullptr) {
        (void)refuse_sync(call, "sync", sync);
        return -1;
    }
    if (const int error = collect_events(call, *object); error != MPI_SUCCESS) {
        (void)call.leave(error);
        return -1;
    }
    return static_cast<int>(answer(*object));
}

/// MPIX_Sync_detach of a persistent request that is inactive.
int detach_inactive(Rank& rank, Persistent& idle)
{
    object::unbind(rank, idle);
    return MPI_SUCCESS;
}

int detach_active(Rank& rank, SyncEvent* event)
{
    Persistent* const starter = object::starter_of(*event->op);
    if (!object::detach_request(rank, *event)) {
        event->is_last = event->is_persistent;
        return MPIX_SYNC_ALREADY_COMPLETE;
    }
    if (event->is_persistent) {
        object::unbind(rank, *starter);
    } else {
        object::drop_event(rank, event);
    }
    return MPI_SUCCESS;
}

}  // namespace

engine::SyncObject* find_sync(const Call& call, MPIX_Sync handle) noexcept
{
    object::RankAccess& access = call.rank();
    auto* const sync = access.handles->find<engine::SyncObject>(handle);
    const bool is_own = sync != nullptr && sync->owner == &object::as_rank(access).driver().rank();
    return is_own ? sync : nullptr;
}

int collect_events(Call& call, SyncObject& object)
{
    int result = MPI_SUCCESS;
    for (SyncEvent* event = engine::take_completed(object); event != nullptr;) {
        // Read first: the event may be gone, or wait in another list.
        auto* const next = static_cast<SyncEvent*>(event->next);
        object::settle(rank_of(call), *event->op);
        if (!event->is_silent && !event->op->is_cancelled) {
            engine::queue_event(object, event);
        } else if (const int error = end_event(call, event, MPI_STATUS_IGNORE);
                   error != MPI_SUCCESS) {
            result = error;
        }
        event = next;
    }
    return result;
}

namespace call {

int Sync_init(Call& call, MPIX_Sync* sync)
{
    Rank& rank = rank_of(call);
    SyncObject* const made = engine::create_sync_object(rank.driver());
    if (made == nullptr) {
        return fail_for_memory(call);
    }
    const auto handle = rank.pool().acquire<MPIX_Sync>(made);
    if (object::bits_of(handle) == 0) {
        engine::destroy_sync_object(rank.driver(), made);
        return fail_for_memory(call);
    }
    *sync = handle;
    return MPI_SUCCESS;
}

int Sync_free(Call& call, SyncObject* sync_object, MPIX_Sync* sync)
{
    int error = collect_events(call, *sync_object);
    if (sync_object->attached != 0) {
        return call.fail(MPI_ERR_PENDING,
                         "%llu requests that are attached to the sync object are not complete; "
                         "wait for them (MPIX_Sync_waitall) or detach them",
                         static_cast<unsigned long long>(sync_object->attached));
    }
    if (sync_object->awaited != nullptr) {
        return call.fail(MPI_ERR_PENDING,
                         "another thread waits in MPIX_Sync_waitall for the sync object; let it "
                         "return first");
    }
    while (SyncEvent* const event = engine::take_event(*sync_object)) {
        const int ended = end_event(call, event, MPI_STATUS_IGNORE);
        error = ended != MPI_SUCCESS ? ended : error;
    }
    if (sync_object->bound != 0) {
        return call.fail(MPI_ERR_PENDING,
                         "%llu persistent requests are attached to the sync object; detach or free "
                         "them first",
                         static_cast<unsigned long long>(sync_object->bound));
    }
    Rank& rank = rank_of(call);
    rank.pool().release(*sync);
    *sync = MPIX_SYNC_NULL;
    engine::destroy_sync_object(rank.driver(), sync_object);
    return error;
}

int Sync_attach(Call& call, SyncObject* sync_object, MPI_Request* request, void* completion_data)
{
    if (completion_data == MPIX_SYNC_EMPTY) {
        return call.fail(MPI_ERR_ARG,
                         "completion_data is MPIX_SYNC_EMPTY, which says that there is no event; "
                         "give another value");
    }
    Rank& rank = rank_of(call);
    Persistent* persistent = object::find_inactive(rank, *request);
    engine::Op* const op = object::find_request(rank, *request);
    if (op != nullptr) {
        persistent = object::starter_of(*op);
    } else if (persistent == nullptr) {
        return object::find_attached(rank, *request) != nullptr ? refuse_attached(call)
                                                                : refuse_inactive(call, *request);
    }
    const object::Attachment to{*sync_object, cookie_of(completion_data),
                                completion_data == MPIX_SYNC_NO_COMPLETION_DATA};
    if (persistent == nullptr) {
        return object::attach_active(rank, *request, op, to) ? MPI_SUCCESS : fail_for_memory(call);
    }
    if (persistent->as_partitioned() != nullptr) {
        return refuse_partitioned(call);
    }
    if (persistent->binding() != nullptr) {
        return refuse_attached(call);
    }
    return object::bind(rank, *request, *persistent, op, to) ? MPI_SUCCESS : fail_for_memory(call);
}

int Sync_detach(Call& call, MPIX_Sync sync, MPI_Request* request)
{
    SyncObject* const object = find_sync(call, sync);
    if (object == nullptr) {
        return refuse_sync(call, "sync", sync);
    }
    if (request == nullptr) {
        return refuse_null(call, "request");
    }
    Rank& rank = rank_of(call);
    // A silent one may be over.
    if (const int error = collect_events(call, *object); error != MPI_SUCCESS) {
        return call.leave(error);
    }
    SyncEvent* event = object::find_attached(rank, *request);
    Persistent* const idle = object::find_inactive(rank, *request);
    if (idle != nullptr && idle->binding() != nullptr && idle->binding()->object == object) {
        return detach_inactive(rank, *idle);
    }
    if (event != nullptr && event->object == object) {
        return detach_active(rank, event);
    }
    return call.leave(call.fail(MPI_ERR_REQUEST, "the request is not attached to the sync object"));
}

int Sync_waitall(Call& call, SyncObject* sync_object)
{
    int error = collect_events(call, *sync_object);
    if (sync_object->attached != 0) {
        if (!engine::await_completions(rank_of(call).driver(), *sync_object)) {
            return fail_for_memory(call);
        }
        const int later = collect_events(call, *sync_object);
        error = later != MPI_SUCCESS ? later : error;
    }
    return error;
}

int Sync_size(Call& call, MPIX_Sync sync)
{
    return ask(call, sync, [](const SyncObject& object) { return object.attached; });
}

int Sync_probe(Call& call, MPIX_Sync sync)
{
    return ask(call, sync, [](const SyncObject& object) { return object.queued; });
}

void* Sync_query(Call& call, MPIX_Sync sync, MPI_Status* status)
{
    SyncObject* const object = find_sync(call, sync);
    if (object == nullptr) {
        (void)refuse_sync(call, "sync", sync);
        return MPIX_SYNC_EMPTY;
    }
    int error = look_for_events(call, *object);
    void* result = MPIX_SYNC_EMPTY;
    if (SyncEvent* const event = engine::take_event(*object); event != nullptr) {
        result = reinterpret_cast<void*>(event->cookie);
        const int ended = end_event(call, event, status);
        error = ended != MPI_SUCCESS ? ended : error;
    }
    (void)call.leave(error);
    return result;
}

int Sync_query_bulk(Call& call, int incount, SyncObject* sync_object, int* outcount, void* cbdata[],
                    MPI_Status status[])
{
    if (incount > 0 && cbdata == nullptr) {
        return refuse_null(call, "cbdata");
    }
    int error = look_for_events(call, *sync_object);
    *outcount = 0;
    for (; *outcount < incount; ++*outcount) {
        SyncEvent* const event = engine::take_event(*sync_object);
        if (event == nullptr) {
            break;
        }
        cbdata[*outcount] = reinterpret_cast<void*>(event->cookie);
        MPI_Status* const place =
            status != MPI_STATUSES_IGNORE ? &status[*outcount] : MPI_STATUS_IGNORE;
        if (end_event(call, event, place) != MPI_SUCCESS) {
            error = MPI_ERR_IN_STATUS;
        }
    }
    return error;
}

void Progress(Call& call)
{
    object::advance_all(rank_of(call));
}

}  // namespace call
}  // namespace headway::abi

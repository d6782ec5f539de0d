// SPDX-License-Identifier: Apache-2.0
#include "object/sync_object.hpp"

#include <utility>

namespace headway::object {

namespace {

engine::SyncEvent* make_event(Rank& rank, MPI_Request request, const Attachment& to)
{
    engine::SyncEvent* const event =
        engine::create_event(rank.driver(), to.object, bits_of(request));
    if (event != nullptr) {
        event->cookie = to.cookie;
        event->is_silent = to.is_silent;
    }
    return event;
}

}  // namespace

bool attach_active(Rank& rank, MPI_Request request, engine::Op* op, const Attachment& to)
{
    engine::SyncEvent* const event = make_event(rank, request, to);
    if (event == nullptr) {
        return false;
    }
    attach_request(rank, *event, op);
    return true;
}

bool bind(Rank& rank, MPI_Request request, Persistent& persistent, engine::Op* op,
          const Attachment& to)
{
    engine::SyncEvent* const event = make_event(rank, request, to);
    if (event == nullptr) {
        return false;
    }
    event->is_persistent = true;
    ++to.object.bound;
    persistent.bind(event);
    if (op != nullptr) {
        attach_request(rank, *event, op);
    }
    return true;
}

void attach_request(Rank& rank, engine::SyncEvent& event, engine::Op* op)
{
    rank.pool().change(Kind::request, event.request, Kind::attached_request, &event);
    engine::attach_op(rank.driver(), &event, op);
}

bool detach_request(Rank& rank, engine::SyncEvent& event)
{
    if (!engine::detach_op(rank.driver(), &event)) {
        return false;
    }
    (void)release_request(rank, event);
    return true;
}

void unbind(Rank& rank, Persistent& persistent)
{
    engine::SyncEvent* const event = persistent.binding();
    persistent.bind(nullptr);
    --event->object->bound;
    engine::destroy_event(rank.driver(), event);
}

void drop_event(Rank& rank, engine::SyncEvent* event)
{
    if (!event->is_persistent) {
        engine::destroy_event(rank.driver(), event);
    }
}

MPI_Request release_request(Rank& rank, engine::SyncEvent& event)
{
    rank.pool().change(Kind::attached_request, event.request, Kind::request,
                       std::exchange(event.op, nullptr));
    return handle_from<MPI_Request>(event.request);
}

}  // namespace headway::object

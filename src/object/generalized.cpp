// SPDX-License-Identifier: Apache-2.0
#include "object/generalized.hpp"

#include "object/rank.hpp"
#include "object/request.hpp"
#include "object/status.hpp"
#include "object/sync_object.hpp"

namespace headway::object {

void Generalized::finish(Rank& /*rank*/, engine::Op& /*op*/) {}

int Generalized::report(MPI_Status* status)
{
    // The callback may leave parts of the status alone, and wants one to write to.
    MPI_Status own;
    clear_status(own);
    const int error = functions_.query(functions_.extra_state, &own);
    if (status != MPI_STATUS_IGNORE) {
        own.MPI_ERROR = status->MPI_ERROR;
        *status = own;
    }
    return error;
}

int Generalized::close()
{
    return functions_.free(functions_.extra_state);
}

int Generalized::cancel(bool is_complete) const
{
    return functions_.cancel(functions_.extra_state, is_complete ? 1 : 0);
}

namespace {

/// Ends an op whose status nobody asks for.
int drop(Rank& rank, MPI_Request handle, Kind kind, engine::Op* op)
{
    rank.pool().release(kind, bits_of(handle));
    Communicator* const communicator = communicator_of(*op);
    Generalized* const generalized = generalized_of(*op);
    set_keep(*op, nullptr);
    rank.driver().destroy_op(op);
    communicator->drop_reference();
    const int error = generalized->close();
    delete generalized;
    return error;
}

}  // namespace

int Generalized::free(Rank& rank, MPI_Request handle, engine::Op* op)
{
    if (op->word.is_complete()) {
        return drop(rank, handle, Kind::request, op);
    }
    rank.pool().change(Kind::request, bits_of(handle), Kind::freed_request, op);
    return MPI_SUCCESS;
}

MPI_Request start_generalized(Rank& rank, const Generalized::Functions& functions)
{
    engine::Op* const op = rank.driver().create_op(engine::OpKind::send);
    if (op == nullptr) {
        return MPI_REQUEST_NULL;
    }
    const auto handle = rank.pool().acquire<MPI_Request>(op);
    if (bits_of(handle) == 0) {
        rank.driver().destroy_op(op);
        return MPI_REQUEST_NULL;
    }
    set_keep(*op, new Generalized(functions));
    Communicator& holder = rank.any_own();
    op->owner_cookie = reinterpret_cast<std::uintptr_t>(&holder);
    holder.add_reference();
    return handle;
}

engine::Op* find_generalized(const Rank& rank, MPI_Request request) noexcept
{
    engine::Op* op = find_request(rank, request);
    if (op == nullptr) {
        op = static_cast<engine::Op*>(rank.handles->find(Kind::freed_request, bits_of(request)));
    }
    if (const engine::SyncEvent* const event = find_attached(rank, request); event != nullptr) {
        op = event->op;
    }
    return op != nullptr && generalized_of(*op) != nullptr ? op : nullptr;
}

int complete_generalized(Rank& rank, MPI_Request request, engine::Op* op)
{
    const bool is_freed = rank.handles->find(Kind::freed_request, bits_of(request)) != nullptr;
    rank.driver().complete(op);
    if (!is_freed) {
        return MPI_SUCCESS;
    }
    return drop(rank, request, Kind::freed_request, op);
}

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
#include "object/persistent.hpp"

#include "object/communicator.hpp"
#include "object/rank.hpp"
#include "object/request.hpp"
#include "object/sync_object.hpp"

namespace headway::object {

Persistent::Persistent(Rank& rank, Communicator& communicator, engine::OpKind kind)
    : rank_(rank),
      communicator_(&communicator),
      kind_(kind),
      done_op_(rank.driver().create_op(kind))
{
    communicator_->add_reference();
    if (done_op_ != nullptr) {
        rank.driver().complete(done_op_);
    }
}

Persistent::~Persistent()
{
    if (binding_ != nullptr) {
        unbind(rank_, *this);
    }
    if (done_op_ != nullptr) {
        rank_.driver().destroy_op(done_op_);
    }
    communicator_->drop_reference();
}

bool Persistent::activate(MPI_Request handle)
{
    engine::Op* const op = start();
    if (op == nullptr) [[unlikely]] {
        return false;
    }
    op->owner_cookie = reinterpret_cast<std::uintptr_t>(this) | 1U;
    rank_.pool().change(bits_of(handle), Kind::request, op);
    if (binding_ != nullptr) [[unlikely]] {
        attach_request(rank_, *binding_, op);
    }
    return true;
}

int Persistent::end(Instance& instance, MPI_Request handle, engine::Op* op, MPI_Status* status)
{
    rank_.pool().change(bits_of(handle), Kind::idle_request, this);
    if (!is_own_op(op)) {
        return end_op(instance, op, status);
    }
    end_complete_orphans(instance);
    return report(*op, status);
}

MPI_Request make_persistent(Rank& rank, Persistent* made)
{
    HandleBits bits = 0;
    if (made->done_op_ != nullptr) {
        bits = rank.pool().acquire(Kind::idle_request, made);
    }
    if (bits == 0) {
        delete made;
        return MPI_REQUEST_NULL;
    }
    return handle_from<MPI_Request>(bits);
}

void free_inactive(Rank& rank, MPI_Request* request)
{
    Persistent* const idle = find_inactive(rank, *request);
    rank.pool().release(Kind::idle_request, bits_of(*request));
    *request = MPI_REQUEST_NULL;
    delete idle;
}

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
#include "object/persistent.hpp"

#include "object/communicator.hpp"
#include "object/rank.hpp"
#include "object/request.hpp"
#include "object/sync_object.hpp"

namespace headway::object {

Persistent::Persistent(Rank& rank, Communicator& communicator, const Facts& facts)
    : rank_(rank),
      communicator_(&communicator),
      facts_(facts),
      own_op_(rank.driver().create_op(facts.kind))
{
    communicator_->add_reference();
    if (own_op_ != nullptr) {
        rank.driver().complete(own_op_);
    }
}

Persistent::~Persistent()
{
    if (binding_ != nullptr) {
        unbind(rank_, *this);
    }
    if (own_op_ != nullptr) {
        rank_.driver().destroy_op(own_op_);
    }
    communicator_->drop_reference();
}

void Persistent::attach_run(engine::Op* op)
{
    attach_request(rank_, *binding_, op);
}

MPI_Request make_persistent(Rank& rank, Persistent* made)
{
    HandleBits bits = 0;
    if (made->own_op_ != nullptr) {
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

// SPDX-License-Identifier: Apache-2.0
#include "object/persistent.hpp"

#include "object/communicator.hpp"
#include "object/rank.hpp"
#include "object/request.hpp"
#include "object/sync_object.hpp"
#include "protocol/quick_receive.hpp"

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

engine::Op* Persistent::receive(engine::Driver& driver, engine::QuickReceive& wanted,
                                std::uint32_t sender)
{
    if (rank_.tracer == nullptr && protocol::take_next(driver, wanted, sender)) {
        protocol::note_taken(*own_op_, wanted);
        return own_op_;
    }
    engine::Op* const op = driver.create_op(engine::OpKind::receive);
    if (op != nullptr) [[likely]] {
        protocol::start_wanted(driver, op, wanted, sender);
    }
    return op;
}

void Persistent::attach_run(engine::Op* op)
{
    attach_request(rank_, *binding_, op);
}

int Persistent::end(Instance& instance, MPI_Request handle, engine::Op* op, MPI_Status* status)
{
    is_active_ = false;
    rank_.pool().change_live(bits_of(handle), Kind::idle_request, this);
    if (!is_own_op(op)) {
        return end_op(instance, op, status);
    }
    end_complete_orphans(instance);
    return report(*op, status);
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

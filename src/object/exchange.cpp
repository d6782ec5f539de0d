// SPDX-License-Identifier: Apache-2.0
#include "object/exchange.hpp"

#include "engine/joint.hpp"
#include "object/request.hpp"

namespace headway::object {

namespace {

/// Ops of another instance than the first: of that of the whole, or of one that is gone into from
/// the first.
void settle_inside(Rank& rank, engine::Op& half)
{
    const Inside inside(rank.instance_of(half));
    settle(rank, half);
}

}  // namespace

void Exchange::finish(Rank& rank, engine::Op& op)
{
    settle_inside(rank, *receive_);
    op.status_source = receive_->status_source;
    op.status_tag = receive_->status_tag;
    op.status_bytes = receive_->status_bytes;
    op.is_cancelled = receive_->is_cancelled;
    op.order = receive_->order;
    op.error = receive_->error != engine::OpError::none ? receive_->error : send_->error;
    settle_inside(rank, *send_);
    for (engine::Op* const half : {receive_, send_}) {
        Instance& home = rank.instance_of(*half);
        const Inside inside(home);
        home.driver->destroy_op(half);
    }
}

void join_exchange(engine::Driver& driver, engine::Op* joint, engine::Op* send, engine::Op* receive)
{
    set_keep(*joint, new Exchange(send, receive));
    engine::add_part(joint, send);
    engine::add_part(joint, receive);
    engine::seal_joint(driver, joint);
}

}  // namespace headway::object

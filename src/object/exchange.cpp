// SPDX-License-Identifier: Apache-2.0
#include "object/exchange.hpp"

#include "engine/joint.hpp"
#include "object/request.hpp"

namespace headway::object {

void Exchange::finish(Rank& rank, engine::Op& op)
{
    settle(rank, *receive_);
    op.status_source = receive_->status_source;
    op.status_tag = receive_->status_tag;
    op.status_bytes = receive_->status_bytes;
    op.is_cancelled = receive_->is_cancelled;
    op.order = receive_->order;
    op.error = receive_->error != engine::OpError::none ? receive_->error : send_->error;
    settle(rank, *send_);
    engine::Driver& driver = *rank.instance_of(op).driver;
    driver.destroy_op(receive_);
    driver.destroy_op(send_);
}

void join_exchange(engine::Driver& driver, engine::Op* joint, engine::Op* send, engine::Op* receive)
{
    set_keep(*joint, new Exchange(send, receive));
    engine::add_part(joint, send);
    engine::add_part(joint, receive);
    engine::seal_joint(driver, joint);
}

}  // namespace headway::object

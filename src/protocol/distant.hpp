// SPDX-License-Identifier: Apache-2.0
//
// Long messages between nodes: an offer travels; its receiver reads the bytes out of the sender's
// memory where the network can, and says so, else asks, and the sender sends them in frames.
// Nothing that comes from another node is believed: ops are named by tickets, sizes are checked,
// and what breaks the rules ends the job.
#pragma once

#include "engine/driver.hpp"
#include "protocol/offer.hpp"

namespace headway::protocol {

/// Makes `send`, whose receiver is on another node, an offer. Ends the job where the node heap has
/// no room for its ticket.
void offer_to_distant(engine::Driver& driver, engine::Op* send);

/// The offer in a frame from another node.
DistantOffer read_offer(engine::Driver& driver, const transport::Frame& frame);

/// Asks for an offered message of `sender` that `receive` has matched.
void pull_distant(engine::Driver& driver, engine::Op* receive, const transport::FrameHeader& header,
                  const DistantOffer& offer, std::uint32_t sender);
/// Handler of distant_request: one of this rank's messages is wanted.
void take_request(engine::Driver& driver, const transport::Frame& frame, std::uint32_t sender);

/// Handler of distant_bytes.
void take_bytes(engine::Driver& driver, const transport::Frame& frame, std::uint32_t sender);

/// Poller: moves long messages to and from other nodes; the number of events.
int move_distant(engine::Driver& driver);

}  // namespace headway::protocol

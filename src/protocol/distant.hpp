// SPDX-License-Identifier: Apache-2.0
//
// Long messages between nodes: an offer travels. Where the network can hold them on their way, the
// bytes leave with it (Port::push), and the receiver says where they go. Else, or where too many
// are on their way, it reads them out of the sender's memory where the network can, and says so, or
// asks, and the sender sends them in frames.
// Nothing that comes from another node is believed: ops are named by tickets, sizes are checked,
// and what breaks the rules ends the job.
#pragma once

#include "engine/driver.hpp"
#include "protocol/offer.hpp"

namespace headway::protocol {

/// When a send is complete.
enum class Completion : std::uint8_t {
    sent,     ///< its memory is the program's again
    matched,  ///< its receive has begun, too (MPI_Ssend, MPI-5.0 section 3.4)
};

/// Makes `send`, whose receiver is on another node, an offer. Ends the job where the node heap has
/// no room for it.
void offer_to_distant(engine::Driver& driver, engine::Op* send, Completion completion);

/// After its offer was posted: what need not be asked for leaves now, as far as there is room. Ops
/// may be complete then, and gone.
void push_offered(engine::Driver& driver);

/// The offer in a frame from another node.
DistantOffer read_offer(engine::Driver& driver, const transport::Frame& frame);

/// Takes note of an offered message of `sender` that has no receive yet.
void leave_distant(engine::Driver& driver, const DistantOffer& offer, std::uint32_t sender);

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

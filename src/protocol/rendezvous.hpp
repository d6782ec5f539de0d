// SPDX-License-Identifier: Apache-2.0
//
// Long messages. The receiver has the sender's offer and fetches the bytes the best way that holds
// for the pair: a plain copy where it can address them, one copy across processes where the system
// allows it, else a pipe: chunks in the node heap that the sender fills and the receiver drains.
#pragma once

#include "engine/driver.hpp"
#include "protocol/offer.hpp"

namespace headway::protocol {

/// Fetches an offered message into a matched receive. Completes both ops, now or later.
void pull(engine::Driver& driver, engine::Op* receive, const transport::FrameHeader& header,
          const Offer& offer);

/// Handler of pipe_open: the receiver of one of this rank's offers asks for a pipe.
void take_pipe_opening(engine::Driver& driver, const transport::Frame& frame, std::uint32_t sender);

/// Poller: fills and drains the rank's pipes; the number of chunks moved.
int move_pipes(engine::Driver& driver);

}  // namespace headway::protocol

// SPDX-License-Identifier: Apache-2.0
//
// What the engine records of a rank in an observed job (HEADWAY_TRACE, HEADWAY_STATS). Callers find
// the driver's tracer not to be null, except where it says otherwise; in other jobs nothing here
// runs.
#pragma once

#include <cstdint>

#include "engine/driver.hpp"

namespace headway::engine {

/// Gives the calling thread a ring in the driver's rank; known threads keep theirs. Where the heap
/// has no room, or the rank has threads_observed_max already, the thread stays unobserved and is
/// counted. Requires: the driver's rank is held (its lock, or its ownership word).
void observe_thread(Driver& driver, observe::ThreadKind kind);

/// A call of the application on the calling thread began; nothing is recorded of a thread without a
/// ring.
void begin_call(Driver& driver, std::uint16_t function, std::int64_t begin_ns);
/// It ends now. The tracer may be null: the rank is not observed any more.
void end_call(Driver& driver, std::uint16_t function, std::int64_t begin_ns);

/// A message leaves for `peer`. Gives its header the number by which both ends name it; counted and
/// recorded by record_posted() once it has left.
/// One that has a number keeps it.
void number_message(Driver& driver, std::uint32_t peer, transport::FrameHeader* header);
/// The number, not 0, of a message to `peer` that has to have one before it leaves.
std::uint32_t take_message_number(Driver& driver, std::uint32_t peer);
void record_posted(Driver& driver, std::uint32_t peer, const transport::FrameHeader& header,
                   std::uint64_t message_bytes, std::int64_t posted_ns);
/// A frame of `sender` that names a message has been taken off its lane.
void record_received(Driver& driver, std::uint32_t sender, const transport::FrameHeader& header,
                     std::uint64_t message_bytes);
/// A receive is about to complete, with its results written.
void record_delivered(observe::Tracer& tracer, const Op& receive);

/// A message has no receive yet, and is kept; or a receive finds one that was kept.
void record_kept(Driver& driver, const transport::FrameHeader& header, std::uint64_t message_bytes);
void record_matched_late(Driver& driver, const transport::FrameHeader& header,
                         std::uint64_t message_bytes);

/// The calling thread of the driver's rank slept inside MPI since begin_ns. The tracer may be null.
void record_sleep(Driver& driver, std::int64_t begin_ns);

/// Begins to observe the driver's rank in a job that is not observed otherwise. Requires the rank's
/// lock; the tracer outlives the driver.
void start_observing(Driver& driver, observe::Tracer& tracer);

/// Ends the observation of the driver's rank: the call that the thread is in ends now. From now on
/// this driver records nothing.
void stop_observing(Driver& driver);

}  // namespace headway::engine

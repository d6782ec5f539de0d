// SPDX-License-Identifier: Apache-2.0
// What the simulator assumes of a machine: a LogGP model with two kinds of ways, in and between
// nodes. Times are picoseconds, so that sums are exact.
//
//   A message takes `overhead` of its sender's CPU and as much of its receiver's.
//   Between nodes it occupies one NIC of the sender's node, then one of the receiver's, each for
//   the longer of its bytes' time and the gap between messages; in between it travels for
//   `latency`. In a node it occupies the receiver's way to memory. Up to eager_bytes its sender
//   goes on at once. A longer one is offered first; between nodes an answer comes back before the
//   bytes leave; its sender goes on when they have left.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headway::study {

using Picoseconds = std::int64_t;

struct Way {
    Picoseconds latency = 0;
    double per_byte = 0.0;  ///< picoseconds
};

struct Machine {
    Picoseconds overhead = 250'000;
    Way between_nodes{1'200'000, 80.0};
    Way in_node{250'000, 100.0};
    Picoseconds message_gap = 10'000;  ///< of one NIC
    std::uint32_t nics = 1;            ///< of a node
    double reduce_per_byte = 150.0;    ///< picoseconds
    double copy_per_byte = 80.0;
    std::uint64_t eager_bytes = 16 * 1024;

    static Picoseconds time_of(double per_byte, std::uint64_t bytes) noexcept
    {
        return std::llround(per_byte * static_cast<double>(bytes));
    }
};

/// Takes "key=value" over; a sentence if that is none. Keys are those of machine_keys().
std::optional<std::string> set_machine(Machine& machine, std::string_view assignment);

/// What can be set, one line a key, for usage texts.
std::string machine_keys();

}  // namespace headway::study

// SPDX-License-Identifier: Apache-2.0
// What the simulator assumes of a machine: a LogGP model with two kinds of ways, in and between
// nodes. Times are picoseconds, so that sums are exact.
//
//   A message takes `overhead` of its sender's CPU and as much of its receiver's.
//   Between nodes it occupies one NIC of the sender's node, then one of the receiver's, each for
//   the longer of its bytes' time and the gap between messages; in between it travels for
//   `latency`. Up to eager_bytes its sender goes on at once. A longer one is offered first; an
//   answer comes back before the bytes leave; its sender goes on when they have left.
//   In a node CPUs move the bytes: up to eager_bytes the sender puts them down, then the receiver
//   takes them up, each at the rate of the way. What is longer is offered; `offer` after both are
//   there, both move it at once, at the rate of `long_per_byte`, and it takes either CPU for the
//   bytes' time.
//   Ranks of a node that are more than its `cores` share them. A core does one thing after another
//   and takes `switch_time` to go from one rank to another; whoever is ready first comes first.
//   What both ends would have done at once, the receiver's core then does alone, in twice the time.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
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
    Way in_node{250'000, 50.0};
    double long_per_byte = 50.0;  ///< of what is offered, in a node
    Picoseconds offer = 0;        ///< in a node
    std::uint32_t cores = 0;      ///< of a node; 0: each rank has one
    Picoseconds switch_time = 0;
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

/// What a number may be at least, and whether it is whole.
enum class Least : std::uint8_t { zero, above_zero, zero_whole, one_whole };

/// A number of a machine that can be set.
struct MachineKey {
    std::string_view name;
    std::string_view about;
    Least least;
    void (*set)(Machine& machine, double value);
    double (*get)(const Machine& machine);
};

std::span<const MachineKey> machine_keys() noexcept;

/// Null: there is none of that name.
const MachineKey* find_machine_key(std::string_view name) noexcept;

/// Takes "key=value" over; a sentence if that is none of machine_keys().
std::optional<std::string> set_machine(Machine& machine, std::string_view assignment);

/// What can be set, one line a key, for usage texts.
std::string text_of_machine_keys();

}  // namespace headway::study

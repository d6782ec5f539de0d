// SPDX-License-Identifier: Apache-2.0
// How the members of a communicator to be agree on its context: its rank 0 picks one from its own
// space and the others learn it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "object/communicator.hpp"
#include "object/group.hpp"
#include "object/rank.hpp"

namespace headway::object {

// Each answers 0 where rank 0 of the new communicator has no context left, and nothing where the
// node heap is exhausted. They block, except start_duplicate.

/// All of `parent` become members, in its order; of an inter-communicator those of both groups.
std::optional<std::uint32_t> agree_for_all(Rank& rank, Communicator& parent);

/// Members are those of `group`; collective over `parent`, where groups of several ranks may differ
/// if they are disjoint. Requires that the group is part of the parent. Answers 0 for others too.
std::optional<std::uint32_t> agree_for_part(Rank& rank, Communicator& parent, const Group& group);

/// Only members call, of which this rank is one: messages of the library's own on `parent`, which
/// `tag` tells from those of other groups under way (MPI-5.0 section 7.4.2).
std::optional<std::uint32_t> agree_in_group(Rank& rank, Communicator& parent, const Group& group,
                                            int tag);

/// Swaps bytes of the library's own, in the driver's instance, with a rank that messages on `comm`
/// can name; both call with the same sizes crossed over and the same tag. Blocks. False: the node
/// heap is exhausted.
bool swap_bytes(engine::Driver& driver, Communicator& comm, int partner, int tag,
                std::span<const std::byte> given, std::span<std::byte> taken);

/// Starts agree_for_all for a communicator that was created without a context: it has one when the
/// op's owner has completed it. Where the duplicate is `made_with_info`, which all members say
/// alike, they settle besides whether its messages are spread by their tags. Takes a reference on
/// `made`. Null: the node heap is exhausted.
engine::Op* start_duplicate(Rank& rank, Communicator& parent, Communicator& made,
                            bool made_with_info);

}  // namespace headway::object

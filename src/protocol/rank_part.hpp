// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "engine/rank_state.hpp"
#include "protocol/lookout.hpp"
#include "protocol/match.hpp"
#include "protocol/tickets.hpp"

namespace headway::protocol {

struct Arrival;
struct Departure;

/// What the protocols keep for a rank in the node heap. Belongs to the rank's executor.
struct RankPart {
    explicit RankPart(const MatchTable& table) noexcept : match(table) {}

    MatchTable match;
    std::uint64_t unexpected_bytes = 0;  ///< held for eager messages without a receive
    Tickets tickets;                     ///< ops that ranks of other nodes know
    Departure* departures = nullptr;     ///< messages that leave for other nodes, the oldest first
    Arrival* arrivals = nullptr;         ///< messages that come from other nodes, likewise
    Lookout lookout;                     ///< of receives of point-to-point messages
    engine::OpList unposted;             ///< receives that were started to be posted later

    bool has_distant() const noexcept { return departures != nullptr || arrivals != nullptr; }
};

inline RankPart& part_of(engine::RankState& rank) noexcept
{
    return *static_cast<RankPart*>(rank.protocol);
}

}  // namespace headway::protocol

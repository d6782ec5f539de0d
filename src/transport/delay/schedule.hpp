// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/mix.hpp"

namespace headway::transport::delay {

/// Of one lane: what its sender has to remember so that its frames stay in order. Belongs to the
/// sender's executor.
struct LaneOrder {
    std::int64_t newest_ns = 0;  ///< when the newest frame may be seen
    std::uint64_t frames = 0;    ///< posted so far
};

/// When a frame may be seen: the one rule for transport `delay` (all frames later by the same time)
/// and for transport `sim` (each by a time of its own, drawn from a seed, so that frames of
/// different senders overtake each other). Plain data; equal in all processes of a node.
struct Schedule {
    std::int64_t delay_ns = 0;   ///< of all frames
    std::int64_t jitter_ns = 0;  ///< the most that is drawn beside it
    std::uint64_t seed = 0;      ///< of what is drawn

    /// False: frames are seen at once and carry no stamps.
    bool withholds() const noexcept { return delay_ns != 0 || jitter_ns != 0; }

    /// The moment for the next frame from `sender` to `receiver`, posted now; never before that of
    /// the frame before it.
    std::int64_t due_ns(std::int64_t now_ns, std::uint32_t sender, std::uint32_t receiver,
                        const LaneOrder& order) const noexcept
    {
        return std::max(order.newest_ns,
                        now_ns + delay_ns + drawn_ns(sender, receiver, order.frames));
    }

    /// The frame for which due_ns() was asked has been posted.
    static void note_posted(LaneOrder& order, std::int64_t due_ns) noexcept
    {
        order.newest_ns = due_ns;
        ++order.frames;
    }

  private:
    /// From the whole range, its half, its quarter, ... with the same chance: most frames are quick
    /// beside a few that are slow.
    std::int64_t drawn_ns(std::uint32_t sender, std::uint32_t receiver,
                          std::uint64_t frame) const noexcept
    {
        if (jitter_ns == 0) {
            return 0;
        }
        std::uint64_t x = seed * 0x9E3779B97F4A7C15U + frame;
        for (const std::uint64_t part : {std::uint64_t{sender} << 32 | receiver, seed}) {
            x = base::mix(x) + part;
        }
        x = (x ^ (x >> 32)) * 0xBF58476D1CE4E5B9U;
        x ^= x >> 29;
        const auto range_ns = static_cast<std::uint64_t>(jitter_ns) >> (x & 7);
        return static_cast<std::int64_t>((x >> 3) % (range_ns + 1));
    }
};

}  // namespace headway::transport::delay

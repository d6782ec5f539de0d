// SPDX-License-Identifier: Apache-2.0
//
// How the receiver of a lane copies a frame while its sender writes it.
//
// Asking for lines ahead takes less on some processors, memcpy() on others (docs/design/011). Who
// copies is in the way of who writes, so what a way costs is seen by both together: from the first
// step until the frame is whole.
#pragma once

#include <cstdint>

#include "platform/cpu.hpp"
#include "transport/shm/cost_choice.hpp"
#include "transport/shm/lane_frame.hpp"

namespace headway::transport::shm {

/// How a frame is copied, and since when.
struct EarlyWay {
    bool asks_ahead = false;  ///< by platform::copy_cached(), else by memcpy()
    std::uint64_t begin = 0;  ///< in ticks, where it is measured what that costs; else 0
};

/// Plain data. Thread rule: the receiver's executor.
class EarlyChoice {
  public:
    /// How to copy a frame of which nothing was copied before.
    EarlyWay next(const EarlyFrame& frame) noexcept
    {
        if (!frame.is_cached || frame.early_bytes < chosen_bytes_min) {
            return {frame.is_cached, 0};
        }
        const bool asks_ahead = !choice_.next_takes_second();
        return {asks_ahead, choice_.is_measured() ? platform::ticks() : 0};
    }

    /// That frame is whole, and so many bytes of it were copied meanwhile.
    void note(EarlyWay way, std::uint32_t bytes) noexcept
    {
        if (way.begin != 0) {
            choice_.note(!way.asks_ahead, bytes, platform::ticks() - way.begin);
        }
    }

  private:
    static constexpr std::uint32_t chosen_bytes_min = 4096;

    /// Seen of 64 KiB: asking ahead, the first way, took 0.93 of the other's time on a Zen 4, 1.15
    /// and 1.2 on a Zen 5.
    CostChoice choice_{{1, 1}};
};

}  // namespace headway::transport::shm

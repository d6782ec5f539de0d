// SPDX-License-Identifier: Apache-2.0
//
// In how many steps the sender of a lane writes a payload beside the cells (docs/design/011).
//
// A receiver who wants a frame copies each step while the next one is written. But announcing a
// step costs a way of the line that both sides look at, and a receiver who is behind, or busy with
// a payload of his own, copies nothing early. Measured with 4 to 16 KiB: a stream of them takes up
// to three times as long in steps between far cores and half as long again between near ones; one
// way alone gains a fifth by steps of 4 KiB between near cores, and, where they are streamed, a
// tenth by steps of 8 KiB between far ones.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "platform/cpu.hpp"

namespace headway::transport::shm {

/// Plain data. Thread rule: the sender's executor.
class StepChoice {
  public:
    /// Payloads up to here are written in one step, without asking.
    static constexpr std::size_t one_step_bytes_max = 2048;
    /// Longer steps leave the receiver waiting for the first one.
    static constexpr std::size_t step_bytes_max = 16 * 1024;

    /// Bytes of each step but the last of a payload above one_step_bytes_max; a multiple of cache
    /// lines, or the payload's length for a single one. `answers` counts what the receiver has
    /// said, by which he is known to wait for an answer, perhaps; `is_near` is
    /// StoreChoice::is_near().
    std::size_t step_bytes(std::size_t payload_bytes, bool streams, std::uint64_t answers,
                           bool is_near) noexcept
    {
        const bool has_answered = std::exchange(answers_, answers) != answers;
        if (payload_bytes <= hurried_bytes_max && !(has_answered && (is_near || streams))) {
            return payload_bytes;
        }
        const Steps& steps = streams                              ? streaming
                             : payload_bytes <= hurried_bytes_max ? hurried
                                                                  : plain;
        constexpr std::size_t line = platform::cache_line_bytes;
        const std::size_t step = (payload_bytes / steps.wanted + line - 1) / line * line;
        return std::clamp(step, steps.bytes_min, step_bytes_max);
    }

  private:
    struct Steps {
        std::size_t wanted;
        std::size_t bytes_min;  ///< shorter ones cost more than they hide
    };

    /// Payloads up to here go in steps only to a receiver who may wait for them near by.
    static constexpr std::size_t hurried_bytes_max = 16 * 1024;
    /// Four of 16 KiB take longer than two (docs/design/011).
    static constexpr Steps hurried{2, 4096};
    static constexpr Steps plain{4, 4096};
    /// Each ends with a fence.
    static constexpr Steps streaming{4, 8192};

    std::uint64_t answers_ = 0;
};

}  // namespace headway::transport::shm

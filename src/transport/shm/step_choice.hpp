// SPDX-License-Identifier: Apache-2.0
//
// In how many steps the sender of a lane writes a payload beside the cells (docs/design/011).
//
// A receiver who wants a frame copies each step while the next one is written. But announcing a
// step costs a way of the line that both sides look at, and a receiver who is behind, or busy with
// a payload of his own, copies nothing early. Measured with 4 to 16 KiB: a stream of them takes up
// to three times as long in steps between far cores and half as long again between near ones; one
// way alone gains a fifth by steps up to 8 KiB between near cores, and loses between far ones.
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
    /// Payloads up to here are written in one step, and not measured.
    static constexpr std::size_t one_step_bytes_max = 1024;
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
        const bool in_steps = payload_bytes > hurried_bytes_max ? payload_bytes > single_bytes_max
                                                                : has_answered && is_near;
        if (!in_steps) {
            return payload_bytes;
        }
        constexpr std::size_t line = platform::cache_line_bytes;
        const std::size_t step = (payload_bytes / steps_wanted + line - 1) / line * line;
        return std::clamp(step, streams ? streaming_step_bytes_min : step_bytes_min,
                          step_bytes_max);
    }

  private:
    /// Payloads up to here go in steps to a receiver who may wait for them near by.
    static constexpr std::size_t hurried_bytes_max = 8 * 1024;
    /// Longer ones go in one step up to here, and in steps from here on, whoever receives them.
    static constexpr std::size_t single_bytes_max = 16 * 1024;
    /// Shorter steps cost more than they hide.
    static constexpr std::size_t step_bytes_min = 2048;
    /// A step of streaming stores ends with a fence.
    static constexpr std::size_t streaming_step_bytes_min = 4096;
    static constexpr std::size_t steps_wanted = 4;

    std::uint64_t answers_ = 0;
};

}  // namespace headway::transport::shm

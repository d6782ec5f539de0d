// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "engine/op.hpp"
#include "engine/wait.hpp"
#include "platform/scheduler.hpp"

namespace headway::engine {

/// What a thread in the one wait waits for, for the report of a simulated team that stands still.
struct WaitNote : platform::WaitNote {
    WaitNote(std::span<Op* const> waited_ops, WaitReason wait_reason) noexcept
        : platform::WaitNote{&describe_wait}, ops(waited_ops), reason(wait_reason)
    {
    }

    /// "a message from rank 1 with tag 7 and a collective". Requires: nobody else runs.
    static std::string describe_wait(const platform::WaitNote& note);

    std::span<Op* const> ops;
    WaitReason reason;
};

}  // namespace headway::engine

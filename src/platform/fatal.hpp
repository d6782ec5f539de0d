// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace headway::platform {

/// What ends the job when this process cannot go on. Set once by the layer that owns the launcher's
/// connection; until then the process just exits.
using JobEnder = void (*)(int code, std::string_view sentence);
void set_job_ender(JobEnder ender) noexcept;

/// For what other processes find out by themselves: leaves them time to say so too.
struct Pauses {
    std::chrono::milliseconds before{0};  ///< the sentence: who ends the job may be quicker
    std::chrono::milliseconds after{0};   ///< it, until the job is ended
};

/// Prints `headway: rank <rank>: <sentence>` to standard error and ends the job. For states that no
/// caller can be told of; everything else is an error code. Pass negative for "no rank yet". Of
/// threads that come here one says so, and ends the process.
[[noreturn]] void fatal(std::int64_t rank, std::string_view sentence, Pauses pauses = {});

}  // namespace headway::platform

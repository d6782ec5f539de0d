// SPDX-License-Identifier: Apache-2.0
//
// The trace of a job as one file in Chrome's trace_event format (JSON), which Perfetto and
// `headway report` read. A process of the file is a rank; calls and spans are complete events,
// messages are flows from the call that posted them to the one that got them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "observe/tracer.hpp"

namespace headway::observe {

/// What a rank has to tell.
struct RankTrace {
    std::uint32_t rank = 0;
    std::vector<const Ring*> rings;  ///< in the order in which they were made
    std::vector<std::pair<std::string_view, std::uint64_t>> counters;
};

struct JobTrace {
    std::string_view version;
    std::string_view end;  ///< how the job ended: "finalize" or "abort"
    FunctionName function_name = nullptr;
    std::vector<RankTrace> ranks;
};

/// Empties the file, or makes it. Failure: a clause that says why not.
base::Outcome prepare_trace_file(const std::string& path);

/// Writes the trace. Threads may go on recording; what they add meanwhile may be missing.
/// Failure: a clause that says why it is not whole.
base::Outcome write_trace_file(const std::string& path, const JobTrace& job);

}  // namespace headway::observe

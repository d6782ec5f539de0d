// SPDX-License-Identifier: Apache-2.0
// A plan as a command line of the host program, for launchers that start it on other machines.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "host_plan.hpp"

namespace headway::launch {

/// What the host program is to be given for a plan of one program, as many of whose ranks are in
/// every process. Environment and directory are the process's own, and ranks are not bound.
std::vector<std::string> to_words(const HostPlan& plan);

/// The plan that such words stand for; its program gets `environment`. Failure: one sentence.
base::Result<HostPlan> read_words(std::span<const std::string> words,
                                  std::vector<std::string> environment);

}  // namespace headway::launch

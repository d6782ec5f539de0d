// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/host_plan.hpp"
#include "options.hpp"

namespace headway::launch {

/// Who runs user-level ranks, and how, as the options say.
inline HostPlan::Crew crew_of(const Options& options)
{
    const Scheduling& scheduling = options.scheduling;
    return {.is_wanted = options.rank_host == RankHost::ult,
            .workers = scheduling.workers,
            .seed = scheduling.seed,
            .binds_ranks = scheduling.binds_ranks,
            .pins_workers = options.binding != Binding::none,
            .sleeps_suspend = scheduling.sleeps_suspend,
            .reports = scheduling.reports};
}

}  // namespace headway::launch

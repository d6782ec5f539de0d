// SPDX-License-Identifier: Apache-2.0
#include <headway/interface.h>

#include "object/rank_access.hpp"
#include "object/startup.hpp"
#include "platform/current_rank.hpp"
#include "platform/scheduler.hpp"

namespace headway::abi {
namespace {

/// Relaxed: statistics of one writer, each by itself.
std::uint64_t value(const std::atomic<std::uint64_t>& counter) noexcept
{
    return counter.load(std::memory_order_relaxed);
}

int read_counters(headway_counters* counters)
{
    object::RankAccess* access = object::current_rank();
    if (access == nullptr || access->phase != object::Phase::running) {
        return -1;
    }
    object::Rank& rank = object::as_rank(*access);
    *counters = {};
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        const engine::RankCounters& own = rank.instance(number).driver->rank().counters;
        counters->frames_posted += value(own.frames_posted);
        counters->frames_received += value(own.frames_received);
        counters->retries += value(own.retries);
        counters->bytes_copied_across += value(own.bytes_copied_across);
        counters->bytes_piped += value(own.bytes_piped);
        counters->parks += value(own.parks);
    }
    return 0;
}

int read_memory(headway_memory* memory)
{
    object::RankAccess* access = object::current_rank();
    if (access == nullptr || access->phase != object::Phase::running) {
        return -1;
    }
    engine::Driver& driver = object::as_rank(*access).driver();
    const engine::RankCounters& own = driver.rank().counters;
    *memory = {driver.allocator().slab_bytes_in_use(), value(own.unexpected_bytes),
               value(own.unexpected_bytes_max), value(own.offers_for_room)};
    return 0;
}

int read_progress(headway_progress* progress)
{
    object::RankAccess* access = object::current_rank();
    if (access == nullptr || access->phase != object::Phase::running) {
        return -1;
    }
    engine::Driver& driver = object::as_rank(*access).driver();
    const engine::RankCounters& own = driver.rank().counters;
    const engine::ProcessEntry& entry = driver.node().own_entry();
    *progress = {value(own.times_helped), value(own.calls_for_help), value(entry.agent_wakes),
                 value(entry.agent_turns)};
    return 0;
}

std::int64_t open_operations()
{
    platform::scheduling_point();
    object::RankAccess* access = object::current_rank();
    if (access == nullptr || access->phase != object::Phase::running) {
        return -1;
    }
    object::Rank& rank = object::as_rank(*access);
    std::int64_t open = 0;
    for (std::uint32_t number = 0; number < rank.instance_count(); ++number) {
        open += rank.instance(number).driver->rank().open_ops.count();
    }
    return open;
}

int leave_rank()
{
    switch (object::leave_rank()) {
        case object::RankEnd::inside:
            return HEADWAY_RANK_INSIDE;
        case object::RankEnd::finalized:
            return HEADWAY_RANK_FINALIZED;
        case object::RankEnd::missed:
            return HEADWAY_RANK_MISSED;
        default:
            return HEADWAY_RANK_OUTSIDE;
    }
}

}  // namespace
}  // namespace headway::abi

extern "C" const struct headway_interface_1 headway_interface_1 = {
    sizeof(struct headway_interface_1),
    &headway::object::run_team,
    &headway::abi::read_counters,
    &headway::abi::read_memory,
    &headway::abi::read_progress,
    &headway::abi::open_operations,
    &headway::object::host_ranks,
    &headway::object::enter_rank,
    &headway::abi::leave_rank,
    &headway::object::end_hosted_job,
    &headway::object::close_ranks,
    &headway::object::schedule_ranks,
    &headway::object::name_program,
    &headway::platform::current_rank,
    &headway::platform::set_current_rank,
};

// SPDX-License-Identifier: Apache-2.0
#include "placement.hpp"

#include <hwloc.h>
#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace headway::launch {
namespace {

struct TopologyDeleter {
    void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct BitmapDeleter {
    void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};

std::string join(const std::vector<int>& numbers)
{
    std::string text;
    for (const int number : numbers) {
        text += (text.empty() ? "" : ",") + std::to_string(number);
    }
    return text;
}

Place place_on(const Core* first, std::size_t count)
{
    Place place;
    std::vector<int> indices;
    for (const Core* core = first; core != first + count; ++core) {
        indices.push_back(core->index);
        place.cpus.insert(place.cpus.end(), core->cpus.begin(), core->cpus.end());
    }
    place.description = "bound to core " + join(indices) + " (cpu " + join(place.cpus) + ")";
    return place;
}

/// More cpus than this cannot be among the allowed ones; saves reading the topology.
bool is_certainly_too_many(std::size_t wanted)
{
    return wanted > static_cast<std::size_t>(usable_cpu_count());
}

}  // namespace

std::vector<Core> usable_cores()
{
    hwloc_topology_t raw = nullptr;
    if (hwloc_topology_init(&raw) != 0) {
        return {};
    }
    const std::unique_ptr<hwloc_topology, TopologyDeleter> topology(raw);
    const std::unique_ptr<hwloc_bitmap_s, BitmapDeleter> allowed(hwloc_bitmap_alloc());
    if (hwloc_topology_load(raw) != 0 || !allowed ||
        hwloc_get_cpubind(raw, allowed.get(), HWLOC_CPUBIND_PROCESS) != 0) {
        return {};
    }
    std::vector<Core> cores;
    const int count = hwloc_get_nbobjs_by_type(raw, HWLOC_OBJ_CORE);
    for (int index = 0; index < count; ++index) {
        const hwloc_obj* core =
            hwloc_get_obj_by_type(raw, HWLOC_OBJ_CORE, static_cast<unsigned>(index));
        Core usable{static_cast<int>(core->os_index), {}};
        const int last = hwloc_bitmap_last(core->cpuset);
        for (int cpu = hwloc_bitmap_first(core->cpuset); cpu >= 0 && cpu <= last;
             cpu = hwloc_bitmap_next(core->cpuset, cpu)) {
            if (hwloc_bitmap_isset(allowed.get(), static_cast<unsigned>(cpu)) != 0) {
                usable.cpus.push_back(cpu);
            }
        }
        if (!usable.cpus.empty()) {
            cores.push_back(std::move(usable));
        }
    }
    return cores;
}

Share share_of(int total, int parts, int index) noexcept
{
    const auto begin = [&](std::int64_t part) {
        return static_cast<int>(part * std::int64_t{total} / parts);
    };
    return {begin(index), begin(index + std::int64_t{1}) - begin(index)};
}

int usable_cpu_count() noexcept
{
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    return ::sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

base::Result<std::vector<Place>> place_processes(Binding binding, int process_count)
{
    const auto processes = static_cast<std::size_t>(process_count);
    const std::vector<Core> cores = binding == Binding::none ? std::vector<Core>() : usable_cores();
    if (cores.size() < processes) {
        if (binding == Binding::core) {
            return base::Failure{std::to_string(process_count) + " processes do not fit the " +
                                 std::to_string(cores.size()) +
                                 " cores mpiexec may use; take fewer, or --bind-to none"};
        }
        return std::vector<Place>(processes, Place{{}, "not bound"});
    }
    std::vector<Place> places;
    for (int index = 0; index < process_count; ++index) {
        const Share share = share_of(static_cast<int>(cores.size()), process_count, index);
        places.push_back(
            place_on(cores.data() + share.first, static_cast<std::size_t>(share.count)));
    }
    return places;
}

base::Result<std::vector<Place>> place_ranks(Binding binding, int rank_count, int cpus_per_rank)
{
    const auto ranks = static_cast<std::size_t>(rank_count);
    const auto width = static_cast<std::size_t>(cpus_per_rank);
    if (binding == Binding::none) {
        return std::vector<Place>(ranks, Place{{}, "not bound"});
    }
    std::vector<Core> cores;
    if (binding == Binding::core || !is_certainly_too_many(ranks * width)) {
        cores = usable_cores();
    }
    if (cores.size() < ranks * width) {
        if (binding == Binding::core) {
            return base::Failure{std::to_string(ranks) + " ranks with " + std::to_string(width) +
                                 " cores each do not fit the " + std::to_string(cores.size()) +
                                 " cores mpiexec may use; take fewer, or --bind-to none"};
        }
        return std::vector<Place>(ranks, Place{{}, "not bound (more ranks than cores)"});
    }
    std::vector<Place> places;
    places.reserve(ranks);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        places.push_back(place_on(cores.data() + rank * width, width));
    }
    return places;
}

}  // namespace headway::launch

// SPDX-License-Identifier: Apache-2.0
#include "engine/peer_reading.hpp"

#include <algorithm>

#include "engine/driver.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

namespace {

/// Of another process's memory, what is combined without a job.
constexpr std::size_t short_reduction_bytes = 4 * 1024;

/// Of memory of this process, what a call that blocks copies or combines by itself: a job for
/// others to share would cost more.
constexpr std::uint64_t bytes_read_alone = 128 * 1024;

/// Most bytes that are read at once, without a job.
std::uint64_t short_read_max(Driver& driver, const GraphInstance& run, bool is_here)
{
    const std::uint64_t usual = driver.node().knobs.copy_at_once;
    return is_here && run.is_awaited && driver.is_owner() ? std::max(usual, bytes_read_alone)
                                                          : usual;
}

}  // namespace

Combination combination_of(const GraphInstance& run, const GraphNode& node)
{
    if (node.kind != NodeKind::peer_reduce) {
        return {};
    }
    return {.op = run.reduction.op,
            .kind = run.reduction.kind,
            .element_bytes = static_cast<std::uint8_t>(run.layout(node.target).element_bytes)};
}

bool read_at_once(Driver& driver, const GraphInstance& run, const GraphNode& node,
                  std::span<std::byte> bytes, transport::Place source)
{
    Node& here = driver.node();
    const bool is_here =
        source.process == here.own_process || source.process == transport::Place::everywhere;
    if (bytes.size() > short_read_max(driver, run, is_here) ||
        !here.peer_memory.can_reach(source.process)) {
        return false;
    }
    if (node.kind == NodeKind::peer_copy) {
        return here.peer_memory.copy(driver.place_of(bytes.data()), source, bytes.size()) ==
               transport::CopyOutcome::done;
    }
    if (!driver.is_local()) {
        return false;
    }
    const std::byte* incoming = source.address;
    alignas(platform::cache_line_bytes) std::byte load[short_reduction_bytes];
    if (!is_here) {
        if (bytes.size() > sizeof load ||
            here.peer_memory.copy({load, here.own_process}, source, bytes.size()) !=
                transport::CopyOutcome::done) {
            return false;
        }
        incoming = load;
    }
    combine(combination_of(run, node), 0, bytes.size(), incoming, bytes.data());
    return true;
}

}  // namespace headway::engine

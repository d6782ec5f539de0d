// SPDX-License-Identifier: Apache-2.0
#include "engine/graph_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "engine/driver.hpp"
#include "platform/cpu.hpp"

namespace headway::engine {

// Where both sides list their blocks, a rank may tell itself two lengths for one block.
void copy_node(Driver& driver, GraphInstance* run, const GraphNode& node)
{
    const std::span<std::byte> target = run->bytes(node.target);
    const std::span<std::byte> source = run->bytes(node.source);
    std::size_t bytes = source.size();
    if (bytes > target.size()) {
        bytes = target.size();
        run->error = OpError::truncated;
    }
    if (bytes == 0) {
        return;
    }
    if (driver.is_local()) [[likely]] {
        std::memmove(target.data(), source.data(), bytes);
        return;
    }
    const auto outcome = driver.node().peer_memory.copy(driver.place_of(target.data()),
                                                        driver.place_of(source.data()), bytes);
    if (outcome != transport::CopyOutcome::done) {
        run->error = OpError::bad_address;
    }
}

namespace {

/// For a rank of another process: operands come here and the result goes back, a part at a time.
/// The same kernel on the same elements, so the result is the same to the bit.
void reduce_far(Driver& driver, GraphInstance* run, const GraphNode& node)
{
    constexpr std::uint64_t part_bytes = 8 * 1024;
    alignas(platform::cache_line_bytes) std::byte in[part_bytes];
    alignas(platform::cache_line_bytes) std::byte inout[part_bytes];
    const BlockLayout& layout = run->layout(node.target);
    const std::uint64_t elements = layout.elements(node.target);
    const std::uint64_t part = part_bytes / layout.element_bytes;
    for (std::uint64_t first = 0; first < elements; first += part) {
        const std::uint64_t count = std::min(part, elements - first);
        const std::uint64_t bytes = count * layout.element_bytes;
        std::byte* const target = run->address(node.target) + first * layout.element_bytes;
        const std::byte* source = run->address(node.source) + first * layout.element_bytes;
        if (!driver.read_memory(in, source, bytes) || !driver.read_memory(inout, target, bytes)) {
            run->error = OpError::bad_address;
            return;
        }
        (void)run_reduction(driver, run->reduction, in, inout, count);
        if (!driver.write_memory(target, inout, bytes)) {
            run->error = OpError::bad_address;
            return;
        }
    }
}

}  // namespace

void reduce_node(Driver& driver, GraphInstance* run, const GraphNode& node)
{
    if (!driver.is_local()) [[unlikely]] {
        reduce_far(driver, run, node);
        return;
    }
    const std::uint64_t elements = run->layout(node.target).elements(node.target);
    if (!run_reduction(driver, run->reduction, run->address(node.source), run->address(node.target),
                       elements)) {
        run->error = OpError::user_function;
    }
}

}  // namespace headway::engine

// SPDX-License-Identifier: Apache-2.0
#include "engine/graph_instance.hpp"

#include <algorithm>
#include <iterator>
#include <new>

namespace headway::engine {

namespace {

/// Lays the caller's tables down behind the run and makes the layout of each space.
void set_layouts(GraphInstance* run, const GraphArguments& arguments)
{
    const GraphTemplate& stored = *run->stored;
    const BlockLayout as_graph_says{.blocks = stored.blocks,
                                    .block_count = stored.block_count,
                                    .element_bytes = arguments.element_bytes,
                                    .count = arguments.count};
    BlockRange* table = run->tables();
    for (std::size_t space = 0; space < std::size(run->layouts); ++space) {
        const std::span<const BlockRange> listed = arguments.listed[space];
        BlockLayout& layout = run->layouts[space];
        layout = as_graph_says;
        if (listed.empty()) [[likely]] {
            continue;
        }
        layout.blocks = Blocks::listed;
        layout.block_count = static_cast<std::uint32_t>(listed.size());
        layout.count = static_cast<std::uint64_t>(listed.back().offset) + listed.back().count;
        layout.table = table;
        table = std::copy(listed.begin(), listed.end(), table);
    }
}

}  // namespace

std::uint64_t scratch_bytes_of(const GraphInstance& run)
{
    const std::uint32_t blocks = run.stored->scratch_blocks;
    return blocks == 0 ? 0 : run.size_bytes({Space::scratch, 0, blocks});
}

void set_up(GraphInstance* run, const GraphTemplate& stored, const GraphArguments& arguments)
{
    run->stored = &stored;
    set_layouts(run, arguments);
    run->reduction = arguments.reduction;
    run->remaining = stored.node_count;
    auto* send = static_cast<std::byte*>(const_cast<void*>(arguments.send));
    run->spaces[static_cast<std::size_t>(Space::send)] = send;
    run->spaces[static_cast<std::size_t>(Space::receive)] =
        static_cast<std::byte*>(arguments.receive);
}

GraphInstance* create_run(Driver& driver, const GraphTemplate& stored,
                          const GraphArguments& arguments)
{
    memory::Allocator& allocator = driver.allocator();
    std::size_t bytes =
        sizeof(GraphInstance) + std::size_t{2} * stored.node_count * sizeof(std::uint32_t);
    for (const std::span<const BlockRange> listed : arguments.listed) {
        bytes += listed.size_bytes();
    }
    const std::size_t peer_spaces = bytes;
    bytes += (stored.peer_count + (stored.publishes ? 1U : 0U)) * sizeof(PublishedSpaces);
    void* place = allocator.allocate(bytes);
    Op* completion = driver.create_op(OpKind::graph);
    if (place == nullptr || completion == nullptr) {
        allocator.free(place);
        allocator.free(completion);
        return nullptr;
    }
    auto* run = new (place) GraphInstance;
    run->counters = reinterpret_cast<std::uint32_t*>(run + 1);
    run->completion = completion;
    set_up(run, stored, arguments);
    run->peer_spaces =
        reinterpret_cast<PublishedSpaces*>(static_cast<std::byte*>(place) + peer_spaces);
    if (const std::uint64_t scratch_bytes = scratch_bytes_of(*run); scratch_bytes != 0) {
        void* scratch = allocator.allocate(scratch_bytes);
        run->spaces[static_cast<std::size_t>(Space::scratch)] = static_cast<std::byte*>(scratch);
        if (scratch == nullptr) {
            allocator.free(run);
            allocator.free(completion);
            return nullptr;
        }
    }
    if (stored.publishes) {
        auto* const own = new (run->peer_spaces + stored.peer_count) PublishedSpaces;
        std::ranges::copy(run->spaces, own->spaces);
        own->bytes = run->own_bytes();
        own->process = driver.rank().process;
    }
    return run;
}

void count_dependencies(GraphInstance* run)
{
    const GraphTemplate& stored = *run->stored;
    for (std::uint32_t index = 0; index < stored.node_count; ++index) {
        run->waiting()[index] = stored.dependencies[index];
        if (stored.dependencies[index] == 0) {
            run->ready()[run->ready_tail++] = index;
        }
    }
}

}  // namespace headway::engine

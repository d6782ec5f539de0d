// SPDX-License-Identifier: Apache-2.0
#include "engine/graph_instance.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

#include "engine/driver.hpp"

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

void take_arguments(GraphInstance* run, const GraphArguments& arguments)
{
    run->reduction = arguments.reduction;
    auto* send = static_cast<std::byte*>(const_cast<void*>(arguments.send));
    run->spaces[static_cast<std::size_t>(Space::send)] = send;
    run->spaces[static_cast<std::size_t>(Space::receive)] =
        static_cast<std::byte*>(arguments.receive);
}

}  // namespace

std::uint64_t scratch_bytes_of(const GraphInstance& run)
{
    const std::uint32_t blocks = run.stored->scratch_blocks;
    return blocks == 0 ? 0 : run.size_bytes({Space::scratch, 0, blocks});
}

void set_up(GraphInstance* run, GraphTemplate& stored, const GraphArguments& arguments)
{
    run->stored = &stored;
    set_layouts(run, arguments);
    take_arguments(run, arguments);
}

namespace {

/// Finds room for the scratch of the next run, whose layouts are set. False: the heap is exhausted.
bool find_scratch(Driver& driver, GraphInstance* run)
{
    const std::uint64_t bytes = scratch_bytes_of(*run);
    if (bytes <= run->scratch_room) [[likely]] {
        return true;
    }
    memory::Allocator& allocator = driver.allocator();
    std::byte*& scratch = run->spaces[static_cast<std::size_t>(Space::scratch)];
    allocator.free(scratch);
    scratch = static_cast<std::byte*>(allocator.allocate(bytes));
    run->kept_bytes -= run->scratch_room;
    run->scratch_room = scratch != nullptr ? allocator.usable_bytes(scratch) : 0;
    run->kept_bytes += run->scratch_room;
    return scratch != nullptr;
}

/// What the run tells its peers of its spaces.
void write_own_spaces(Driver& driver, GraphInstance* run)
{
    auto* const own = new (run->peer_spaces + run->stored->peer_count) PublishedSpaces;
    std::ranges::copy(run->spaces, own->spaces);
    own->bytes = run->own_bytes();
    own->process = driver.rank().process;
}

bool lists_blocks(const GraphArguments& arguments)
{
    return !arguments.listed[0].empty() || !arguments.listed[1].empty() ||
           !arguments.listed[2].empty();
}

/// What has tables of its own suits one call.
bool has_tables(const GraphInstance& run)
{
    return std::ranges::any_of(run.layouts,
                               [](const BlockLayout& layout) { return layout.table != nullptr; });
}

/// Without what it needs to run.
GraphInstance* allocate_instance(memory::Allocator& allocator, const GraphTemplate& stored,
                                 const GraphArguments& arguments)
{
    std::size_t bytes =
        sizeof(GraphInstance) + std::size_t{2} * stored.node_count * sizeof(std::uint32_t);
    for (const std::span<const BlockRange> listed : arguments.listed) {
        bytes += listed.size_bytes();
    }
    const std::size_t peer_spaces = bytes;
    bytes += (stored.peer_count + (stored.publishes ? 1U : 0U)) * sizeof(PublishedSpaces);
    void* const place = allocator.allocate(bytes);
    if (place == nullptr) {
        return nullptr;
    }
    auto* const run = new (place) GraphInstance;
    run->kept_bytes = allocator.usable_bytes(place);
    run->counters = reinterpret_cast<std::uint32_t*>(run + 1);
    run->peer_spaces =
        reinterpret_cast<PublishedSpaces*>(static_cast<std::byte*>(place) + peer_spaces);
    return run;
}

GraphInstance* create_instance(Driver& driver, GraphTemplate& stored,
                               const GraphArguments& arguments)
{
    GraphInstance* const run = allocate_instance(driver.allocator(), stored, arguments);
    if (run == nullptr) {
        return nullptr;
    }
    set_up(run, stored, arguments);
    if (!find_scratch(driver, run)) {
        destroy_instance(driver.allocator(), run);
        return nullptr;
    }
    count_dependencies(run);
    return run;
}

/// An idle instance is taken off its template and made ready for the arguments. Null: the heap is
/// exhausted.
GraphInstance* wake_idle(Driver& driver, GraphTemplate& stored, const GraphArguments& arguments)
{
    GraphInstance* const run = std::exchange(stored.idle, stored.idle->next);
    stored.idle_bytes -= run->kept_bytes;
    take_arguments(run, arguments);
    arm(run);
    // Of its blocks only the size can differ.
    const BlockLayout& before = run->layouts[0];
    if (before.count != arguments.count || before.element_bytes != arguments.element_bytes) {
        set_layouts(run, arguments);
        if (!find_scratch(driver, run)) {
            destroy_instance(driver.allocator(), run);
            return nullptr;
        }
    }
    return run;
}

}  // namespace

GraphInstance* find_instance(Driver& driver, GraphTemplate& stored, const GraphArguments& arguments)
{
    GraphInstance* const run = stored.idle != nullptr && !lists_blocks(arguments)
                                   ? wake_idle(driver, stored, arguments)
                                   : create_instance(driver, stored, arguments);
    if (run != nullptr && stored.publishes) {
        write_own_spaces(driver, run);
    }
    return run;
}

void leave_instance(Driver& driver, GraphInstance* run)
{
    // What a template keeps, at most: short runs, of which many may go on at once.
    constexpr std::uint64_t idle_bytes_max = 32 * 1024;
    GraphTemplate& stored = *run->stored;
    memory::Allocator& allocator = driver.allocator();
    const std::uint64_t kept = stored.idle_bytes + run->kept_bytes;
    if (kept > idle_bytes_max || has_tables(*run)) {
        destroy_instance(allocator, run);
        return;
    }
    if (std::exchange(run->is_moved, false)) {
        count_dependencies(run);
    }
    stored.idle_bytes = kept;
    run->next = std::exchange(stored.idle, run);
}

void destroy_instance(memory::Allocator& allocator, GraphInstance* run)
{
    allocator.free(run->spaces[static_cast<std::size_t>(Space::scratch)]);
    allocator.free(run);
}

void count_dependencies(GraphInstance* run)
{
    const GraphTemplate& stored = *run->stored;
    run->remaining = stored.node_count;
    run->ready_head = 0;
    run->ready_tail = 0;
    for (std::uint32_t index = 0; index < stored.node_count; ++index) {
        run->waiting()[index] = stored.dependencies[index];
        if (stored.dependencies[index] == 0) {
            run->ready()[run->ready_tail++] = index;
        }
    }
}

}  // namespace headway::engine

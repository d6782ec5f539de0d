// SPDX-License-Identifier: Apache-2.0
#include "engine/combination.hpp"

#include "data/reduce.hpp"
#include "engine/graph_instance.hpp"
#include "engine/op.hpp"

namespace headway::engine {

Combination take_combination(const Op& receive, std::byte** address) noexcept
{
    GraphInstance* const run = receive.graph;
    // One that was given up drops what comes, and may have outlived its template.
    if (run == nullptr || run->is_cancelled || run->reduction.user_op != 0 ||
        run->reduction.kind == data::ElementKind::none) {
        return {};
    }
    const GraphTemplate& stored = *run->stored;
    const std::uint32_t index = stored.combined_with[receive.node];
    // What it combines with has to be there already.
    if (index == stored.node_count || run->waiting()[index] != 1) {
        return {};
    }
    const GraphNode& node = stored.nodes[index];
    const std::uint64_t element_bytes = run->layout(node.target).element_bytes;
    if (element_bytes == 0 || piece_alignment % element_bytes != 0 ||
        run->size_bytes(node.source) != receive.size_bytes ||
        run->size_bytes(node.target) != receive.size_bytes) {
        return {};
    }
    Combination combination{.op = run->reduction.op,
                            .kind = run->reduction.kind,
                            .element_bytes = static_cast<std::uint8_t>(element_bytes)};
    if (node.target == stored.nodes[receive.node].target) {
        combination.operand = run->address(node.source);
    } else {
        *address = run->address(node.target);
    }
    run->waiting()[index] = GraphInstance::combined_on_arrival;
    return combination;
}

void combine(const Combination& combination, std::uint64_t from, std::uint64_t bytes,
             const std::byte* incoming, std::byte* result) noexcept
{
    const data::ReduceKernel kernel = data::reduce_kernel(combination.op, combination.kind);
    const std::uint64_t count = bytes / combination.element_bytes;
    if (combination.operand == nullptr) {
        kernel(incoming, result, result, count);
    } else {
        kernel(combination.operand + from, incoming, result, count);
    }
}

}  // namespace headway::engine

// SPDX-License-Identifier: Apache-2.0
// Type programs: where the bytes of one element of a datatype lie in memory, in the order in which
// they travel, as nested loops of runs.
//
//   node      run: packed_bytes consecutive bytes
//             loop: `count` times node `first`, each `stride` bytes behind the one before
//             sequence: `count` parts from parts[first] on
//             blocks: `count` runs from blocks[first] on, a sequence with a third of its bytes
//
// 1. Plain data without addresses: a copy works in every process (the node heap will hold such).
// 2. No node is empty: packed_bytes > 0; loops count at least 2, sequences have at least 2 parts.
// 3. Children stand before their parents, so nesting is finite; the root is the last node.
// 4. Every byte of the packed stream is found from its offset alone, without walking there but past
//    some blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace headway::data {

enum class NodeKind : std::uint32_t { run, loop, sequence, blocks };

struct TypeNode {
    std::uint64_t packed_bytes = 0;
    std::uint64_t count = 0;
    std::int64_t stride = 0;
    NodeKind kind = NodeKind::run;
    std::uint32_t first = 0;
};

struct TypePart {
    std::int64_t offset = 0;
    std::uint64_t packed_before = 0;  ///< of the sequence's bytes
    std::uint32_t node = 0;
};

/// A run of a long list. Reading the list takes as long as moving the bytes, so it is kept short.
struct TypeBlock {
    std::int32_t offset = 0;
    std::uint32_t bytes = 0;
};

/// The first of so many blocks has a mark: the packed bytes of its list before it. Each list begins
/// at a multiple of this in `blocks`.
inline constexpr std::size_t blocks_per_mark = 64;

/// What works on a program, wherever it lies.
struct ProgramView {
    std::span<const TypeNode> nodes;
    std::span<const TypePart> parts;
    std::span<const TypeBlock> blocks;
    std::span<const std::uint64_t> marks;  ///< of blocks[i * blocks_per_mark]
    std::int64_t origin = 0;  ///< where the root lies, counted from the element's address

    bool is_empty() const noexcept { return nodes.empty(); }
    const TypeNode& root() const noexcept { return nodes.back(); }
    /// Its bytes lie one after the other, from `origin` on.
    bool is_run() const noexcept { return !is_empty() && root().kind == NodeKind::run; }
    std::uint64_t packed_bytes() const noexcept { return is_empty() ? 0 : root().packed_bytes; }
    /// Of a run that is not empty: children stand first, so the first node has no nodes.
    std::uint64_t first_run_bytes() const noexcept
    {
        return nodes.front().kind == NodeKind::blocks ? blocks[nodes.front().first].bytes
                                                      : nodes.front().packed_bytes;
    }
};

struct TypeProgram {
    std::vector<TypeNode> nodes;
    std::vector<TypePart> parts;
    std::vector<TypeBlock> blocks;
    std::vector<std::uint64_t> marks;
    std::int64_t origin = 0;

    ProgramView view() const noexcept { return {nodes, parts, blocks, marks, origin}; }
};

/// Elements of one program in memory: element i lies i * extent bytes behind `address`, which may
/// be null where the program holds absolute addresses.
struct TypedElements {
    ProgramView program;
    std::int64_t extent = 0;
    void* address = nullptr;
};

/// Copies bytes [from, to) of the packed stream of the elements to `packed`, whose first byte is
/// byte `from`. Thread rule: any; several threads may pack ranges of one stream at once.
void pack(const TypedElements& elements, std::uint64_t from, std::uint64_t to, std::byte* packed);

/// The opposite. Bytes of the elements outside the range stay. Thread rule: any; several threads
/// may unpack ranges that do not overlap, if the program names no byte twice.
void unpack(const TypedElements& elements, std::uint64_t from, std::uint64_t to,
            const std::byte* packed);

/// Where bytes [from, to) of the packed stream lie, in its order, as many runs as there is room
/// for; their number. Neighbours are one run. What calls of the system take as a list. Thread rule:
/// any.
std::size_t list_runs(const TypedElements& elements, std::uint64_t from, std::uint64_t to,
                      std::span<std::span<std::byte>> room);

}  // namespace headway::data

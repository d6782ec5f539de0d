// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway::engine {

/// Where a node of a graph finds bytes. The three buffers of an instance; an extent counts in
/// blocks, so that one graph serves every message size.
enum class Space : std::uint8_t {
    send,     ///< the caller's input (never written)
    receive,  ///< the caller's output
    scratch,  ///< allocated with the instance in the node heap
};

/// How block numbers become byte offsets.
enum class Blocks : std::uint8_t {
    uniform,  ///< every block has the size of the caller's block (gather, allgather, alltoall)
    split,    ///< the caller's vector of `count` elements is cut into `block_count` near-equal
              ///< pieces; block b starts at element count * b / block_count
};

struct Extent {
    Space space = Space::send;
    std::uint32_t first_block = 0;
    std::uint32_t block_count = 1;
};

enum class NodeKind : std::uint8_t {
    send,     ///< source -> peer, named by slot
    receive,  ///< peer -> target, named by slot
    copy,     ///< target = source
    reduce,   ///< target = source (op) target: the source holds the operand of the lower ranks
};

/// One step of a rank. `slot` names a message between two ranks inside one instance: the n-th
/// send with (peer, slot) of one rank meets the receive with the same slot of the peer.
struct GraphNode {
    NodeKind kind = NodeKind::copy;
    std::uint16_t slot = 0;
    std::uint32_t peer = 0;  ///< rank in the scope; send and receive only
    Extent source;           ///< send, copy, reduce
    Extent target;           ///< receive, copy, reduce
};

/// A collective of one rank as a value: nodes and the edges "before -> after". Built by the pure
/// functions of protocol/coll, executed by GraphEngine, checked and drawn by tests and tools.
class Graph {
  public:
    using NodeIndex = std::uint32_t;

    struct Edge {
        NodeIndex before;
        NodeIndex after;
    };

    NodeIndex send(std::uint32_t peer, std::uint16_t slot, Extent source);
    NodeIndex receive(std::uint32_t peer, std::uint16_t slot, Extent target);
    NodeIndex copy(Extent source, Extent target);
    NodeIndex reduce(Extent source, Extent target);

    /// `after` starts only when `before` has completed. `none` as either end is ignored, so that
    /// builders can chain "the previous step, if there was one".
    void order(NodeIndex before, NodeIndex after);

    static constexpr NodeIndex none = UINT32_MAX;

    Blocks blocks = Blocks::uniform;
    std::uint32_t block_count = 1;    ///< pieces of the vector (split only)
    std::uint32_t scratch_blocks = 0; ///< size of the scratch space

    std::span<const GraphNode> nodes() const noexcept { return nodes_; }
    std::span<const Edge> edges() const noexcept { return edges_; }

  private:
    NodeIndex add(GraphNode node);

    std::vector<GraphNode> nodes_;
    std::vector<Edge> edges_;
};

/// Byte layout of the blocks of one instance.
struct BlockLayout {
    Blocks blocks = Blocks::uniform;
    std::uint32_t block_count = 1;
    std::uint64_t element_bytes = 1;
    std::uint64_t count = 0;  ///< elements a block (uniform) or of the whole vector (split)

    /// First element of `block`.
    std::uint64_t element_offset(std::uint32_t block) const noexcept
    {
        if (blocks == Blocks::uniform) {
            return count * block;
        }
        // Scratch may hold several vectors one after the other: whole vectors first.
        const std::uint64_t vectors = block / block_count;
        const std::uint64_t piece = block % block_count;
        return vectors * count + count * piece / block_count;
    }

    std::uint64_t offset_bytes(std::uint32_t block) const noexcept
    {
        return element_offset(block) * element_bytes;
    }

    std::uint64_t elements(Extent extent) const noexcept
    {
        return element_offset(extent.first_block + extent.block_count) -
               element_offset(extent.first_block);
    }

    std::uint64_t size_bytes(Extent extent) const noexcept
    {
        return elements(extent) * element_bytes;
    }
};

}  // namespace headway::engine

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headway::engine {

/// Where a node of a graph finds bytes: the three buffers of an instance, the rank's own or a
/// peer's. An extent counts in blocks, so that one graph serves every message size.
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
    listed,   ///< a table says where each block lies and how long it is (v-forms); an instance
              ///< may list the blocks of any space of a uniform graph
};

/// Place and length of one listed block, in elements. The place may be negative.
struct BlockRange {
    std::int64_t offset = 0;
    std::uint64_t count = 0;
};

struct Extent {
    Space space = Space::send;
    std::uint32_t first_block = 0;
    std::uint32_t block_count = 1;

    bool operator==(const Extent&) const = default;
};

enum class NodeKind : std::uint8_t {
    send,     ///< source -> peer, named by slot
    receive,  ///< peer -> target, named by slot
    copy,     ///< target = source
    reduce,   ///< target = source (op) target: the source holds the operand of the lower ranks
    publish,  ///< tells peer, named by slot, where this run's spaces are and that what they hold by
              ///< now may be read
    wait,     ///< over when the peer has published under that slot
    peer_copy,    ///< target = source, which lies in the peer's space of that name
    peer_reduce,  ///< target = source (op) target, likewise
};

/// The end of a message that goes to the peer.
constexpr bool leaves(NodeKind kind) noexcept
{
    return kind == NodeKind::send || kind == NodeKind::publish;
}
/// The end of one that comes from it.
constexpr bool arrives(NodeKind kind) noexcept
{
    return kind == NodeKind::receive || kind == NodeKind::wait;
}
/// Nodes of these kinds have a slot.
constexpr bool is_message(NodeKind kind) noexcept
{
    return leaves(kind) || arrives(kind);
}
/// Its source is a space of the peer.
constexpr bool reads_peer(NodeKind kind) noexcept
{
    return kind == NodeKind::peer_copy || kind == NodeKind::peer_reduce;
}
/// Its source is a space of the rank itself.
constexpr bool has_own_source(NodeKind kind) noexcept
{
    return kind == NodeKind::send || kind == NodeKind::copy || kind == NodeKind::reduce;
}
constexpr bool has_target(NodeKind kind) noexcept
{
    return kind != NodeKind::send && kind != NodeKind::publish && kind != NodeKind::wait;
}

/// One step of a rank. `slot` names a message between two ranks inside one instance: the n-th
/// send with (peer, slot) of one rank meets the receive with the same slot of the peer.
struct GraphNode {
    NodeKind kind = NodeKind::copy;
    std::uint16_t slot = 0;
    std::uint32_t peer = 0;  ///< rank in the scope; all but copy and reduce
    Extent source;           ///< has_own_source(), reads_peer()
    Extent target;           ///< has_target()
};

/// What the graphs of all ranks do together where they may do it by meeting (engine/meeting), or
/// on a shelf, if it is collecting (engine/shelf).
enum class Meets : std::uint8_t {
    never,
    combining,   ///< each gives a vector; all get the combination, in rank order
    gathering,   ///< each gives a block; all get all blocks
    exchanging,  ///< each gives a block for each
    spreading,   ///< the root gives a vector; all get it
    collecting,  ///< each gives a vector; the root gets the combination, by halves in rank order
    halving,     ///< each gives a vector; all get the combination, by halves in rank order
};

/// What is given lies in `part`, what is got in the receive space.
struct GraphMeeting {
    Meets what = Meets::never;
    Extent part;
    std::uint32_t root = 0;  ///< spreading, collecting
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

    // Ranks that read each other's memory. A rank publishes to each reader; who reads comes after
    // a wait for that, and lets the publisher know when he is done, by a message, before the space
    // is written again or the run of its rank may end. Blocks of a peer are counted as the rank's
    // own, so they must not be listed. One node only.
    NodeIndex publish(std::uint32_t peer, std::uint16_t slot);
    NodeIndex wait(std::uint32_t peer, std::uint16_t slot);
    NodeIndex peer_copy(std::uint32_t peer, Extent source, Extent target);
    /// Elements of at most 64 bytes, that divide these, and no user's operation.
    NodeIndex peer_reduce(std::uint32_t peer, Extent source, Extent target);

    /// `after` starts only when `before` has completed. `none` as either end is ignored, so that
    /// builders can chain "the previous step, if there was one".
    void order(NodeIndex before, NodeIndex after);

    static constexpr NodeIndex none = UINT32_MAX;

    /// Says that the ranks may meet instead; all ranks say the same. Requires: blocks that are not
    /// listed; one element each where vectors are combined.
    void meet(Meets what, Extent part, std::uint32_t root = 0) { meeting_ = {what, part, root}; }
    const GraphMeeting& meeting() const noexcept { return meeting_; }

    Blocks blocks = Blocks::uniform;
    std::uint32_t block_count = 1;     ///< pieces of the vector (split only)
    std::uint32_t scratch_blocks = 0;  ///< size of the scratch space

    std::span<const GraphNode> nodes() const noexcept { return nodes_; }
    std::span<const Edge> edges() const noexcept { return edges_; }

  private:
    NodeIndex add(GraphNode node);

    std::vector<GraphNode> nodes_;
    std::vector<Edge> edges_;
    GraphMeeting meeting_;
};

/// Byte layout of the blocks of one space of an instance.
struct BlockLayout {
    Blocks blocks = Blocks::uniform;
    std::uint32_t block_count = 1;  ///< pieces (split), entries of the table (listed)
    std::uint64_t element_bytes = 1;
    /// Elements of a block (uniform), or of the whole vector (split, listed).
    std::uint64_t count = 0;
    const BlockRange* table = nullptr;  ///< listed only

    /// First element of `block`; modulo 2^64, since listed ones may lie before the space. Scratch
    /// may hold several vectors one after the other: blocks count on through them.
    std::uint64_t element_offset(std::uint32_t block) const noexcept
    {
        if (blocks == Blocks::uniform) {
            return count * block;
        }
        const std::uint64_t vectors = block / block_count;
        const std::uint64_t piece = block % block_count;
        if (blocks == Blocks::listed) {
            return vectors * count + static_cast<std::uint64_t>(table[piece].offset);
        }
        return vectors * count + count * piece / block_count;
    }

    std::uint64_t offset_bytes(std::uint32_t block) const noexcept
    {
        return element_offset(block) * element_bytes;
    }

    /// Several listed blocks make an extent only where each ends at the beginning of the next.
    std::uint64_t elements(Extent extent) const noexcept
    {
        if (blocks == Blocks::listed) {
            return listed_elements(extent);
        }
        return element_offset(extent.first_block + extent.block_count) -
               element_offset(extent.first_block);
    }

    std::uint64_t size_bytes(Extent extent) const noexcept
    {
        return elements(extent) * element_bytes;
    }

  private:
    std::uint64_t listed_elements(Extent extent) const noexcept
    {
        if (extent.block_count == 0) {
            return 0;
        }
        const std::uint32_t last = extent.first_block + extent.block_count - 1;
        return element_offset(last) - element_offset(extent.first_block) +
               table[last % block_count].count;
    }
};

}  // namespace headway::engine

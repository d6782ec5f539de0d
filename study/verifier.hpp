// SPDX-License-Identifier: Apache-2.0
// Proves, or refutes, that the graphs of all ranks do what a contract says, whatever order anything
// happens in. What is proved, and why one run is enough:
//  1. The edges of a rank's graph have no cycle, its extents stay inside their spaces, the input is
//     never written, and what is copied or combined has equal sizes block by block.
//  2. Two nodes of a rank that touch the same block, one of them writing, are ordered by edges; so
//     are messages of one name. What a node reads therefore does not depend on the order in which
//     nodes run, and which send meets which receive does not either.
//  3. All nodes can run although no send ends before its receive has started. So there is no cycle
//     of edges and such waits, and no order of delivery can stop them (there are no wildcards).
//  4. What a rank reads of a peer's space is there when it reads, and nobody writes there until it
//     has (study/peer_proof).
//  5. By 2 and 4, what the run of 3 leaves behind is what every run leaves behind: it is compared
//  with
//     the contract. Values are expressions over blocks of input, so equal ones are bitwise equal.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "engine/graph.hpp"
#include "study/contract.hpp"

namespace headway::study {

/// Messages of all ranks, the blocks that are in them, and their bytes.
struct Traffic {
    std::uint64_t messages = 0;
    std::uint64_t blocks = 0;
    std::uint64_t bytes = 0;

    bool operator==(const Traffic&) const = default;
};

struct Verdict {
    /// One sentence about the first thing that is wrong; it names rank, node and block.
    std::optional<std::string> fault;
    Traffic traffic;  ///< where nothing is wrong
};

/// Verifies calls one after the other; keeps its memory.
class Verifier {
  public:
    Verifier();
    ~Verifier();
    Verifier(const Verifier&) = delete;
    Verifier& operator=(const Verifier&) = delete;

    /// Requires: as many graphs as the contract has ranks, at most 131072.
    Verdict verify(std::span<const engine::Graph> graphs, const Contract& contract);

  private:
    struct Memory;
    std::unique_ptr<Memory> memory_;
};

/// The same for one call.
Verdict verify(std::span<const engine::Graph> graphs, const Contract& contract);

/// "node 5 (send to rank 3 in slot 1)", for sentences about graphs.
std::string describe(const engine::Graph& graph, engine::Graph::NodeIndex node);
std::string_view name_of(engine::Space space);
/// "rank 5", likewise.
std::string of_rank(std::uint32_t rank);

}  // namespace headway::study

// SPDX-License-Identifier: Apache-2.0
// Makes type programs and keeps them small: neighbouring runs become one run, repetitions become
// loops, loops of loops that touch become one. Equal nodes are stored once.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "data/type_program.hpp"

namespace headway::data {

/// Requires of its callers that sizes and offsets fit 63 bits.
class ProgramBuilder {
  public:
    /// Something of the program that is being made: a node and where it lies.
    struct Piece {
        static constexpr std::uint32_t nothing = 0xFFFF'FFFF;

        std::int64_t offset = 0;
        std::uint32_t node = nothing;

        bool is_empty() const noexcept { return node == nothing; }
    };

    /// `bytes` consecutive bytes at offset 0.
    Piece make_run(std::uint64_t bytes);
    /// `count` times the piece, each `stride` bytes behind the one before.
    Piece make_loop(std::uint64_t count, std::int64_t stride, Piece piece);
    /// One piece after the other, in the order of the stream.
    Piece make_sequence(const std::vector<Piece>& pieces);
    /// A whole program as a piece; the same program again gives the same node.
    Piece import(const TypeProgram& program);

    /// The program of a piece, without what it does not use.
    TypeProgram finish(Piece piece) const;

  private:
    /// Sequences within sequences are taken apart up to so many parts; more are left as they are,
    /// so that a large one in many places is stored once.
    static constexpr std::uint64_t flattened_parts_max = 16;

    const TypeNode& node_of(const Piece& piece) const { return nodes_[piece.node]; }
    std::uint32_t intern(const TypeNode& node);
    void flatten(const Piece& piece, std::vector<Piece>& flat);
    bool join(Piece& last, const Piece& next);
    std::vector<Piece> fold_repetitions(const std::vector<Piece>& pieces);
    std::span<const TypePart> parts_of(const TypeNode& sequence) const
    {
        return std::span(parts_).subspan(sequence.first, sequence.count);
    }
    bool is_list_of_blocks(const TypeNode& node) const;
    TypeNode copy_blocks(const TypeNode& sequence, TypeProgram& to) const;
    std::uint32_t import_blocks(const TypeProgram& program, const TypeNode& list);
    std::uint32_t copy_reachable(std::uint32_t node, TypeProgram& to,
                                 std::vector<std::uint32_t>& copied) const;

    std::vector<TypeNode> nodes_;
    std::vector<TypePart> parts_;
    /// Runs and loops by their contents: kind, count or bytes, stride, child.
    std::map<std::tuple<NodeKind, std::uint64_t, std::int64_t, std::uint32_t>, std::uint32_t>
        known_;
    std::map<const TypeProgram*, Piece> imported_;
};

}  // namespace headway::data

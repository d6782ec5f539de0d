// SPDX-License-Identifier: Apache-2.0
#include "data/program_builder.hpp"

#include <algorithm>
#include <utility>

namespace headway::data {

namespace {

std::int64_t as_signed(std::uint64_t bytes)
{
    return static_cast<std::int64_t>(bytes);
}

}  // namespace

std::uint32_t ProgramBuilder::intern(const TypeNode& node)
{
    const std::uint64_t amount = node.kind == NodeKind::run ? node.packed_bytes : node.count;
    const auto [entry, is_new] = known_.try_emplace({node.kind, amount, node.stride, node.first},
                                                    static_cast<std::uint32_t>(nodes_.size()));
    if (is_new) {
        nodes_.push_back(node);
    }
    return entry->second;
}

ProgramBuilder::Piece ProgramBuilder::make_run(std::uint64_t bytes)
{
    return bytes != 0 ? Piece{0, intern({bytes, 0, 0, NodeKind::run, 0})} : Piece{};
}

ProgramBuilder::Piece ProgramBuilder::make_loop(std::uint64_t count, std::int64_t stride,
                                                Piece piece)
{
    if (count == 0 || piece.is_empty()) {
        return {};
    }
    if (count == 1) {
        return piece;
    }
    const TypeNode& node = node_of(piece);
    if (node.kind == NodeKind::run && stride == as_signed(node.packed_bytes)) {
        return {piece.offset, make_run(count * node.packed_bytes).node};
    }
    if (node.kind == NodeKind::loop && stride == as_signed(node.count) * node.stride) {
        return {piece.offset, intern({count * node.packed_bytes, count * node.count, node.stride,
                                      NodeKind::loop, node.first})};
    }
    return {piece.offset,
            intern({count * node.packed_bytes, count, stride, NodeKind::loop, piece.node})};
}

/// Adds a piece to a list that is to become a sequence.
void ProgramBuilder::flatten(const Piece& piece, std::vector<Piece>& flat)
{
    const TypeNode node = node_of(piece);
    if (node.kind != NodeKind::sequence || node.count > flattened_parts_max) {
        if (flat.empty() || !join(flat.back(), piece)) {
            flat.push_back(piece);
        }
        return;
    }
    for (std::uint64_t i = 0; i < node.count; ++i) {
        const TypePart part = parts_[node.first + i];
        flatten({piece.offset + part.offset, part.node}, flat);
    }
}

/// Makes one piece of two if the second goes on where the first ends.
bool ProgramBuilder::join(Piece& last, const Piece& next)
{
    const TypeNode first = node_of(last);
    const TypeNode second = node_of(next);
    if (first.kind == NodeKind::run && second.kind == NodeKind::run) {
        if (last.offset + as_signed(first.packed_bytes) != next.offset) {
            return false;
        }
        last.node = make_run(first.packed_bytes + second.packed_bytes).node;
        return true;
    }
    if (first.kind != NodeKind::loop ||
        last.offset + as_signed(first.count) * first.stride != next.offset) {
        return false;
    }
    const bool is_once_more = next.node == first.first;
    const bool is_same_loop = second.kind == NodeKind::loop && second.first == first.first &&
                              second.stride == first.stride;
    if (!is_once_more && !is_same_loop) {
        return false;
    }
    const std::uint64_t count = first.count + (is_once_more ? 1 : second.count);
    last.node = intern({first.packed_bytes + second.packed_bytes, count, first.stride,
                        NodeKind::loop, first.first});
    return true;
}

/// Equal nodes at equal distances become loops. A loop costs as much as two parts, so it is made
/// of three pieces, or of two where nothing else is left.
std::vector<ProgramBuilder::Piece> ProgramBuilder::fold_repetitions(
    const std::vector<Piece>& pieces)
{
    std::vector<Piece> folded;
    for (std::size_t i = 0; i < pieces.size();) {
        std::size_t end = i + 1;
        const std::int64_t stride = end < pieces.size() ? pieces[end].offset - pieces[i].offset : 0;
        while (end < pieces.size() && pieces[end].node == pieces[i].node &&
               pieces[end].offset - pieces[end - 1].offset == stride) {
            ++end;
        }
        const std::size_t count = end - i;
        if (count >= 3 || count == pieces.size()) {
            folded.push_back(make_loop(count, stride, pieces[i]));
            i = end;
        } else {
            folded.push_back(pieces[i++]);
        }
    }
    return folded;
}

ProgramBuilder::Piece ProgramBuilder::make_sequence(const std::vector<Piece>& pieces)
{
    std::vector<Piece> flat;
    for (const Piece& piece : pieces) {
        if (!piece.is_empty()) {
            flatten(piece, flat);
        }
    }
    const std::vector<Piece> unfolded = flat;
    // Rows become loops, then loops of rows become planes, and so on.
    for (std::size_t before = flat.size() + 1; flat.size() > 1 && flat.size() < before;) {
        before = flat.size();
        flat = fold_repetitions(flat);
    }
    // What folded here and there only would no longer be a list of blocks, and be larger.
    constexpr std::size_t blocks_per_part = sizeof(TypePart) / sizeof(TypeBlock);
    const auto is_run = [this](const Piece& piece) { return node_of(piece).kind == NodeKind::run; };
    if (flat.size() > flattened_parts_max && unfolded.size() <= blocks_per_part * flat.size() &&
        std::ranges::all_of(unfolded, is_run)) {
        flat = unfolded;
    }
    if (flat.empty()) {
        return {};
    }
    if (flat.size() == 1) {
        return flat.front();
    }
    TypeNode sequence{0, flat.size(), 0, NodeKind::sequence,
                      static_cast<std::uint32_t>(parts_.size())};
    const std::int64_t origin = flat.front().offset;
    for (const Piece& piece : flat) {
        parts_.push_back({piece.offset - origin, sequence.packed_bytes, piece.node});
        sequence.packed_bytes += node_of(piece).packed_bytes;
    }
    nodes_.push_back(sequence);
    return {origin, static_cast<std::uint32_t>(nodes_.size() - 1)};
}

/// Runs that are many, short and near: a program holds them as blocks.
bool ProgramBuilder::is_list_of_blocks(const TypeNode& node) const
{
    return node.kind == NodeKind::sequence && node.count > flattened_parts_max &&
           std::ranges::all_of(parts_of(node), [this](const TypePart& part) {
               const TypeNode& run = nodes_[part.node];
               return run.kind == NodeKind::run && std::in_range<std::int32_t>(part.offset) &&
                      std::in_range<std::uint32_t>(run.packed_bytes);
           });
}

/// The blocks of a sequence, appended to those of a program.
TypeNode ProgramBuilder::copy_blocks(const TypeNode& sequence, TypeProgram& to) const
{
    to.blocks.resize(to.marks.size() * blocks_per_mark);
    TypeNode list = sequence;
    list.kind = NodeKind::blocks;
    list.first = static_cast<std::uint32_t>(to.blocks.size());
    for (const TypePart& part : parts_of(sequence)) {
        if (to.blocks.size() % blocks_per_mark == 0) {
            to.marks.push_back(part.packed_before);
        }
        to.blocks.push_back({static_cast<std::int32_t>(part.offset),
                             static_cast<std::uint32_t>(nodes_[part.node].packed_bytes)});
    }
    return list;
}

/// Blocks as the sequence that they were, so that all of the builder knows three kinds of nodes.
std::uint32_t ProgramBuilder::import_blocks(const TypeProgram& program, const TypeNode& list)
{
    TypeNode sequence{0, list.count, 0, NodeKind::sequence,
                      static_cast<std::uint32_t>(parts_.size())};
    for (const TypeBlock& block : std::span(program.blocks).subspan(list.first, list.count)) {
        parts_.push_back({block.offset, sequence.packed_bytes, make_run(block.bytes).node});
        sequence.packed_bytes += block.bytes;
    }
    nodes_.push_back(sequence);
    return static_cast<std::uint32_t>(nodes_.size() - 1);
}

ProgramBuilder::Piece ProgramBuilder::import(const TypeProgram& program)
{
    if (program.nodes.empty()) {
        return {};
    }
    if (const auto found = imported_.find(&program); found != imported_.end()) {
        return found->second;
    }
    std::vector<std::uint32_t> ours;
    for (TypeNode node : program.nodes) {
        if (node.kind == NodeKind::sequence) {
            const auto first = static_cast<std::uint32_t>(parts_.size());
            for (std::uint64_t i = 0; i < node.count; ++i) {
                TypePart part = program.parts[node.first + i];
                part.node = ours[part.node];
                parts_.push_back(part);
            }
            node.first = first;
            nodes_.push_back(node);
            ours.push_back(static_cast<std::uint32_t>(nodes_.size() - 1));
        } else if (node.kind == NodeKind::blocks) {
            ours.push_back(import_blocks(program, node));
        } else {
            node.first = node.kind == NodeKind::loop ? ours[node.first] : 0;
            ours.push_back(intern(node));
        }
    }
    return imported_[&program] = Piece{program.origin, ours.back()};
}

std::uint32_t ProgramBuilder::copy_reachable(std::uint32_t index, TypeProgram& to,
                                             std::vector<std::uint32_t>& copied) const
{
    if (copied[index] != Piece::nothing) {
        return copied[index];
    }
    TypeNode node = nodes_[index];
    if (node.kind == NodeKind::loop) {
        node.first = copy_reachable(node.first, to, copied);
    } else if (is_list_of_blocks(node)) {
        node = copy_blocks(node, to);
    } else if (node.kind == NodeKind::sequence) {
        std::vector<TypePart> parts(
            parts_.begin() + node.first,
            parts_.begin() + node.first + static_cast<std::ptrdiff_t>(node.count));
        for (TypePart& part : parts) {
            part.node = copy_reachable(part.node, to, copied);
        }
        node.first = static_cast<std::uint32_t>(to.parts.size());
        to.parts.insert(to.parts.end(), parts.begin(), parts.end());
    }
    to.nodes.push_back(node);
    return copied[index] = static_cast<std::uint32_t>(to.nodes.size() - 1);
}

TypeProgram ProgramBuilder::finish(Piece piece) const
{
    TypeProgram program;
    if (!piece.is_empty()) {
        std::vector<std::uint32_t> copied(nodes_.size(), Piece::nothing);
        program.origin = piece.offset;
        copy_reachable(piece.node, program, copied);
    }
    return program;
}

}  // namespace headway::data

// SPDX-License-Identifier: Apache-2.0
#include "abi/block_check.hpp"

#include "abi/call_order.hpp"
#include "abi/type_check.hpp"

namespace headway::abi {
namespace {

using object::ElementNote;
using object::NoteBoard;

int fail_for_block(Call& call, const object::Communicator& comm, std::uint64_t number,
                   const BlockNote& block, const ElementNote& other)
{
    const bool gives = block.side == NoteBoard::Side::given;
    const std::uint32_t peer = comm.joint_scope().job_rank(block.peer);
    return call.fail(MPI_ERR_OTHER,
                     "collective call %llu on communicator '%.64s': this rank %s %s %s rank %u, "
                     "but that one %s %s; give both sides the same count and types",
                     static_cast<unsigned long long>(number & UINT32_MAX), comm.name().c_str(),
                     gives ? "gives" : "takes", block.note.text, gives ? "to" : "from", peer,
                     gives ? "takes" : "gives", other.text);
}

}  // namespace

ElementNote BlockNotes::note_of_block(const UniformSide& side, std::uint32_t /*block*/) const
{
    return note_of(*type_of(call_, side.datatype).layout, static_cast<std::uint64_t>(side.count));
}

ElementNote BlockNotes::note_of_block(const ListedSide& side, std::uint32_t block) const
{
    return note_of(*type_of_block(call_, side, block).layout,
                   static_cast<std::uint64_t>(side.counts[block]));
}

NoteBoard::Meeting meet(Call& call, const object::Communicator& comm, std::uint32_t lane_peer,
                        const NoteBoard::Name& name, const ElementNote& own,
                        object::DistantNote::Topic topic, ElementNote* other)
{
    object::Rank& rank = rank_of(call);
    engine::Driver& driver = rank.driver();
    if (name.side == NoteBoard::Side::given && driver.node().is_distant(lane_peer)) {
        object::DistantNote note;
        note.topic = topic;
        note.name = name;
        note.elements = own;
        comm.name().copy(note.communicator, sizeof note.communicator - 1);
        return object::send_note(driver, lane_peer, note) ? NoteBoard::Meeting::is_first
                                                          : NoteBoard::Meeting::no_memory;
    }
    NoteBoard& board = topic == object::DistantNote::Topic::block ? *rank.process().blocks()
                                                                  : *rank.process().sent_types();
    return board.meet(driver.allocator(), name, own, other);
}

int compare_blocks(Call& call, object::Communicator& comm, const object::CollectiveCall& collective,
                   const BlockNotes& blocks)
{
    std::uint64_t number = 0;
    if (const int error = compare_order(call, comm, &collective, &number); error != MPI_SUCCESS) {
        return error;
    }
    const engine::Scope& scope = comm.joint_scope();
    for (const BlockNote& block : blocks.all()) {
        const std::uint32_t own = scope.job_rank(scope.rank);
        const std::uint32_t peer = scope.job_rank(block.peer);
        const bool gives = block.side == NoteBoard::Side::given;
        const NoteBoard::Name name{.sender = gives ? own : peer,
                                   .receiver = gives ? peer : own,
                                   .number = number,
                                   .context = scope.context,
                                   .leader = scope.job_rank(0),
                                   .slot = block.slot,
                                   .side = block.side};
        ElementNote other;
        switch (meet(call, comm, scope.peer(block.peer), name, block.note,
                     object::DistantNote::Topic::block, &other)) {
            case NoteBoard::Meeting::no_memory:
                return fail_for_memory(call);
            case NoteBoard::Meeting::is_second:
                if (!block.note.is_same_block(other)) {
                    return fail_for_block(call, comm, number, block, other);
                }
                break;
            default:
                break;
        }
    }
    return MPI_SUCCESS;
}

}  // namespace headway::abi

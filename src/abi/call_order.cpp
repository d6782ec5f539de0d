// SPDX-License-Identifier: Apache-2.0
#include "abi/call_order.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "abi/type_check.hpp"
#include "object/distant_note.hpp"

namespace headway::abi {
namespace {

using object::CallOrder;
using object::CallSignature;
using object::CollectiveCall;
using protocol::coll::Collective;

/// Sizes that all members give in the same order, as one number.
std::uint64_t hash_of(const std::vector<engine::BlockRange>& blocks)
{
    std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
    for (const engine::BlockRange& block : blocks) {
        hash = (hash ^ block.count) * 0x100'0000'01B3;
    }
    return hash;
}

bool has_user_operator(const CollectiveCall& collective)
{
    return collective.keep != nullptr && collective.keep->user != nullptr;
}

std::uint64_t operation_of(const CollectiveCall& collective)
{
    // Each rank has an address of its own for a user's operator.
    constexpr std::uint64_t user_operator = 1U << 16;
    return has_user_operator(collective) ? user_operator
                                         : static_cast<std::uint64_t>(collective.reduction.op) + 1;
}

bool is_reduction(Collective kind)
{
    return kind == Collective::reduce || kind == Collective::allreduce ||
           kind == Collective::scan || kind == Collective::exscan ||
           kind == Collective::reduce_scatter;
}

/// What all members must say alike of the elements.
object::ElementNote elements_of(const CollectiveCall& collective, std::uint64_t count)
{
    static constexpr std::array<const char*, static_cast<std::size_t>(data::ReduceOperator::count)>
        operators{"MPI_MAX",  "MPI_MIN",  "MPI_SUM", "MPI_PROD", "MPI_LAND",   "MPI_LOR",
                  "MPI_LXOR", "MPI_BAND", "MPI_BOR", "MPI_BXOR", "MPI_MAXLOC", "MPI_MINLOC"};
    if (collective.type == nullptr) {
        return {};
    }
    object::ElementNote note = note_of(*collective.type->layout, count);
    if (is_reduction(collective.collective)) {
        const std::size_t used = std::strlen(note.text);
        std::snprintf(note.text + used, sizeof note.text - used, ", %s",
                      has_user_operator(collective)
                          ? "an operator of the program"
                          : operators[static_cast<std::size_t>(collective.reduction.op)]);
        // Each member computes with them.
        note.is_untyped = false;
    }
    return note;
}

bool has_root(Collective kind)
{
    return kind == Collective::bcast || kind == Collective::reduce || kind == Collective::gather ||
           kind == Collective::scatter;
}

std::string_view without(std::string_view name, std::string_view ending)
{
    return name.ends_with(ending) ? name.substr(0, name.size() - ending.size()) : name;
}

/// Without the `_c` of the wide form: both forms of a call match.
std::string_view narrow_name(std::string_view name)
{
    return without(name, "_c");
}

/// Each member gives blocks of its own sizes.
bool is_listed_form(std::string_view narrow)
{
    const std::string_view form = without(narrow, "_init");
    return form.ends_with('v') || form.ends_with('w');
}

/// Between groups each has blocks of its own, of one vector that all have alike.
void describe_whole(const CollectiveCall& collective, int group_size, CallSignature& own)
{
    std::uint64_t count = 0;
    for (const engine::BlockRange& block : collective.send_blocks) {
        count += block.count;
    }
    if (collective.send_blocks.empty()) {
        count = collective.count * static_cast<std::uint64_t>(group_size);
    }
    own.operation = operation_of(collective);
    own.elements = elements_of(collective, count);
    own.bytes = static_cast<std::int64_t>(count * collective.element_bytes);
}

/// `group_size`: members of the caller's group.
CallSignature signature_of(std::string_view name, const CollectiveCall& collective, int group_size)
{
    CallSignature own(name);
    const Collective kind = collective.collective;
    // Each member names other neighbours.
    if (protocol::coll::is_of_neighbors(kind)) {
        return own;
    }
    if (has_root(kind) && collective.root != protocol::coll::no_root) {
        own.root = collective.root;
    }
    if (collective.is_between_groups && kind == Collective::reduce_scatter) {
        describe_whole(collective, group_size, own);
        return own;
    }
    // Of blocks between groups only both ends know (block_check), and the root's group knows only
    // who is the root.
    if (collective.is_between_groups &&
        (collective.type == nullptr ||
         (kind != Collective::reduce && kind != Collective::allreduce))) {
        return own;
    }
    if (kind == Collective::allgatherv) {
        own.operation = hash_of(collective.receive_blocks);
        return own;
    }
    // Of other v-forms each member knows only its own blocks.
    if (kind == Collective::barrier || is_listed_form(name)) {
        return own;
    }
    own.operation = operation_of(collective);
    own.elements = elements_of(collective, collective.type_count);
    if (kind == Collective::reduce_scatter && !collective.send_blocks.empty()) {
        own.operation ^= hash_of(collective.send_blocks);
        return own;
    }
    own.bytes = static_cast<std::int64_t>(collective.count * collective.element_bytes);
    return own;
}

/// The leader is on another node, where the call is compared.
int tell_leader(Call& call, const object::Communicator& comm, const CallOrder::Turn& turn,
                const CallSignature& own)
{
    object::DistantNote note;
    note.topic = object::DistantNote::Topic::call;
    note.turn = turn;
    note.signature = own;
    comm.name().copy(note.communicator, sizeof note.communicator - 1);
    const bool is_told =
        object::send_note(rank_of(call).driver(), comm.joint_scope().peer(0), note);
    return is_told ? MPI_SUCCESS : fail_for_memory(call);
}

}  // namespace

int compare_order(Call& call, object::Communicator& comm, const CollectiveCall* collective,
                  std::uint64_t* number)
{
    if (comm.joint_scope().size == 1) {
        return MPI_SUCCESS;
    }
    object::Rank& rank = rank_of(call);
    const std::string_view name = narrow_name(call.name());
    const CallSignature own =
        collective != nullptr ? signature_of(name, *collective, comm.size()) : CallSignature(name);
    const CallOrder::Turn turn = CallOrder::take_turn(comm);
    *number = turn.number;
    if (rank.driver().node().is_distant(comm.joint_scope().peer(0))) {
        return tell_leader(call, comm, turn, own);
    }
    CallSignature other;
    int other_rank = 0;
    const CallOrder::Answer answer = rank.process().call_order()->compare(
        rank.driver().allocator(), turn, own, &other, &other_rank);
    if (answer == CallOrder::Answer::agrees) {
        return MPI_SUCCESS;
    }
    if (answer == CallOrder::Answer::no_memory) {
        return fail_for_memory(call);
    }
    const std::string here = object::describe(own);
    const std::string there = object::describe(other);
    return call.fail(MPI_ERR_OTHER,
                     "collective call %llu on communicator '%.64s' is %s on this rank but %s on "
                     "rank %d%s; let all members make the same calls in the same order",
                     static_cast<unsigned long long>(turn.number), comm.name().c_str(),
                     here.c_str(), there.c_str(), other_rank,
                     here == there ? ", with other counts, types or another operator" : "");
}

}  // namespace headway::abi

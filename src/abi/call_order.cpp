// SPDX-License-Identifier: Apache-2.0
#include "abi/call_order.hpp"

#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "abi/type_check.hpp"

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
                                         : static_cast<std::uint64_t>(collective.reduction.op);
}

bool is_reduction(Collective kind)
{
    return kind == Collective::reduce || kind == Collective::allreduce ||
           kind == Collective::scan || kind == Collective::exscan ||
           kind == Collective::reduce_scatter;
}

/// What all members must say alike of the elements.
object::ElementNote elements_of(const CollectiveCall& collective)
{
    static constexpr std::array<const char*, static_cast<std::size_t>(data::ReduceOperator::count)>
        operators{"MPI_MAX",  "MPI_MIN",  "MPI_SUM", "MPI_PROD", "MPI_LAND",   "MPI_LOR",
                  "MPI_LXOR", "MPI_BAND", "MPI_BOR", "MPI_BXOR", "MPI_MAXLOC", "MPI_MINLOC"};
    if (collective.type == nullptr) {
        return {};
    }
    object::ElementNote note = note_of(*collective.type->layout, collective.type_count);
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

CallSignature signature_of(std::string_view name, const CollectiveCall& collective)
{
    CallSignature own(name);
    const Collective kind = collective.collective;
    // Each member names other neighbours, and each group another root.
    if (collective.is_between_groups || protocol::coll::is_of_neighbors(kind)) {
        return own;
    }
    if (has_root(kind)) {
        own.root = collective.root;
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
    own.elements = elements_of(collective);
    if (kind == Collective::reduce_scatter && !collective.send_blocks.empty()) {
        own.operation ^= hash_of(collective.send_blocks);
        return own;
    }
    own.bytes = static_cast<std::int64_t>(collective.count * collective.element_bytes);
    return own;
}

}  // namespace

int compare_order(Call& call, object::Communicator& comm, const CollectiveCall* collective)
{
    if (comm.size() == 1) {
        return MPI_SUCCESS;
    }
    object::Rank& rank = rank_of(call);
    const std::string_view name = narrow_name(call.name());
    const CallSignature own =
        collective != nullptr ? signature_of(name, *collective) : CallSignature(name);
    CallSignature other;
    int other_rank = 0;
    std::uint64_t number = 0;
    const CallOrder::Answer answer = rank.process().call_order()->compare(
        rank.driver().allocator(), comm, own, &other, &other_rank, &number);
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
                     static_cast<unsigned long long>(number), comm.name().c_str(), here.c_str(),
                     there.c_str(), other_rank,
                     here == there ? ", with other counts, types or another operator" : "");
}

}  // namespace headway::abi

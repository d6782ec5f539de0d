// SPDX-License-Identifier: Apache-2.0
// Hardware that ranks share (MPI-5.0 sections 7.4.2 and 10.1): what a rank is bound to, and
// communicators of those that are bound to the same.
#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/any_time.hpp"
#include "abi/call_order.hpp"
#include "abi/check.hpp"
#include "abi/new_communicator.hpp"
#include "abi/tag_spreading.hpp"
#include "abi_calls.hpp"
#include "object/collective.hpp"
#include "object/process.hpp"
#include "object/session.hpp"

namespace headway::abi {
namespace {

using object::Communicator;
using object::Rank;
using platform::Hardware;
using platform::HardwarePlace;

constexpr std::string_view scheme = "hwloc://";
constexpr std::string_view node_name = "mpi_shared_memory";
constexpr std::string_view hardware_key = "mpi_hw_resource_type";
constexpr std::string_view set_key = "mpi_pset_name";

/// What a member says before anybody can know who stays together: who gives MPI_UNDEFINED does not
/// know what the others give.
struct TypeOffer {
    int split_type;
    int resource;  ///< a number for the name of what is asked for
    HardwarePlace place;
};

std::string resource_name(Hardware kind)
{
    return std::string(scheme).append(platform::name_of(kind));
}

bool is_same_name(std::string_view left, std::string_view right)
{
    return std::ranges::equal(left, right, [](unsigned char one, unsigned char other) {
        return std::tolower(one) == std::tolower(other);
    });
}

std::optional<Hardware> find_kind(std::string_view name)
{
    for (std::size_t i = 0; i < platform::hardware_kinds; ++i) {
        const auto kind = static_cast<Hardware>(i);
        if (is_same_name(name, resource_name(kind))) {
            return kind;
        }
    }
    return std::nullopt;
}

/// A colour for each piece of hardware of the job, by a cpu of it.
int color_of(int node, int piece)
{
    constexpr int cpus_per_node = 4096;  // as base/cpu_list.hpp
    return piece < 0 ? MPI_UNDEFINED : node * cpus_per_node + piece;
}

/// Those bound to the same piece of a named kind; nobody where the name is none that is known.
int color_by_name(const object::Process& process, std::string_view name, const HardwarePlace& place)
{
    const int node = process.placement().node;
    if (is_same_name(name, node_name)) {
        return node;
    }
    const auto kind = find_kind(name);
    return kind ? color_of(node, place.of(*kind)) : MPI_UNDEFINED;
}

/// What the ranks that stay together have in common, and its name.
struct Shared {
    int color = MPI_UNDEFINED;
    std::string name;
};

/// The largest hardware that does not hold all members: so there are as few communicators as can
/// be, each of a part of the members, and splitting them again comes to smaller hardware.
Shared find_largest_part(const Communicator& comm, const object::Process& process,
                         std::span<const TypeOffer> offers)
{
    const engine::Scope& scope = comm.joint_scope();
    std::vector<int> nodes(scope.size);
    for (std::uint32_t i = 0; i < scope.size; ++i) {
        nodes[i] = static_cast<int>(process.node_of(scope.job_rank(i)));
    }
    const auto is_split = [](const std::vector<int>& colors) {
        return std::ranges::adjacent_find(colors, std::ranges::not_equal_to()) != colors.end();
    };
    if (is_split(nodes)) {
        return {nodes[scope.rank], std::string(node_name)};
    }
    for (std::size_t i = 0; i < platform::hardware_kinds; ++i) {
        std::vector<int> colors;
        for (const TypeOffer& offer : offers) {
            colors.push_back(color_of(0, offer.place.pieces[i]));
        }
        if (is_split(colors)) {
            return {colors[scope.rank], resource_name(static_cast<Hardware>(i))};
        }
    }
    return {};
}

Shared find_shared(Rank& rank, const Communicator& comm, const object::Info& info,
                   std::span<const TypeOffer> offers)
{
    const TypeOffer& own = offers[comm.joint_scope().rank];
    switch (own.split_type) {
        case MPI_COMM_TYPE_SHARED:
            return {rank.process().placement().node, {}};
        case MPI_COMM_TYPE_HW_UNGUIDED:
            return find_largest_part(comm, rank.process(), offers);
        case MPI_COMM_TYPE_RESOURCE_GUIDED:
            if (const std::string* const set = info.find(set_key); set != nullptr) {
                const std::vector<int> members = object::find_process_set(rank, *set);
                return {members.empty() ? MPI_UNDEFINED : members.front(), {}};
            }
            [[fallthrough]];
        case MPI_COMM_TYPE_HW_GUIDED:
            if (const std::string* const name = info.find(hardware_key); name != nullptr) {
                return {color_by_name(rank.process(), *name, own.place), {}};
            }
            [[fallthrough]];
        default:
            return {};
    }
}

const char* name_of_type(int split_type)
{
    switch (split_type) {
        case MPI_COMM_TYPE_SHARED:
            return "MPI_COMM_TYPE_SHARED";
        case MPI_COMM_TYPE_HW_UNGUIDED:
            return "MPI_COMM_TYPE_HW_UNGUIDED";
        case MPI_COMM_TYPE_HW_GUIDED:
            return "MPI_COMM_TYPE_HW_GUIDED";
        case MPI_COMM_TYPE_RESOURCE_GUIDED:
            return "MPI_COMM_TYPE_RESOURCE_GUIDED";
        case MPI_UNDEFINED:
            return "MPI_UNDEFINED";
        default:
            return nullptr;
    }
}

/// Local.
int check_arguments(Call& call, int split_type, const object::Info& info)
{
    if (name_of_type(split_type) == nullptr) {
        return call.fail(MPI_ERR_ARG,
                         "split_type = %d is no way to split; use "
                         "MPI_COMM_TYPE_SHARED, _HW_GUIDED, _HW_UNGUIDED, "
                         "_RESOURCE_GUIDED or MPI_UNDEFINED",
                         split_type);
    }
    if (split_type == MPI_COMM_TYPE_RESOURCE_GUIDED && info.find(hardware_key) != nullptr &&
        info.find(set_key) != nullptr) {
        return call.fail(MPI_ERR_INFO,
                         "the info has mpi_hw_resource_type and mpi_pset_name; give one of them");
    }
    return MPI_SUCCESS;
}

/// All who do not stay out must ask for the same. Fails on all members or on none.
int check_agreement(Call& call, const Communicator& comm, std::span<const TypeOffer> offers)
{
    const auto stays_out = [](const TypeOffer& offer) { return offer.split_type == MPI_UNDEFINED; };
    const auto first = std::ranges::find_if_not(offers, stays_out);
    const auto other = std::ranges::find_if(first, offers.end(), [&](const TypeOffer& offer) {
        return !stays_out(offer) &&
               (offer.split_type != first->split_type || offer.resource != first->resource);
    });
    if (other == offers.end()) {
        return MPI_SUCCESS;
    }
    const auto rank_of_offer = [&](auto offer) {
        return comm.joint_scope().job_rank(static_cast<std::uint32_t>(offer - offers.begin()));
    };
    if (other->split_type != first->split_type) {
        return call.fail(MPI_ERR_ARG,
                         "split_type is %s on rank %u but %s on rank %u; give the same on all "
                         "ranks, or MPI_UNDEFINED",
                         name_of_type(first->split_type), rank_of_offer(first),
                         name_of_type(other->split_type), rank_of_offer(other));
    }
    return call.fail(MPI_ERR_INFO_VALUE,
                     "the infos of rank %u and rank %u name different resources; give the same on "
                     "all ranks",
                     rank_of_offer(first), rank_of_offer(other));
}

/// What a type that needs a name is given, as a number.
int resource_of(int split_type, const object::Info& info)
{
    const std::string* const name = split_type == MPI_COMM_TYPE_HW_GUIDED ? info.find(hardware_key)
                                    : split_type != MPI_COMM_TYPE_RESOURCE_GUIDED ? nullptr
                                    : info.find(set_key) != nullptr ? info.find(set_key)
                                                                    : info.find(hardware_key);
    std::string lower = name != nullptr ? *name : "";
    std::ranges::transform(lower, lower.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));
    });
    return tag_of_text(lower.c_str());
}

/// Says in the caller's info what the new communicator stands for (MPI-5.0 section 7.4.2).
void name_resource(Call& call, MPI_Info info, const std::string& name)
{
    if (info != MPI_INFO_NULL && info != MPI_INFO_ENV) {
        const AnyTimeAccess access(call);
        find_any_time<object::Info>(call, info)->set(hardware_key, name);
    }
}

}  // namespace

namespace call {

int Comm_split_type(Call& call, Communicator* comm, int split_type, int key, MPI_Info info,
                    MPI_Comm* newcomm)
{
    const object::Info given = hints_of(call, info);
    if (const int error = check_arguments(call, split_type, given); error != MPI_SUCCESS) {
        return error;
    }
    if (const int error = check_order(call, *comm); error != MPI_SUCCESS) [[unlikely]] {
        return error;
    }
    Rank& rank = rank_of(call);
    const TypeOffer own{split_type, resource_of(split_type, given),
                        rank.process().hardware_of_rank()};
    std::vector<TypeOffer> offers(comm->joint_scope().size);
    if (!object::allgather_bytes(rank, *comm, &own, offers.data(), sizeof own)) {
        return fail_for_memory(call);
    }
    if (const int error = check_agreement(call, *comm, offers); error != MPI_SUCCESS) {
        return error;
    }
    const Shared shared = find_shared(rank, *comm, given, offers);
    if (const int error = split_in_turn(call, *comm, shared.color, key, newcomm);
        error != MPI_SUCCESS) {
        return error;
    }
    if (*newcomm != MPI_COMM_NULL && !shared.name.empty()) {
        name_resource(call, info, shared.name);
    }
    return take_first_hints(call, *newcomm, given);
}

int Get_hw_resource_info(Call& call, MPI_Info* hw_info)
{
    object::RankAccess* const rank = call.rank_or_null();
    const HardwarePlace place = rank != nullptr
                                    ? object::as_rank(*rank).process().hardware_of_rank()
                                    : platform::find_hardware(platform::allowed_cpus());
    object::Info facts;
    for (std::size_t i = 0; i < platform::hardware_kinds; ++i) {
        const auto kind = static_cast<Hardware>(i);
        if (place.of(kind) != HardwarePlace::unknown) {
            facts.set(resource_name(kind),
                      place.of(kind) == HardwarePlace::several ? "false" : "true");
        }
    }
    return make_info(call, std::move(facts), hw_info);
}

}  // namespace call
}  // namespace headway::abi

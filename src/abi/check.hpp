// SPDX-License-Identifier: Apache-2.0
// What entry points check: `is_...` are a few instructions each, inline; `refuse_...` find the
// words, raise the error handler and return the class, out of line.
#pragma once

#include <cstdint>

#include "abi/call.hpp"
#include "engine/sync_object.hpp"
#include "object/datatype.hpp"
#include "object/group.hpp"
#include "object/handle.hpp"
#include "object/info.hpp"

namespace headway::abi {

inline bool is_dest(int rank, int size) noexcept
{
    return static_cast<unsigned>(rank) < static_cast<unsigned>(size) || rank == MPI_PROC_NULL;
}

inline bool is_source(int rank, int size) noexcept
{
    return is_dest(rank, size) || rank == MPI_ANY_SOURCE;
}

/// A rank that messages can name; of an inter-communicator also what the root and the others of its
/// group say.
inline bool is_root(int root, const object::Communicator& comm) noexcept
{
    return static_cast<unsigned>(root) < static_cast<unsigned>(comm.peer_count()) ||
           (comm.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL));
}

/// This rank is the root.
inline bool is_at_root(int root, const object::Communicator& comm) noexcept
{
    return comm.is_inter() ? root == MPI_ROOT : root == comm.rank();
}

inline bool is_tag(int tag) noexcept
{
    return tag >= 0 && tag <= object::tag_upper_bound;
}
inline bool is_recv_tag(int tag) noexcept
{
    return is_tag(tag) || tag == MPI_ANY_TAG;
}

inline bool is_color(int color) noexcept
{
    return color >= 0 || color == MPI_UNDEFINED;
}

/// What communication can use: derived types must be committed.
inline bool is_datatype(const object::RankAccess& rank, MPI_Datatype datatype) noexcept
{
    if (object::predefined_size_bytes(object::bits_of(datatype)) > 0) [[likely]] {
        return true;
    }
    const object::DerivedDatatype* derived = object::find_derived_datatype(rank, datatype);
    return derived != nullptr && derived->is_committed;
}

inline bool is_any_datatype(const object::RankAccess& rank, MPI_Datatype datatype) noexcept
{
    return object::predefined_size_bytes(object::bits_of(datatype)) > 0 ||
           object::find_derived_datatype(rank, datatype) != nullptr;
}

/// Whose size may be asked: the answer for one without a type here is MPI_UNDEFINED.
inline bool is_queried_datatype(const object::RankAccess& rank, MPI_Datatype datatype) noexcept
{
    return object::predefined_size_bytes(object::bits_of(datatype)) == object::datatype_not_here ||
           is_any_datatype(rank, datatype);
}

inline bool is_named_datatype(const object::RankAccess& rank, MPI_Datatype datatype) noexcept
{
    return datatype == MPI_DATATYPE_NULL || is_queried_datatype(rank, datatype);
}

inline bool is_op(const object::RankAccess& rank, MPI_Op op) noexcept
{
    const object::HandleBits bits = object::bits_of(op);
    return object::is_predefined_op(bits) || rank.handles->find(object::Kind::op, bits) != nullptr;
}

/// An object that may be made at any time, so also before there is a rank.
template <typename Object, typename Handle>
Object* find_any_time(const Call& call, Handle handle) noexcept
{
    const object::RankAccess* rank = call.rank_or_null();
    const object::HandleTable* handles =
        rank != nullptr ? rank->handles : object::current_handles();
    return handles != nullptr ? handles->find<Object>(handle) : nullptr;
}

inline bool is_info(const Call& call, MPI_Info info) noexcept
{
    return info == MPI_INFO_NULL || info == MPI_INFO_ENV ||
           find_any_time<object::Info>(call, info) != nullptr;
}

/// The slow half of is_buffer().
bool is_unusual_buffer(const Call& call, const void* buffer, MPI_Count count,
                       MPI_Datatype datatype) noexcept;

/// A null buffer is an address only for derived datatypes, which may hold absolute ones
/// (MPI_BOTTOM is null); MPI_IN_PLACE is no address; memory of a device cannot be reached.
inline bool is_buffer(const Call& call, const void* buffer, MPI_Count count,
                      MPI_Datatype datatype) noexcept
{
    return object::is_plain_buffer(call.rank(), buffer) ||
           is_unusual_buffer(call, buffer, count, datatype);
}

/// At least one block of a v-form is not empty. Requires a block for each of `size` ranks.
bool has_elements(const object::CountArray& counts, int size) noexcept;

/// The same for the buffers of v-forms, whose blocks have one datatype, or one each.
bool is_buffer(const Call& call, const void* buffer, const object::CountArray& counts,
               MPI_Datatype datatype, int size) noexcept;
bool is_buffer(const Call& call, const void* buffer, const object::CountArray& counts,
               const MPI_Datatype datatypes[], int size) noexcept;

/// Where it holds, count and datatype of that buffer are not looked at.
inline bool is_in_place(const void* buffer) noexcept
{
    return buffer == MPI_IN_PLACE;
}

/// The session behind a handle, from now on the source of error handlers; null: there is none.
object::Session* find_session(Call& call, MPI_Session handle) noexcept;

/// The sync object behind a handle, if it is one of the calling rank; else null.
engine::SyncObject* find_sync(const Call& call, MPIX_Sync handle) noexcept;

object::ErrorHandler* find_error_handler(const Call& call, MPI_Errhandler handle) noexcept;

// Each names the argument as the standard does, and what was given.
[[gnu::cold]] int refuse_communicator(Call& call, const char* name, MPI_Comm given);
[[gnu::cold]] int refuse_group(Call& call, const char* name, MPI_Group given);
[[gnu::cold]] int refuse_session(Call& call, const char* name, MPI_Session given);
[[gnu::cold]] int refuse_sync(Call& call, const char* name, MPIX_Sync given);
[[gnu::cold]] int refuse_error_handler(Call& call, const char* name, MPI_Errhandler given);
[[gnu::cold]] int refuse_datatype(Call& call, const char* name, MPI_Datatype given);
[[gnu::cold]] int refuse_op(Call& call, const char* name, MPI_Op given);
[[gnu::cold]] int refuse_info(Call& call, const char* name, MPI_Info given);
[[gnu::cold]] int refuse_buffer(Call& call, const char* name, const void* given);
[[gnu::cold]] int refuse_alias(Call& call, const char* name, const char* other);
[[gnu::cold]] int refuse_null(Call& call, const char* name);
[[gnu::cold]] int refuse_negative(Call& call, const char* name, MPI_Count given, int error_class);
[[gnu::cold]] int refuse_dest(Call& call, const char* name, int given, int size);
[[gnu::cold]] int refuse_source(Call& call, const char* name, int given, int size);
[[gnu::cold]] int refuse_root(Call& call, const char* name, int given,
                              const object::Communicator& comm);
[[gnu::cold]] int refuse_tag(Call& call, const char* name, int given);
[[gnu::cold]] int refuse_recv_tag(Call& call, const char* name, int given);
[[gnu::cold]] int refuse_color(Call& call, const char* name, int given);

/// Looks at `count` ranks of a group; raises for the first that is none. MPI_SUCCESS if all are.
int check_group_ranks(Call& call, const char* name, const int ranks[], int count,
                      const object::Group& group, bool allows_proc_null);

/// Look at `size` counts or datatypes, one for each rank or block; raise for the first that is
/// wrong.
int check_counts(Call& call, const char* name, const object::CountArray& counts, MPI_Count size);
int check_datatypes(Call& call, const char* name, const MPI_Datatype datatypes[], int size);
int check_any_datatypes(Call& call, const char* name, const MPI_Datatype datatypes[],
                        MPI_Count size);

/// What an `int` output says of a value that does not fit it (MPI-5.0, 3.2.5).
inline int narrow(MPI_Count value) noexcept
{
    const int result = static_cast<int>(value);
    return result == value ? result : MPI_UNDEFINED;
}

}  // namespace headway::abi

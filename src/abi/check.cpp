// SPDX-License-Identifier: Apache-2.0
#include "abi/check.hpp"

#include <cstddef>

#include "object/session.hpp"

namespace headway::abi {

namespace {

/// How a bad handle came about, as far as its bits tell.
const char* explain(const Call& call, object::HandleBits bits,
                    object::HandleBits null_bits) noexcept
{
    if (bits == null_bits) {
        return "is the null handle";
    }
    if (bits == 0) {
        return "is 0, which is no handle; it was perhaps never set";
    }
    const object::RankAccess* const rank = call.rank_or_null();
    if (!object::is_predefined(bits) && rank != nullptr && rank->handles != nullptr &&
        rank->handles->is_in_range(bits)) {
        return "was freed, or is a handle of another kind";
    }
    return "is no handle of that kind";
}

template <typename Handle>
int refuse_handle(Call& call, const char* name, Handle given, const char* what, int error_class)
{
    const object::HandleBits bits = object::bits_of(given);
    return call.raise(call.fail(error_class, "%s (argument %s, 0x%zx) %s", what, name,
                                static_cast<std::size_t>(bits),
                                explain(call, bits, object::HandleTraits<Handle>::null_bits)));
}

bool is_address(const void* buffer) noexcept
{
    return reinterpret_cast<std::uintptr_t>(buffer) > 1;
}

}  // namespace

bool has_elements(const object::CountArray& counts, int size) noexcept
{
    for (int index = 0; index < size; ++index) {
        if (counts[static_cast<std::size_t>(index)] != 0) {
            return true;
        }
    }
    return false;
}

bool is_unusual_buffer(const Call& call, const void* buffer, MPI_Count count,
                       MPI_Datatype datatype) noexcept
{
    if (is_address(buffer)) {
        return count == 0 || object::device_driver_of(call.rank(), buffer) == nullptr;
    }
    return buffer != MPI_IN_PLACE &&
           (count == 0 || !object::is_predefined(object::bits_of(datatype)));
}

bool is_buffer(const Call& call, const void* buffer, const object::CountArray& counts,
               MPI_Datatype datatype, int size) noexcept
{
    return is_buffer(call, buffer, 1, datatype) ||
           is_buffer(call, buffer, has_elements(counts, size) ? 1 : 0, datatype);
}

bool is_buffer(const Call& call, const void* buffer, const object::CountArray& counts,
               const MPI_Datatype datatypes[], int size) noexcept
{
    for (int index = 0; index < size; ++index) {
        if (!is_buffer(call, buffer, counts[static_cast<std::size_t>(index)], datatypes[index])) {
            return false;
        }
    }
    return true;
}

int check_counts(Call& call, const char* name, const object::CountArray& counts, MPI_Count size)
{
    for (MPI_Count index = 0; index < size; ++index) {
        const MPI_Count count = counts[static_cast<std::size_t>(index)];
        if (count < 0) {
            return call.raise(call.fail(
                MPI_ERR_COUNT, "entry %lld of argument %s is %lld; it must not be negative",
                static_cast<long long>(index), name, static_cast<long long>(count)));
        }
    }
    return MPI_SUCCESS;
}

int check_any_datatypes(Call& call, const char* name, const MPI_Datatype datatypes[],
                        MPI_Count size)
{
    for (MPI_Count index = 0; index < size; ++index) {
        if (!is_any_datatype(call.rank(), datatypes[index])) {
            return refuse_datatype(call, name, datatypes[index]);
        }
    }
    return MPI_SUCCESS;
}

int check_datatypes(Call& call, const char* name, const MPI_Datatype datatypes[], int size)
{
    for (int index = 0; index < size; ++index) {
        if (!is_datatype(call.rank(), datatypes[index])) {
            return refuse_datatype(call, name, datatypes[index]);
        }
    }
    return MPI_SUCCESS;
}

object::ErrorHandler* find_error_handler(const Call& call, MPI_Errhandler handle) noexcept
{
    object::ErrorHandler* const predefined =
        object::predefined_error_handler(object::bits_of(handle));
    return predefined != nullptr ? predefined : find_any_time<object::ErrorHandler>(call, handle);
}

object::Session* find_session(Call& call, MPI_Session handle) noexcept
{
    auto* const session = find_any_time<object::Session>(call, handle);
    if (session != nullptr) {
        call.set_error_holder(session->error_handler(), object::bits_of(handle));
    }
    return session;
}

int refuse_sync(Call& call, const char* name, MPIX_Sync given)
{
    return refuse_handle(call, name, given, "the sync object", MPI_ERR_ARG);
}

int refuse_communicator(Call& call, const char* name, MPI_Comm given)
{
    return refuse_handle(call, name, given, "the communicator", MPI_ERR_COMM);
}

int refuse_session(Call& call, const char* name, MPI_Session given)
{
    return refuse_handle(call, name, given, "the session", MPI_ERR_SESSION);
}

int refuse_group(Call& call, const char* name, MPI_Group given)
{
    return refuse_handle(call, name, given, "the group", MPI_ERR_GROUP);
}

int refuse_error_handler(Call& call, const char* name, MPI_Errhandler given)
{
    return refuse_handle(call, name, given, "the error handler", MPI_ERR_ERRHANDLER);
}

int refuse_datatype(Call& call, const char* name, MPI_Datatype given)
{
    const object::HandleBits bits = object::bits_of(given);
    if (object::predefined_size_bytes(bits) == object::datatype_not_here) {
        return call.raise(call.fail(MPI_ERR_TYPE,
                                    "the datatype (argument %s, 0x%zx) has no type on this "
                                    "machine; use another one",
                                    name, static_cast<std::size_t>(bits)));
    }
    const object::RankAccess* const rank = call.rank_or_null();
    if (rank != nullptr && object::find_derived_datatype(*rank, given) != nullptr) {
        return call.raise(call.fail(MPI_ERR_TYPE,
                                    "the datatype (argument %s, 0x%zx) is not committed; call "
                                    "MPI_Type_commit before communication uses it",
                                    name, static_cast<std::size_t>(bits)));
    }
    return refuse_handle(call, name, given, "the datatype", MPI_ERR_TYPE);
}

int refuse_op(Call& call, const char* name, MPI_Op given)
{
    return refuse_handle(call, name, given, "the operator", MPI_ERR_OP);
}

int refuse_info(Call& call, const char* name, MPI_Info given)
{
    return refuse_handle(call, name, given, "the info object", MPI_ERR_INFO);
}

int refuse_buffer(Call& call, const char* name, const void* given)
{
    if (is_address(given)) {
        const char* const driver = object::device_driver_of(call.rank(), given);
        return call.raise(call.fail(
            MPI_ERR_BUFFER,
            "argument %s (%p) is memory of a GPU (%s), which this version of Headway cannot reach; "
            "copy it to memory of the host and give that",
            name, given, driver != nullptr ? driver : "a driver"));
    }
    return call.raise(call.fail(
        MPI_ERR_BUFFER,
        given == MPI_IN_PLACE
            ? "argument %s is MPI_IN_PLACE, which this call does not allow there; give a buffer"
            : "argument %s is a null pointer but its count is not 0; give a buffer",
        name));
}

int refuse_alias(Call& call, const char* name, const char* other)
{
    return call.raise(call.fail(
        MPI_ERR_BUFFER,
        "arguments %s and %s are the same buffer; give MPI_IN_PLACE for one of them", name, other));
}

int refuse_null(Call& call, const char* name)
{
    return call.raise(call.fail(
        MPI_ERR_ARG, "argument %s is a null pointer; give the address of a variable", name));
}

int refuse_negative(Call& call, const char* name, MPI_Count given, int error_class)
{
    return call.raise(call.fail(error_class, "argument %s is %lld; it must not be negative", name,
                                static_cast<long long>(given)));
}

int refuse_dest(Call& call, const char* name, int given, int size)
{
    return call.raise(call.fail(
        MPI_ERR_RANK,
        "destination %d (argument %s) is outside the communicator's %d ranks (use 0 to %d or "
        "MPI_PROC_NULL)",
        given, name, size, size - 1));
}

int refuse_source(Call& call, const char* name, int given, int size)
{
    return call.raise(
        call.fail(MPI_ERR_RANK,
                  "source %d (argument %s) is outside the communicator's %d ranks (use 0 to %d, "
                  "MPI_ANY_SOURCE or MPI_PROC_NULL)",
                  given, name, size, size - 1));
}

int refuse_root(Call& call, const char* name, int given, const object::Communicator& comm)
{
    const int size = comm.peer_count();
    if (comm.is_inter()) {
        return call.raise(call.fail(
            MPI_ERR_ROOT,
            "root %d (argument %s) is outside the remote group's %d ranks (use 0 to %d; in the "
            "root's own group MPI_ROOT at the root and MPI_PROC_NULL at the others)",
            given, name, size, size - 1));
    }
    return call.raise(call.fail(
        MPI_ERR_ROOT, "root %d (argument %s) is outside the communicator's %d ranks (use 0 to %d)",
        given, name, size, size - 1));
}

int refuse_tag(Call& call, const char* name, int given)
{
    return call.raise(call.fail(MPI_ERR_TAG, "tag %d (argument %s) is not in 0 to %d", given, name,
                                object::tag_upper_bound));
}

int refuse_recv_tag(Call& call, const char* name, int given)
{
    return call.raise(call.fail(MPI_ERR_TAG,
                                "tag %d (argument %s) is not in 0 to %d and not MPI_ANY_TAG", given,
                                name, object::tag_upper_bound));
}

int refuse_color(Call& call, const char* name, int given)
{
    return call.raise(call.fail(
        MPI_ERR_ARG, "argument %s is %d; use a number from 0 on, or MPI_UNDEFINED", name, given));
}

int check_group_ranks(Call& call, const char* name, const int ranks[], int count,
                      const object::Group& group, bool allows_proc_null)
{
    for (int index = 0; index < count; ++index) {
        const int rank = ranks[index];
        if ((rank < 0 || rank >= group.size()) && !(allows_proc_null && rank == MPI_PROC_NULL)) {
            return call.raise(call.fail(
                MPI_ERR_RANK, "entry %d of argument %s is %d, outside the group's %d ranks", index,
                name, rank, group.size()));
        }
    }
    return MPI_SUCCESS;
}

}  // namespace headway::abi

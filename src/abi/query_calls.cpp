// SPDX-License-Identifier: Apache-2.0
// What the ABI lets a program ask about the library (MPI-5.0 chapter 20).
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <abi_calls.hpp>

#include "abi/any_time.hpp"
#include "object/info.hpp"

namespace headway::abi {
namespace {

/// Place of a LOGICAL of that size, or none.
std::optional<std::size_t> logical_index(int size)
{
    if (size < 1 || size > 16 || !std::has_single_bit(static_cast<unsigned>(size))) {
        return std::nullopt;
    }
    return static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(size)));
}

int fail_for_logical(Call& call, int size)
{
    return call.fail(MPI_ERR_ARG,
                     "logical_size = %d is no size of a Fortran LOGICAL; they have "
                     "1, 2, 4, 8 or 16 bytes",
                     size);
}

}  // namespace

namespace call {

int Abi_get_info(Call& call, MPI_Info* info)
{
    object::Info entries;
    entries.set("mpi_aint_size", std::to_string(sizeof(MPI_Aint)));
    entries.set("mpi_count_size", std::to_string(sizeof(MPI_Count)));
    entries.set("mpi_offset_size", std::to_string(sizeof(MPI_Offset)));
    return make_info(call, std::move(entries), info);
}

int Abi_get_fortran_info(Call& call, MPI_Info* info)
{
    const AnyTimeAccess access(call);
    if (!access.part.fortran_info) {
        *info = MPI_INFO_NULL;
        return MPI_SUCCESS;
    }
    return make_info(call, *access.part.fortran_info, info);
}

int Abi_set_fortran_info(Call& call, MPI_Info info)
{
    const AnyTimeAccess access(call);
    const object::Info* const given = readable_info(call, info);
    if (given == nullptr) {
        return MPI_ERR_INFO;
    }
    if (access.part.fortran_info) {
        return call.fail(MPI_ERR_ABI, "the facts of Fortran have been set before; set them once");
    }
    access.part.fortran_info = *given;
    return MPI_SUCCESS;
}

int Abi_get_fortran_booleans(Call& call, int logical_size, void* logical_true, void* logical_false,
                             int* is_set)
{
    const auto index = logical_index(logical_size);
    if (!index) {
        return fail_for_logical(call, logical_size);
    }
    const AnyTimeAccess access(call);
    const auto& stored = access.part.fortran_logicals[*index];
    *is_set = stored ? 1 : 0;
    if (stored) {
        const auto bytes = static_cast<std::size_t>(logical_size);
        std::memcpy(logical_true, stored->value_true.data(), bytes);
        std::memcpy(logical_false, stored->value_false.data(), bytes);
    }
    return MPI_SUCCESS;
}

int Abi_set_fortran_booleans(Call& call, int logical_size, void* logical_true, void* logical_false)
{
    const auto index = logical_index(logical_size);
    if (!index) {
        return fail_for_logical(call, logical_size);
    }
    if (logical_true == nullptr || logical_false == nullptr) {
        return call.fail(MPI_ERR_ARG, "a value of a LOGICAL is a null pointer");
    }
    const AnyTimeAccess access(call);
    auto& stored = access.part.fortran_logicals[*index];
    if (stored) {
        return call.fail(MPI_ERR_ABI,
                         "the values of a LOGICAL of %d bytes have been set before; "
                         "set them once",
                         logical_size);
    }
    const auto bytes = static_cast<std::size_t>(logical_size);
    stored.emplace();
    std::memcpy(stored->value_true.data(), logical_true, bytes);
    std::memcpy(stored->value_false.data(), logical_false, bytes);
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

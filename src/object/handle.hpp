// SPDX-License-Identifier: Apache-2.0
// ABI values are our handles. Predefined ones are the standard's integers below
// `predefined_limit`; all others are slot addresses of the process's HandleTable with six bits of
// the slot's generation in the low bits.
#pragma once

#include <array>
#include <cstdint>

#include <mpi-ext.h>
#include <mpi.h>

namespace headway::object {

/// What a handle stands for. Values are stored in slots; 0 marks a slot that holds nothing.
enum class Kind : std::uint8_t {
    none,
    communicator,
    group,
    datatype,
    op,
    error_handler,
    request,
    info,
    message,
    window,
    file,
    session,
    idle_request,      ///< a persistent request without an active operation
    freed_request,     ///< a generalized request that was freed and is not complete
    attached_request,  ///< an active request whose completion goes to a sync object
    sync_object,
};

/// The integer behind an ABI handle.
using HandleBits = std::uintptr_t;

/// Every predefined handle is below it; no slot address is.
constexpr HandleBits predefined_limit = 4096;

/// Kind and null value of each ABI handle type.
template <typename Handle>
struct HandleTraits;

#define HEADWAY_HANDLE_TRAITS(type, kind_name, null_value)  \
    template <>                                             \
    struct HandleTraits<type> {                             \
        static constexpr Kind kind = Kind::kind_name;       \
        static constexpr HandleBits null_bits = null_value; \
    }
HEADWAY_HANDLE_TRAITS(MPI_Comm, communicator, 0x100);
HEADWAY_HANDLE_TRAITS(MPI_Group, group, 0x108);
HEADWAY_HANDLE_TRAITS(MPI_Datatype, datatype, 0x200);
HEADWAY_HANDLE_TRAITS(MPI_Op, op, 0x020);
HEADWAY_HANDLE_TRAITS(MPI_Errhandler, error_handler, 0x140);
HEADWAY_HANDLE_TRAITS(MPI_Request, request, 0x180);
HEADWAY_HANDLE_TRAITS(MPI_Info, info, 0x130);
HEADWAY_HANDLE_TRAITS(MPI_Message, message, 0x128);
HEADWAY_HANDLE_TRAITS(MPI_Win, window, 0x110);
HEADWAY_HANDLE_TRAITS(MPI_File, file, 0x118);
HEADWAY_HANDLE_TRAITS(MPI_Session, session, 0x120);
HEADWAY_HANDLE_TRAITS(MPIX_Sync, sync_object, 0);
#undef HEADWAY_HANDLE_TRAITS

template <typename Handle>
HandleBits bits_of(Handle handle) noexcept
{
    return reinterpret_cast<HandleBits>(handle);
}

template <typename Handle>
Handle handle_from(HandleBits bits) noexcept
{
    return reinterpret_cast<Handle>(bits);
}

template <typename Handle>
Handle null_handle() noexcept
{
    return handle_from<Handle>(HandleTraits<Handle>::null_bits);
}

constexpr bool is_predefined(HandleBits bits) noexcept
{
    return bits < predefined_limit;
}

/// Block of the predefined datatypes: 0x200 (MPI_DATATYPE_NULL) to 0x2ff.
constexpr HandleBits datatype_first = 0x200;
constexpr HandleBits datatype_limit = 0x300;

/// Sizes of predefined datatypes: a positive number of bytes, or one of these.
constexpr std::int16_t no_such_datatype = 0;    ///< no handle of the standard, or the null handle
constexpr std::int16_t datatype_not_here = -1;  ///< a handle of the standard without a type here

/// Filled in handle_table.cpp from the ABI's bit encoding and the C types of this platform. Hidden,
/// so that a look-up does not go through the global offset table.
using DatatypeSizes = std::array<std::int16_t, datatype_limit - datatype_first>;
[[gnu::visibility("hidden")]] extern const DatatypeSizes predefined_sizes;

/// Bytes of a predefined datatype, `no_such_datatype` or `datatype_not_here`. Fixed-size types
/// carry log2 of the size in bits 3 to 5; which of them exist is known from the table only, so one
/// load answers both questions.
inline int predefined_size_bytes(HandleBits bits) noexcept
{
    const HandleBits index = bits - datatype_first;
    return index < predefined_sizes.size() ? predefined_sizes[index] : no_such_datatype;
}

/// Predefined operators, MPI_SUM to MPI_NO_OP.
constexpr bool is_predefined_op(HandleBits bits) noexcept
{
    // One bit per value from 0x20 on: sum min max prod, band bor bxor, land lor lxor,
    // minloc maxloc, replace no_op.
    constexpr std::uint32_t known = 0x3307'071EU;
    return bits - 0x20U < 32U && ((known >> (bits - 0x20U)) & 1U) != 0;
}

}  // namespace headway::object

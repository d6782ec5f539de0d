// SPDX-License-Identifier: Apache-2.0
// What can be asked of a datatype or a status, and the life of a derived type (MPI-5.0 chapter 5
// and section 3.2.5).
#include <optional>

#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/datatype.hpp"
#include "object/status.hpp"

namespace headway::abi {
namespace {

/// The derived type behind a handle that is to be changed; null, and the call failed, where there
/// is none.
object::DerivedDatatype* derived_of(Call& call, MPI_Datatype handle, const char* change)
{
    auto* const derived = object::find_derived_datatype(call.rank(), handle);
    if (derived != nullptr && !derived->is_permanent() && !derived->is_freed) {
        return derived;
    }
    const bool is_predefined = (derived != nullptr && derived->is_permanent()) ||
                               object::find_predefined_datatype(handle) != nullptr;
    call.fail(MPI_ERR_TYPE,
              is_predefined
                  ? "the datatype (argument datatype, 0x%zx) is predefined and cannot be %s"
                  : "the datatype (argument datatype, 0x%zx) is no live one, so it cannot "
                    "be %s",
              static_cast<std::size_t>(object::bits_of(handle)), change);
    return nullptr;
}

}  // namespace

namespace call {

int Get_address(Call& /*call*/, const void* location, MPI_Aint* address)
{
    *address = reinterpret_cast<MPI_Aint>(location);
    return MPI_SUCCESS;
}

int Type_size(Call& call, MPI_Datatype datatype, MPI_Count* size)
{
    // Types of languages or formats that this platform lacks have a handle and no size.
    const object::Datatype* type = object::find_datatype(call.rank(), datatype);
    *size = type != nullptr ? static_cast<MPI_Count>(type->size_bytes) : MPI_Count{MPI_UNDEFINED};
    return MPI_SUCCESS;
}

int Type_get_extent(Call& call, MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent)
{
    const data::Layout& layout = *type_of(call, datatype).layout;
    *lb = layout.lower_bound;
    *extent = layout.extent;
    return MPI_SUCCESS;
}

int Type_get_true_extent(Call& call, MPI_Datatype datatype, MPI_Count* true_lb,
                         MPI_Count* true_extent)
{
    const data::ByteRange data = type_of(call, datatype).layout->data;
    *true_lb = data.begin;
    *true_extent = data.end - data.begin;
    return MPI_SUCCESS;
}

int Get_count(Call& call, const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)
{
    const std::int64_t bytes = object::status_bytes(*status);
    const auto size = static_cast<std::int64_t>(type_of(call, datatype).size_bytes);
    if (size == 0) {
        *count = bytes == 0 ? 0 : MPI_UNDEFINED;
    } else {
        *count = bytes % size == 0 ? bytes / size : MPI_Count{MPI_UNDEFINED};
    }
    return MPI_SUCCESS;
}

int Get_elements(Call& call, const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)
{
    const auto bytes = static_cast<std::uint64_t>(object::status_bytes(*status));
    const auto elements = type_of(call, datatype).layout->signature->elements_in(bytes);
    *count = elements ? static_cast<MPI_Count>(*elements) : MPI_Count{MPI_UNDEFINED};
    return MPI_SUCCESS;
}

int Status_set_elements(Call& call, MPI_Status* status, MPI_Datatype datatype, MPI_Count count)
{
    const object::Datatype& type = type_of(call, datatype);
    const auto bytes = count >= 0
                           ? type.layout->signature->bytes_of(static_cast<std::uint64_t>(count))
                           : std::nullopt;
    if (!bytes) {
        return call.fail(MPI_ERR_COUNT, "the datatype cannot hold %lld basic elements",
                         static_cast<long long>(count));
    }
    object::set_status_bytes(*status, static_cast<std::int64_t>(*bytes));
    return MPI_SUCCESS;
}

int Type_commit(Call& call, MPI_Datatype* datatype)
{
    if (object::find_predefined_datatype(*datatype) != nullptr) {
        return MPI_SUCCESS;
    }
    auto* const derived = object::find_derived_datatype(call.rank(), *datatype);
    if (derived == nullptr) {
        (void)derived_of(call, *datatype, "committed");
        return MPI_ERR_TYPE;
    }
    derived->is_committed = true;
    return MPI_SUCCESS;
}

int Type_free(Call& call, MPI_Datatype* datatype)
{
    object::DerivedDatatype* const derived = derived_of(call, *datatype, "freed");
    if (derived == nullptr) {
        return MPI_ERR_TYPE;
    }
    const int code = object::delete_attributes(derived->notes.attributes, *datatype);
    if (code != MPI_SUCCESS) {
        return call.fail(code, "a callback of an attribute of the datatype answered %d", code);
    }
    derived->is_freed = true;
    object::drop_datatype(rank_of(call), *datatype);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

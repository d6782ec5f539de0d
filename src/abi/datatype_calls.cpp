// SPDX-License-Identifier: Apache-2.0
// What can be asked of a datatype or a status (MPI-5.0 chapter 5 and section 3.2.5).
#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/datatype.hpp"
#include "object/status.hpp"

namespace headway::abi::call {

int Get_address(Call& /*call*/, const void* location, MPI_Aint* address)
{
    *address = reinterpret_cast<MPI_Aint>(location);
    return MPI_SUCCESS;
}

int Type_size(Call& /*call*/, MPI_Datatype datatype, MPI_Count* size)
{
    // Types of languages or formats that this platform lacks have a handle and no size.
    const object::Datatype* type = object::find_datatype(datatype);
    *size = type != nullptr ? type->size_bytes : MPI_Count{MPI_UNDEFINED};
    return MPI_SUCCESS;
}

int Type_get_extent(Call& /*call*/, MPI_Datatype datatype, MPI_Count* lb, MPI_Count* extent)
{
    *lb = 0;
    *extent = object::find_datatype(datatype)->extent_bytes;
    return MPI_SUCCESS;
}

int Get_count(Call& /*call*/, const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)
{
    const std::int64_t bytes = object::status_bytes(*status);
    const std::int64_t size = object::find_datatype(datatype)->size_bytes;
    *count = bytes % size == 0 ? bytes / size : MPI_Count{MPI_UNDEFINED};
    return MPI_SUCCESS;
}

int Get_elements(Call& /*call*/, const MPI_Status* status, MPI_Datatype datatype, MPI_Count* count)
{
    const object::Datatype& type = *object::find_datatype(datatype);
    const std::int64_t bytes = object::status_bytes(*status);
    const std::int64_t rest = bytes % type.size_bytes;
    if (type.value_bytes == 0) {
        *count = rest == 0 ? bytes / type.size_bytes : MPI_Count{MPI_UNDEFINED};
        return MPI_SUCCESS;
    }
    // A pair of which only the value arrived counts one element.
    *count = bytes / type.size_bytes * 2 + (rest >= type.value_bytes ? 1 : 0);
    return MPI_SUCCESS;
}

}  // namespace headway::abi::call

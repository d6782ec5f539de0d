// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>

#include "abi/call.hpp"
#include "object/any_time.hpp"

namespace headway::abi {

/// What calls may use that are allowed at any time, locked: they may come from several threads at
/// any thread level. Let go before a callback or an error handler runs.
struct AnyTimeAccess {
    explicit AnyTimeAccess(Call& call)
        : part(object::any_time_part(call.rank_or_null())), guard(part.mutex)
    {
    }

    object::AnyTimePart& part;
    std::lock_guard<std::mutex> guard;
};

/// A new handle for an object that belongs to the rank or, without one, to the process. False, and
/// the call failed, where the table is full.
template <typename Handle>
bool acquire_any_time(Call& call, object::AnyTimePart& part, void* object, Handle* handle)
{
    *handle = part.pool.acquire<Handle>(object);
    if (object::bits_of(*handle) == 0) [[unlikely]] {
        *handle = object::null_handle<Handle>();
        call.fail(MPI_ERR_INTERN, "16 million handles are alive; free what is not used any more");
        return false;
    }
    return true;
}

/// The object behind an info that may be read: of the application, or MPI_INFO_ENV. Null, and the
/// call failed with MPI_ERR_INFO, for others.
const object::Info* readable_info(Call& call, MPI_Info info);

/// A new info object with these entries.
int make_info(Call& call, object::Info entries, MPI_Info* info);

/// A handle for a user's error handler that was just made.
int make_error_handler(Call& call, std::unique_ptr<object::ErrorHandler> made,
                       MPI_Errhandler* errhandler);
/// What a caller gets who asks for the handler that an object has; he frees it.
int share_error_handler(Call& call, object::ErrorHandler& handler, MPI_Errhandler* errhandler);

/// What a caller passed where MPI_INFO_NULL means nothing. Requires a checked handle.
object::Info hints_of(Call& call, MPI_Info info);

}  // namespace headway::abi

// SPDX-License-Identifier: Apache-2.0
// Calls that need no state of a rank.
#include <chrono>
#include <cstdint>

#include <abi_calls.hpp>

#include "abi/call.hpp"
#include "abi/check.hpp"
#include "object/status.hpp"
#include "platform/cpu.hpp"

namespace headway::abi::call {

namespace {

template <typename Handle>
int to_integer(Handle handle) noexcept
{
    const object::HandleBits bits = object::bits_of(handle);
    if (object::is_predefined(bits)) {
        return static_cast<int>(bits);
    }
    const object::HandleTable* const handles = object::current_handles();
    return handles != nullptr ? handles->to_integer(bits) : -1;
}

/// Integers that no handle has give 0, which every call refuses.
template <typename Handle>
Handle from_integer(int integer) noexcept
{
    if (integer >= 0 && object::is_predefined(static_cast<object::HandleBits>(integer))) {
        return object::handle_from<Handle>(static_cast<object::HandleBits>(integer));
    }
    const object::HandleTable* const handles = object::current_handles();
    return object::handle_from<Handle>(handles != nullptr ? handles->from_integer(integer) : 0);
}

}  // namespace

int Comm_toint(MPI_Comm comm)
{
    return to_integer(comm);
}
int Errhandler_toint(MPI_Errhandler errhandler)
{
    return to_integer(errhandler);
}
int File_toint(MPI_File file)
{
    return to_integer(file);
}
int Group_toint(MPI_Group group)
{
    return to_integer(group);
}
int Info_toint(MPI_Info info)
{
    return to_integer(info);
}
int Message_toint(MPI_Message message)
{
    return to_integer(message);
}
int Op_toint(MPI_Op op)
{
    return to_integer(op);
}
int Request_toint(MPI_Request request)
{
    return to_integer(request);
}
int Session_toint(MPI_Session session)
{
    return to_integer(session);
}
int Type_toint(MPI_Datatype datatype)
{
    return to_integer(datatype);
}
int Win_toint(MPI_Win win)
{
    return to_integer(win);
}

MPI_Comm Comm_fromint(int comm)
{
    return from_integer<MPI_Comm>(comm);
}
MPI_Errhandler Errhandler_fromint(int errhandler)
{
    return from_integer<MPI_Errhandler>(errhandler);
}
MPI_File File_fromint(int file)
{
    return from_integer<MPI_File>(file);
}
MPI_Group Group_fromint(int group)
{
    return from_integer<MPI_Group>(group);
}
MPI_Info Info_fromint(int info)
{
    return from_integer<MPI_Info>(info);
}
MPI_Message Message_fromint(int message)
{
    return from_integer<MPI_Message>(message);
}
MPI_Op Op_fromint(int op)
{
    return from_integer<MPI_Op>(op);
}
MPI_Request Request_fromint(int request)
{
    return from_integer<MPI_Request>(request);
}
MPI_Session Session_fromint(int session)
{
    return from_integer<MPI_Session>(session);
}
MPI_Datatype Type_fromint(int datatype)
{
    return from_integer<MPI_Datatype>(datatype);
}
MPI_Win Win_fromint(int win)
{
    return from_integer<MPI_Win>(win);
}

// Monotonic, so that an interval is right even while somebody sets the clock.
double Wtime()
{
    platform::scheduling_point();  // a rank may look at the clock until it is late enough
    return std::chrono::duration<double>(std::chrono::nanoseconds(platform::monotonic_ns()))
        .count();
}

double Wtick()
{
    return std::chrono::duration<double>(std::chrono::nanoseconds(1)).count();
}

// Addresses wrap as unsigned numbers do; the sum of pointers seen as signed ones may overflow.
MPI_Aint Aint_add(MPI_Aint base, MPI_Aint disp)
{
    return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(base) +
                                 static_cast<std::uintptr_t>(disp));
}

MPI_Aint Aint_diff(MPI_Aint addr1, MPI_Aint addr2)
{
    return static_cast<MPI_Aint>(static_cast<std::uintptr_t>(addr1) -
                                 static_cast<std::uintptr_t>(addr2));
}

/// Profiling control means nothing without a profiler (MPI-5.0, 15.2.4).
int Pcontrol(int /*level*/)
{
    return MPI_SUCCESS;
}

int Get_version(Call&, int* version, int* subversion)
{
    *version = MPI_VERSION;
    *subversion = MPI_SUBVERSION;
    return MPI_SUCCESS;
}

int Abi_get_version(Call&, int* abi_major, int* abi_minor)
{
    *abi_major = MPI_ABI_VERSION;
    *abi_minor = MPI_ABI_SUBVERSION;
    return MPI_SUCCESS;
}

int Status_get_source(Call&, const MPI_Status* status, int* source)
{
    *source = status->MPI_SOURCE;
    return MPI_SUCCESS;
}

int Status_get_tag(Call&, const MPI_Status* status, int* tag)
{
    *tag = status->MPI_TAG;
    return MPI_SUCCESS;
}

int Status_get_error(Call&, const MPI_Status* status, int* err)
{
    *err = status->MPI_ERROR;
    return MPI_SUCCESS;
}

int Status_set_source(Call&, MPI_Status* status, int source)
{
    status->MPI_SOURCE = source;
    return MPI_SUCCESS;
}

int Status_set_tag(Call&, MPI_Status* status, int tag)
{
    status->MPI_TAG = tag;
    return MPI_SUCCESS;
}

int Status_set_error(Call&, MPI_Status* status, int err)
{
    status->MPI_ERROR = err;
    return MPI_SUCCESS;
}

int Status_set_cancelled(Call&, MPI_Status* status, int flag)
{
    object::set_status_cancelled(*status, flag != 0);
    return MPI_SUCCESS;
}

int Test_cancelled(Call&, const MPI_Status* status, int* flag)
{
    *flag = object::is_status_cancelled(*status) ? 1 : 0;
    return MPI_SUCCESS;
}

}  // namespace headway::abi::call

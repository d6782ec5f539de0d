// SPDX-License-Identifier: Apache-2.0
#include "object/error_class.hpp"

#include <array>
#include <cstddef>

#include <mpi.h>

namespace headway::object {

namespace {

struct Entry {
    int error_class;
    const char* name;
    const char* text;
};

constexpr auto entries = std::to_array<Entry>({
    {MPI_SUCCESS, "MPI_SUCCESS", "no error"},
    {MPI_ERR_BUFFER, "MPI_ERR_BUFFER", "a buffer address cannot be used"},
    {MPI_ERR_COUNT, "MPI_ERR_COUNT", "a count is negative or too large"},
    {MPI_ERR_TYPE, "MPI_ERR_TYPE", "a datatype is not valid here"},
    {MPI_ERR_TAG, "MPI_ERR_TAG", "a tag is out of range"},
    {MPI_ERR_COMM, "MPI_ERR_COMM", "a communicator is not valid"},
    {MPI_ERR_RANK, "MPI_ERR_RANK", "a rank is not in the communicator or group"},
    {MPI_ERR_REQUEST, "MPI_ERR_REQUEST", "a request is not valid"},
    {MPI_ERR_ROOT, "MPI_ERR_ROOT", "a root is not a rank of the communicator"},
    {MPI_ERR_GROUP, "MPI_ERR_GROUP", "a group is not valid"},
    {MPI_ERR_OP, "MPI_ERR_OP", "an operator is not valid here"},
    {MPI_ERR_TOPOLOGY, "MPI_ERR_TOPOLOGY", "the communicator has no such topology"},
    {MPI_ERR_DIMS, "MPI_ERR_DIMS", "a dimension is not valid"},
    {MPI_ERR_ARG, "MPI_ERR_ARG", "an argument is not valid"},
    {MPI_ERR_UNKNOWN, "MPI_ERR_UNKNOWN", "the cause is not known"},
    {MPI_ERR_TRUNCATE, "MPI_ERR_TRUNCATE", "a message was longer than the receive buffer"},
    {MPI_ERR_OTHER, "MPI_ERR_OTHER", "an error without a class of its own; the text says which"},
    {MPI_ERR_INTERN, "MPI_ERR_INTERN", "Headway contradicts itself or ran out of a resource"},
    {MPI_ERR_PENDING, "MPI_ERR_PENDING", "the operation is neither complete nor in error"},
    {MPI_ERR_IN_STATUS, "MPI_ERR_IN_STATUS", "the errors are in the statuses"},
    {MPI_ERR_ACCESS, "MPI_ERR_ACCESS", "permission denied"},
    {MPI_ERR_AMODE, "MPI_ERR_AMODE", "the access mode of a file is not valid"},
    {MPI_ERR_ASSERT, "MPI_ERR_ASSERT", "an assertion of a one-sided call is not valid"},
    {MPI_ERR_BAD_FILE, "MPI_ERR_BAD_FILE", "a file name is not valid"},
    {MPI_ERR_BASE, "MPI_ERR_BASE", "a null base address for a window"},
    {MPI_ERR_CONVERSION, "MPI_ERR_CONVERSION", "a conversion of data failed"},
    {MPI_ERR_DISP, "MPI_ERR_DISP", "a displacement is not valid"},
    {MPI_ERR_DUP_DATAREP, "MPI_ERR_DUP_DATAREP", "the data representation is registered already"},
    {MPI_ERR_FILE_EXISTS, "MPI_ERR_FILE_EXISTS", "the file exists"},
    {MPI_ERR_FILE_IN_USE, "MPI_ERR_FILE_IN_USE", "the file is open"},
    {MPI_ERR_FILE, "MPI_ERR_FILE", "a file handle is not valid"},
    {MPI_ERR_INFO_KEY, "MPI_ERR_INFO_KEY", "an info key is not valid"},
    {MPI_ERR_INFO_NOKEY, "MPI_ERR_INFO_NOKEY", "the info object has no such key"},
    {MPI_ERR_INFO_VALUE, "MPI_ERR_INFO_VALUE", "an info value is not valid"},
    {MPI_ERR_INFO, "MPI_ERR_INFO", "an info object is not valid"},
    {MPI_ERR_IO, "MPI_ERR_IO", "reading or writing a file failed"},
    {MPI_ERR_KEYVAL, "MPI_ERR_KEYVAL", "an attribute key is not valid"},
    {MPI_ERR_LOCKTYPE, "MPI_ERR_LOCKTYPE", "a lock type is not valid"},
    {MPI_ERR_NAME, "MPI_ERR_NAME", "a service name is not published"},
    {MPI_ERR_NO_MEM, "MPI_ERR_NO_MEM", "memory is exhausted"},
    {MPI_ERR_NOT_SAME, "MPI_ERR_NOT_SAME", "an argument differs between ranks that must agree"},
    {MPI_ERR_NO_SPACE, "MPI_ERR_NO_SPACE", "the device is full"},
    {MPI_ERR_NO_SUCH_FILE, "MPI_ERR_NO_SUCH_FILE", "the file does not exist"},
    {MPI_ERR_PORT, "MPI_ERR_PORT", "a port name is not valid"},
    {MPI_ERR_QUOTA, "MPI_ERR_QUOTA", "a quota is exceeded"},
    {MPI_ERR_READ_ONLY, "MPI_ERR_READ_ONLY", "the file or file system is read-only"},
    {MPI_ERR_RMA_ATTACH, "MPI_ERR_RMA_ATTACH", "memory cannot be attached to the window"},
    {MPI_ERR_RMA_CONFLICT, "MPI_ERR_RMA_CONFLICT", "accesses to a window conflict"},
    {MPI_ERR_RMA_RANGE, "MPI_ERR_RMA_RANGE", "the target memory is not part of the window"},
    {MPI_ERR_RMA_SHARED, "MPI_ERR_RMA_SHARED", "memory cannot be shared between these ranks"},
    {MPI_ERR_RMA_SYNC, "MPI_ERR_RMA_SYNC", "one-sided calls are in the wrong order"},
    {MPI_ERR_SERVICE, "MPI_ERR_SERVICE", "a service name cannot be published or taken back"},
    {MPI_ERR_SIZE, "MPI_ERR_SIZE", "a size is not valid"},
    {MPI_ERR_SPAWN, "MPI_ERR_SPAWN", "processes could not be started"},
    {MPI_ERR_UNSUPPORTED_DATAREP, "MPI_ERR_UNSUPPORTED_DATAREP",
     "the data representation is not supported"},
    {MPI_ERR_UNSUPPORTED_OPERATION, "MPI_ERR_UNSUPPORTED_OPERATION",
     "the operation is not supported"},
    {MPI_ERR_WIN, "MPI_ERR_WIN", "a window is not valid"},
    {MPI_ERR_RMA_FLAVOR, "MPI_ERR_RMA_FLAVOR", "the window is of the wrong kind"},
    {MPI_ERR_PROC_ABORTED, "MPI_ERR_PROC_ABORTED", "a process of the operation has ended"},
    {MPI_ERR_VALUE_TOO_LARGE, "MPI_ERR_VALUE_TOO_LARGE",
     "a value does not fit the argument that takes it"},
    {MPI_ERR_SESSION, "MPI_ERR_SESSION", "a session is not valid"},
    {MPI_ERR_ERRHANDLER, "MPI_ERR_ERRHANDLER", "an error handler is not valid"},
    {MPI_ERR_ABI, "MPI_ERR_ABI", "the ABI does not allow this"},
    {MPI_T_ERR_CANNOT_INIT, "MPI_T_ERR_CANNOT_INIT", "the tools interface cannot start"},
    {MPI_T_ERR_NOT_ACCESSIBLE, "MPI_T_ERR_NOT_ACCESSIBLE", "not accessible"},
    {MPI_T_ERR_NOT_INITIALIZED, "MPI_T_ERR_NOT_INITIALIZED", "the tools interface is not started"},
    {MPI_T_ERR_NOT_SUPPORTED, "MPI_T_ERR_NOT_SUPPORTED", "not supported by the tools interface"},
    {MPI_T_ERR_MEMORY, "MPI_T_ERR_MEMORY", "memory is exhausted"},
    {MPI_T_ERR_INVALID, "MPI_T_ERR_INVALID", "an argument is not valid"},
    {MPI_T_ERR_INVALID_INDEX, "MPI_T_ERR_INVALID_INDEX", "an index is not valid"},
    {MPI_T_ERR_INVALID_ITEM, "MPI_T_ERR_INVALID_ITEM", "an item index is out of range"},
    {MPI_T_ERR_INVALID_SESSION, "MPI_T_ERR_INVALID_SESSION", "a performance session is not valid"},
    {MPI_T_ERR_INVALID_HANDLE, "MPI_T_ERR_INVALID_HANDLE", "a handle is not valid"},
    {MPI_T_ERR_INVALID_NAME, "MPI_T_ERR_INVALID_NAME", "a name is not known"},
    {MPI_T_ERR_OUT_OF_HANDLES, "MPI_T_ERR_OUT_OF_HANDLES", "no more handles"},
    {MPI_T_ERR_OUT_OF_SESSIONS, "MPI_T_ERR_OUT_OF_SESSIONS", "no more performance sessions"},
    {MPI_T_ERR_CVAR_SET_NOT_NOW, "MPI_T_ERR_CVAR_SET_NOT_NOW", "the variable cannot be set now"},
    {MPI_T_ERR_CVAR_SET_NEVER, "MPI_T_ERR_CVAR_SET_NEVER", "the variable cannot be set"},
    {MPI_T_ERR_PVAR_NO_WRITE, "MPI_T_ERR_PVAR_NO_WRITE", "the variable cannot be written"},
    {MPI_T_ERR_PVAR_NO_STARTSTOP, "MPI_T_ERR_PVAR_NO_STARTSTOP",
     "the variable cannot be started or stopped"},
    {MPI_T_ERR_PVAR_NO_ATOMIC, "MPI_T_ERR_PVAR_NO_ATOMIC",
     "the variable cannot be read and reset at once"},
    {MPI_ERR_LASTCODE, "MPI_ERR_LASTCODE", "the last code that the standard reserves"},
});

const Entry* find_entry(int error_class) noexcept
{
    const auto index = static_cast<std::size_t>(error_class);
    // Classes from 0 on stand at their own index; the others are few and asked for rarely.
    if (index < entries.size() && entries[index].error_class == error_class) {
        return &entries[index];
    }
    for (const Entry& entry : entries) {
        if (entry.error_class == error_class) {
            return &entry;
        }
    }
    return nullptr;
}

}  // namespace

const char* error_class_name(int error_class) noexcept
{
    const Entry* entry = find_entry(error_class);
    return entry != nullptr ? entry->name : nullptr;
}

const char* error_class_text(int error_class) noexcept
{
    const Entry* entry = find_entry(error_class);
    return entry != nullptr ? entry->text : nullptr;
}

}  // namespace headway::object

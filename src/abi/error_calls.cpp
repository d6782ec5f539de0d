// SPDX-License-Identifier: Apache-2.0
// Error handlers, classes and strings (MPI-5.0 sections 9.3 to 9.5).
#include <cstdio>
#include <cstring>

#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/error_class.hpp"
#include "object/error_handler.hpp"

namespace headway::abi::call {

using object::Communicator;
using object::ErrorHandler;

int Comm_create_errhandler(Call& call, MPI_Comm_errhandler_function* function,
                           MPI_Errhandler* errhandler)
{
    auto* made = new ErrorHandler(function);
    *errhandler = rank_of(call).pool().acquire<MPI_Errhandler>(made);
    made->set_handle(*errhandler);
    made->user_handles = 1;
    return MPI_SUCCESS;
}

int Comm_set_errhandler(Call& call, Communicator* comm, ErrorHandler* handler)
{
    if (!handler->is_for_communicators()) {
        return call.fail(MPI_ERR_ERRHANDLER, "the error handler was not made for communicators; "
                                             "make one with MPI_Comm_create_errhandler");
    }
    comm->set_error_handler(handler);
    return MPI_SUCCESS;
}

int Comm_get_errhandler(Call& call, Communicator* comm, MPI_Errhandler* errhandler)
{
    ErrorHandler* handler = comm->error_handler();
    if (handler->action() != ErrorHandler::Action::user) {
        *errhandler = handler->handle();
        return MPI_SUCCESS;
    }
    // The caller frees what it gets; it is the value that others hold, too (MPI-5.0 section 9.3).
    handler->add_reference();
    if (handler->user_handles++ == 0) {
        handler->set_handle(rank_of(call).pool().acquire<MPI_Errhandler>(handler));
    }
    *errhandler = handler->handle();
    return MPI_SUCCESS;
}

int Comm_call_errhandler(Call& call, Communicator* comm, int errorcode)
{
    call.set_error_source(comm);
    const int ignored = call.raise(errorcode);
    static_cast<void>(ignored);
    return MPI_SUCCESS;
}

int Errhandler_free(Call& call, ErrorHandler* handler, MPI_Errhandler* errhandler)
{
    if (handler->action() == ErrorHandler::Action::user) {
        if (--handler->user_handles == 0) {
            rank_of(call).pool().release(*errhandler);
        }
        if (handler->drop_reference()) {
            delete handler;
        }
    }
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}

int Error_class(Call& call, int errorcode, int* errorclass)
{
    if (object::error_class_name(errorcode) == nullptr) {
        return call.fail(MPI_ERR_ARG, "%d is no error code of Headway", errorcode);
    }
    *errorclass = errorcode;
    return MPI_SUCCESS;
}

int Error_string(Call& call, int errorcode, char* string, int* resultlen)
{
    const char* const name = object::error_class_name(errorcode);
    const char* const text = object::error_class_text(errorcode);
    if (name == nullptr) {
        return call.fail(MPI_ERR_ARG, "%d is no error code of Headway", errorcode);
    }
    char buffer[MPI_MAX_ERROR_STRING];
    const int length = std::snprintf(buffer, sizeof buffer, "%s: %s", name,
                                     text != nullptr ? text : "failed");
    const auto bytes = static_cast<std::size_t>(length);
    std::memcpy(string, buffer, bytes + 1);
    *resultlen = length;
    return MPI_SUCCESS;
}

}  // namespace headway::abi::call

// SPDX-License-Identifier: Apache-2.0
// Error handlers, classes and strings (MPI-5.0 sections 9.3 to 9.5).
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "abi/any_time.hpp"
#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/error_handler.hpp"

namespace headway::abi {

using object::Communicator;
using object::ErrorCodes;
using object::ErrorHandler;

namespace {

int fail_for_code(Call& call, int code)
{
    return call.fail(MPI_ERR_ARG,
                     "%d is no error code: neither of the standard nor added by "
                     "MPI_Add_error_class or _code",
                     code);
}

int say_refusal(Call& call, ErrorCodes::Refusal refusal, int code)
{
    using Refusal = ErrorCodes::Refusal;
    switch (refusal) {
        case Refusal::none:
            return MPI_SUCCESS;
        case Refusal::predefined:
            return call.fail(MPI_ERR_ARG, "error code %d is the standard's and cannot be changed",
                             code);
        case Refusal::wrong_kind:
            return call.fail(MPI_ERR_ARG, "%d was added as the other of class and code", code);
        case Refusal::has_string:
            return call.fail(MPI_ERR_ARG, "%d still has a string; remove that first", code);
        case Refusal::has_codes:
            return call.fail(MPI_ERR_ARG, "class %d still has codes; remove those first", code);
        case Refusal::no_string:
            return call.fail(MPI_ERR_ARG, "%d has no string to remove", code);
        case Refusal::unknown:
            break;
    }
    return fail_for_code(call, code);
}

}  // namespace

int make_error_handler(Call& call, std::unique_ptr<ErrorHandler> made, MPI_Errhandler* errhandler)
{
    object::AnyTimePart& part = object::any_time_part(call.rank_or_null());
    if (!acquire_any_time(call, part, made.get(), errhandler)) {
        return MPI_ERR_INTERN;
    }
    made->set_handle(*errhandler);
    made.release()->user_handles = 1;
    return MPI_SUCCESS;
}

int share_error_handler(Call& call, ErrorHandler& handler, MPI_Errhandler* errhandler)
{
    if (handler.action() != ErrorHandler::Action::user) {
        *errhandler = handler.handle();
        return MPI_SUCCESS;
    }
    // The caller frees what it gets; it is the value that others hold, too (MPI-5.0 section 9.3).
    const AnyTimeAccess access(call);
    if (handler.user_handles == 0) {
        MPI_Errhandler made;
        if (!acquire_any_time(call, access.part, &handler, &made)) {
            return MPI_ERR_INTERN;
        }
        handler.set_handle(made);
    }
    ++handler.user_handles;
    handler.add_reference();
    *errhandler = handler.handle();
    return MPI_SUCCESS;
}

namespace call {

int Comm_create_errhandler(Call& call, MPI_Comm_errhandler_function* function,
                           MPI_Errhandler* errhandler)
{
    return make_error_handler(call, std::make_unique<ErrorHandler>(function), errhandler);
}

int Comm_set_errhandler(Call& call, Communicator* comm, ErrorHandler* handler)
{
    if (!handler->is_for(ErrorHandler::Suits::communicator)) {
        return call.fail(MPI_ERR_ERRHANDLER,
                         "the error handler was not made for communicators; "
                         "make one with MPI_Comm_create_errhandler");
    }
    comm->set_error_handler(handler);
    return MPI_SUCCESS;
}

int Comm_get_errhandler(Call& call, Communicator* comm, MPI_Errhandler* errhandler)
{
    return share_error_handler(call, *comm->error_handler(), errhandler);
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
        const AnyTimeAccess access(call);
        if (--handler->user_handles == 0) {
            access.part.pool.release(*errhandler);
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
    const AnyTimeAccess access(call);
    const std::optional<int> found = access.part.error_codes.class_of(errorcode);
    if (!found) {
        return fail_for_code(call, errorcode);
    }
    *errorclass = *found;
    return MPI_SUCCESS;
}

int Error_string(Call& call, int errorcode, char* string, int* resultlen)
{
    const AnyTimeAccess access(call);
    const std::optional<std::string> text = access.part.error_codes.text_of(errorcode);
    if (!text) {
        return fail_for_code(call, errorcode);
    }
    std::memcpy(string, text->c_str(), text->size() + 1);
    *resultlen = static_cast<int>(text->size());
    return MPI_SUCCESS;
}

int Add_error_class(Call& call, int* errorclass)
{
    const AnyTimeAccess access(call);
    *errorclass = access.part.error_codes.add_class();
    return MPI_SUCCESS;
}

int Add_error_code(Call& call, int errorclass, int* errorcode)
{
    const AnyTimeAccess access(call);
    const std::optional<int> made = access.part.error_codes.add_code(errorclass);
    if (!made) {
        return call.fail(MPI_ERR_ARG, "%d is no error class", errorclass);
    }
    *errorcode = *made;
    return MPI_SUCCESS;
}

int Add_error_string(Call& call, int errorcode, const char* string)
{
    const std::size_t length = ::strnlen(string, MPI_MAX_ERROR_STRING);
    if (length == MPI_MAX_ERROR_STRING) {
        return call.fail(MPI_ERR_ARG, "the string has more than %d characters",
                         MPI_MAX_ERROR_STRING - 1);
    }
    const AnyTimeAccess access(call);
    const auto refusal = access.part.error_codes.add_string(errorcode, {string, length});
    return say_refusal(call, refusal, errorcode);
}

int Remove_error_class(Call& call, int errorclass)
{
    const AnyTimeAccess access(call);
    return say_refusal(call, access.part.error_codes.remove_class(errorclass), errorclass);
}

int Remove_error_code(Call& call, int errorcode)
{
    const AnyTimeAccess access(call);
    return say_refusal(call, access.part.error_codes.remove_code(errorcode), errorcode);
}

int Remove_error_string(Call& call, int errorcode)
{
    const AnyTimeAccess access(call);
    return say_refusal(call, access.part.error_codes.remove_string(errorcode), errorcode);
}

}  // namespace call
}  // namespace headway::abi

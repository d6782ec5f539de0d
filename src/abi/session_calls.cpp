// SPDX-License-Identifier: Apache-2.0
// Sessions, and groups and communicators made from them (MPI-5.0 sections 11.3, 7.3 and 7.4).
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "abi/any_time.hpp"
#include "abi/new_communicator.hpp"
#include "abi/tag_spreading.hpp"
#include "abi_calls.hpp"
#include "object/group.hpp"
#include "object/memory_kinds.hpp"
#include "object/session.hpp"
#include "object/startup.hpp"

namespace headway::abi {
namespace {

using object::ErrorHandler;
using object::Session;

constexpr std::string_view level_key = "thread_level";

int refuse_set(Call& call, const char* name)
{
    return call.fail(MPI_ERR_ARG,
                     "there is no process set '%.64s'; MPI_Session_get_nth_pset tells which there "
                     "are",
                     name);
}

}  // namespace

namespace call {

int Session_init(Call& call, MPI_Info info, ErrorHandler* errhandler, MPI_Session* session)
{
    call.set_error_holder(errhandler, object::bits_of(MPI_SESSION_NULL));
    if (!errhandler->is_for(ErrorHandler::Suits::session)) {
        // Its function would be called with the wrong kind of object.
        call.set_error_holder(
            object::predefined_error_handler(object::bits_of(MPI_ERRORS_ARE_FATAL)),
            object::bits_of(MPI_SESSION_NULL));
        return call.fail(MPI_ERR_ERRHANDLER,
                         "the error handler was not made for sessions; make one with "
                         "MPI_Session_create_errhandler");
    }
    if (object::current_phase() == object::Phase::forked) {
        return call.fail(MPI_ERR_OTHER, "%s", object::forked_text);
    }
    const object::Info given = hints_of(call, info);
    const std::string* const level = given.find(level_key);
    const int wanted = level != nullptr ? object::find_thread_level(*level, MPI_THREAD_MULTIPLE)
                                        : MPI_THREAD_MULTIPLE;
    const std::string* const kinds = given.find(object::memory_kinds_key);
    object::Info hints;
    if (kinds != nullptr) {
        hints.set(object::memory_kinds_key, object::supported_memory_kinds(*kinds));
    }
    Session& made = object::open_session(wanted, std::move(hints), errhandler);
    object::AnyTimePart& part = object::any_time_part(object::current_rank());
    if (!acquire_any_time(call, part, &made, session)) {
        return MPI_ERR_INTERN;
    }
    made.set_handle(*session);
    return MPI_SUCCESS;
}

int Session_finalize(Call& call, Session* session_object, MPI_Session* session)
{
    object::Rank& rank = rank_of(call);
    const MPI_Session handle = *session;
    // Where the call fails, the session is still there.
    if (!object::close_session(rank, *session_object)) {
        return fail_for_memory(call);
    }
    const AnyTimeAccess access(call);
    access.part.pool.release(handle);
    *session = MPI_SESSION_NULL;
    return MPI_SUCCESS;
}

int Session_get_info(Call& call, Session* session, MPI_Info* info_used)
{
    object::Info used = session->hints();
    used.set(level_key, object::name_of_thread_level(session->thread_level()));
    return make_info(call, std::move(used), info_used);
}

int Session_get_num_psets(Call& /*call*/, Session* /*session*/, MPI_Info /*info*/, int* npset_names)
{
    *npset_names = static_cast<int>(object::process_set_names().size());
    return MPI_SUCCESS;
}

int Session_get_nth_pset(Call& call, Session* /*session*/, MPI_Info /*info*/, int n, int* pset_len,
                         char* pset_name)
{
    const auto names = object::process_set_names();
    if (n < 0 || static_cast<std::size_t>(n) >= names.size()) {
        return call.fail(MPI_ERR_ARG, "n = %d is outside the %zu process sets", n, names.size());
    }
    if (*pset_len < 0 || (*pset_len > 0 && pset_name == nullptr)) {
        return call.fail(MPI_ERR_ARG, "pset_len = %d does not describe the buffer", *pset_len);
    }
    const std::string_view name = names[static_cast<std::size_t>(n)];
    if (*pset_len > 0) {
        const std::size_t length = std::min(name.size(), static_cast<std::size_t>(*pset_len) - 1);
        std::memcpy(pset_name, name.data(), length);
        pset_name[length] = '\0';
    }
    // The length counts the zero at the end (MPI-5.0 section 11.3.2).
    *pset_len = static_cast<int>(name.size()) + 1;
    return MPI_SUCCESS;
}

int Session_get_pset_info(Call& call, Session* /*session*/, const char* pset_name, MPI_Info* info)
{
    const std::vector<int> members = object::find_process_set(rank_of(call), pset_name);
    if (members.empty()) {
        return refuse_set(call, pset_name);
    }
    object::Info facts;
    facts.set("mpi_size", std::to_string(members.size()));
    return make_info(call, std::move(facts), info);
}

int Group_from_session_pset(Call& call, Session* session, const char* pset_name,
                            MPI_Group* newgroup)
{
    object::Rank& rank = rank_of(call);
    std::vector<int> members = object::find_process_set(rank, pset_name);
    if (members.empty()) {
        return refuse_set(call, pset_name);
    }
    *newgroup = rank.pool().acquire<MPI_Group>(
        new object::Group(std::move(members), rank.world_rank, session->number()));
    return MPI_SUCCESS;
}

int Comm_create_from_group(Call& call, object::Group* group, const char* stringtag, MPI_Info info,
                           ErrorHandler* errhandler, MPI_Comm* newcomm)
{
    call.set_error_holder(errhandler, object::bits_of(MPI_COMM_NULL));
    if (group->size() == 0) {
        *newcomm = MPI_COMM_NULL;
        return MPI_SUCCESS;
    }
    if (group->rank() == MPI_UNDEFINED) {
        return call.fail(MPI_ERR_GROUP, "the caller is no member of the group");
    }
    const int error = create_from_group(call, *group, tag_of_text(stringtag), newcomm);
    if (error == MPI_SUCCESS) {
        object::Communicator* const made = object::find_communicator(call.rank(), *newcomm);
        made->set_error_handler(errhandler);
        return take_first_hints(call, *made, hints_of(call, info));
    }
    return error;
}

int Session_create_errhandler(Call& call, MPI_Session_errhandler_function* function,
                              MPI_Errhandler* errhandler)
{
    return make_error_handler(call, std::make_unique<ErrorHandler>(function), errhandler);
}

int Session_set_errhandler(Call& call, Session* session, ErrorHandler* handler)
{
    if (!handler->is_for(ErrorHandler::Suits::session)) {
        return call.fail(MPI_ERR_ERRHANDLER,
                         "the error handler was not made for sessions; make one with "
                         "MPI_Session_create_errhandler");
    }
    session->set_error_handler(handler);
    return MPI_SUCCESS;
}

int Session_get_errhandler(Call& call, Session* session, MPI_Errhandler* errhandler)
{
    return share_error_handler(call, *session->error_handler(), errhandler);
}

int Session_call_errhandler(Call& call, Session* /*session*/, int errorcode)
{
    const int ignored = call.raise(errorcode);
    static_cast<void>(ignored);
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

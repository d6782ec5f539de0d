// SPDX-License-Identifier: Apache-2.0
// Performance variables of the tool information interface (MPI-5.0 section 15.3.7). A handle has a
// value of its own: what the rank's counter grew by while the handle was started.
#include <cstdint>
#include <cstring>
#include <memory>

#include "abi/tool_access.hpp"
#include "abi_calls.hpp"
#include "object/tool.hpp"

namespace headway::abi {
namespace {

using object::PerformanceHandle;
using object::PerformanceSession;
using object::PerformanceVariable;

std::uint64_t value_of(const ToolAccess& access, const PerformanceHandle& handle)
{
    const std::uint64_t now = object::read_now(access.rank, *handle.variable);
    if (handle.variable->is_continuous) {
        return now;
    }
    return handle.value + (handle.is_started ? now - handle.base : 0);
}

void set_value(const ToolAccess& access, PerformanceHandle& handle, std::uint64_t value)
{
    handle.value = value;
    handle.base = object::read_now(access.rank, *handle.variable);
}

/// Calls `act(handle)` for the handle, or for all of the session that it makes sense for.
template <typename Act>
int act_on(MPI_T_pvar_session session, MPI_T_pvar_handle handle, bool takes_all, int refusal,
           Act&& act)
{
    ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    PerformanceSession* const found = find_owned(access.tools().sessions, session);
    if (found == nullptr) {
        return MPI_T_ERR_INVALID_SESSION;
    }
    if (takes_all && handle == MPI_T_PVAR_ALL_HANDLES) {
        for (const auto& each : found->handles) {
            if (!each->variable->is_continuous) {
                act(access, *each);
            }
        }
        return MPI_SUCCESS;
    }
    PerformanceHandle* const one = find_owned(found->handles, handle);
    if (one == nullptr) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    if (refusal != MPI_SUCCESS && one->variable->is_continuous) {
        return refusal;
    }
    act(access, *one);
    return MPI_SUCCESS;
}

}  // namespace

namespace call {

int T_pvar_get_num(int* num_pvar)
{
    const ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    put(static_cast<int>(object::performance_variables().size()), num_pvar);
    return num_pvar != nullptr ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int T_pvar_get_info(int pvar_index, char* name, int* name_len, int* verbosity, int* var_class,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* readonly, int* continuous, int* atomic)
{
    const ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    const auto variables = object::performance_variables();
    if (!is_index(pvar_index, variables.size())) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    const PerformanceVariable& variable = variables[static_cast<std::size_t>(pvar_index)];
    put_text(variable.name, name, name_len);
    put_text(variable.about, desc, desc_len);
    put<int>(variable.is_observed ? MPI_T_VERBOSITY_USER_BASIC : MPI_T_VERBOSITY_TUNER_DETAIL,
             verbosity);
    put(variable.variable_class, var_class);
    put(MPI_UINT64_T, datatype);
    put(MPI_T_ENUM_NULL, enumtype);
    put<int>(MPI_T_BIND_NO_OBJECT, bind);
    put(variable.is_continuous ? 1 : 0, readonly);
    put(variable.is_continuous ? 1 : 0, continuous);
    put(variable.is_continuous ? 0 : 1, atomic);
    return MPI_SUCCESS;
}

int T_pvar_get_index(const char* name, int var_class, int* pvar_index)
{
    const ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    if (name == nullptr || pvar_index == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    const auto variables = object::performance_variables();
    const int index = find_named(variables, name);
    if (index < 0 || variables[static_cast<std::size_t>(index)].variable_class != var_class) {
        return MPI_T_ERR_INVALID_NAME;
    }
    *pvar_index = index;
    return MPI_SUCCESS;
}

int T_pvar_session_create(MPI_T_pvar_session* pe_session)
{
    ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    if (pe_session == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    auto& sessions = access.tools().sessions;
    sessions.push_back(std::make_unique<PerformanceSession>());
    *pe_session = reinterpret_cast<MPI_T_pvar_session>(sessions.back().get());
    return MPI_SUCCESS;
}

int T_pvar_session_free(MPI_T_pvar_session* pe_session)
{
    ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    PerformanceSession* const found =
        pe_session != nullptr ? find_owned(access.tools().sessions, *pe_session) : nullptr;
    if (found == nullptr) {
        return MPI_T_ERR_INVALID_SESSION;
    }
    erase_owned(access.tools().sessions, found);
    object::count_what_is_wanted(access.rank, access.tools());
    *pe_session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

int T_pvar_handle_alloc(MPI_T_pvar_session pe_session, int pvar_index, void* /*obj_handle*/,
                        MPI_T_pvar_handle* handle, int* count)
{
    const auto variables = object::performance_variables();
    {
        ToolAccess access;
        if (!access.is_open()) {
            return MPI_T_ERR_NOT_INITIALIZED;
        }
        PerformanceSession* const found = find_owned(access.tools().sessions, pe_session);
        if (found == nullptr) {
            return MPI_T_ERR_INVALID_SESSION;
        }
        if (!is_index(pvar_index, variables.size())) {
            return MPI_T_ERR_INVALID_INDEX;
        }
        if (handle == nullptr) {
            return MPI_T_ERR_INVALID;
        }
        found->handles.push_back(std::make_unique<PerformanceHandle>(
            PerformanceHandle{&variables[static_cast<std::size_t>(pvar_index)]}));
        *handle = reinterpret_cast<MPI_T_pvar_handle>(found->handles.back().get());
        put(1, count);
    }
    if (variables[static_cast<std::size_t>(pvar_index)].is_observed) {
        observe_for_tools();
    }
    return MPI_SUCCESS;
}

int T_pvar_handle_free(MPI_T_pvar_session pe_session, MPI_T_pvar_handle* handle)
{
    ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    PerformanceSession* const session = find_owned(access.tools().sessions, pe_session);
    if (session == nullptr) {
        return MPI_T_ERR_INVALID_SESSION;
    }
    PerformanceHandle* const found =
        handle != nullptr ? find_owned(session->handles, *handle) : nullptr;
    if (found == nullptr) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    erase_owned(session->handles, found);
    object::count_what_is_wanted(access.rank, access.tools());
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int T_pvar_start(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle)
{
    return act_on(pe_session, handle, true, MPI_T_ERR_PVAR_NO_STARTSTOP,
                  [](ToolAccess& access, PerformanceHandle& one) {
                      set_value(access, one, value_of(access, one));
                      one.is_started = true;
                      object::count_what_is_wanted(access.rank, access.tools());
                  });
}

int T_pvar_stop(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle)
{
    return act_on(pe_session, handle, true, MPI_T_ERR_PVAR_NO_STARTSTOP,
                  [](ToolAccess& access, PerformanceHandle& one) {
                      set_value(access, one, value_of(access, one));
                      one.is_started = false;
                      object::count_what_is_wanted(access.rank, access.tools());
                  });
}

int T_pvar_read(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf)
{
    if (buf == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    return act_on(pe_session, handle, false, MPI_SUCCESS,
                  [&](const ToolAccess& access, PerformanceHandle& one) {
                      const std::uint64_t value = value_of(access, one);
                      std::memcpy(buf, &value, sizeof value);
                  });
}

int T_pvar_write(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, const void* buf)
{
    if (buf == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    return act_on(pe_session, handle, false, MPI_T_ERR_PVAR_NO_WRITE,
                  [&](const ToolAccess& access, PerformanceHandle& one) {
                      std::uint64_t value = 0;
                      std::memcpy(&value, buf, sizeof value);
                      set_value(access, one, value);
                  });
}

int T_pvar_reset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle)
{
    return act_on(
        pe_session, handle, true, MPI_T_ERR_PVAR_NO_WRITE,
        [](const ToolAccess& access, PerformanceHandle& one) { set_value(access, one, 0); });
}

int T_pvar_readreset(MPI_T_pvar_session pe_session, MPI_T_pvar_handle handle, void* buf)
{
    if (buf == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    return act_on(pe_session, handle, false, MPI_T_ERR_PVAR_NO_ATOMIC,
                  [&](const ToolAccess& access, PerformanceHandle& one) {
                      // One look at the counter, so that what others count is in this value or in
                      // the next.
                      const std::uint64_t now = object::read_now(access.rank, *one.variable);
                      const std::uint64_t value = one.value + (one.is_started ? now - one.base : 0);
                      one.value = 0;
                      one.base = now;
                      std::memcpy(buf, &value, sizeof value);
                  });
}

}  // namespace call
}  // namespace headway::abi

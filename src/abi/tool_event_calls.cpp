// SPDX-License-Identifier: Apache-2.0
// Events of the tool information interface (MPI-5.0 section 15.3.8). There is one source, the rank:
// its events come in order, at the end of the call in which they came up, on the calling thread.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "abi/any_time.hpp"
#include "abi/tool_access.hpp"
#include "abi_calls.hpp"
#include "object/tool.hpp"
#include "platform/cpu.hpp"

namespace headway::abi {
namespace {

using object::EventElement;
using object::EventRegistration;
using object::ToolEventInstance;
using object::ToolEventKind;

constexpr std::array<MPI_T_cb_safety, object::safety_levels> levels = {
    MPI_T_CB_REQUIRE_NONE, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE};
constexpr MPI_Count ticks_per_second = 1'000'000'000;
constexpr MPI_Count ticks_max = INT64_MAX;

/// The place of a level of safety, or -1.
int place_of(MPI_T_cb_safety safety)
{
    const auto found = std::ranges::find(levels, safety);
    return found != levels.end() ? static_cast<int>(found - levels.begin()) : -1;
}

/// Infos of these calls belong to the rank like others; a full table is the only failure.
int give_info(ToolAccess& access, const object::Info& entries, MPI_Info* info)
{
    auto made = std::make_unique<object::Info>(entries);
    const auto handle = access.part.pool.acquire<MPI_Info>(made.get());
    if (object::bits_of(handle) == 0) {
        return MPI_T_ERR_OUT_OF_HANDLES;
    }
    static_cast<void>(made.release());
    *info = handle;
    return MPI_SUCCESS;
}

/// The event of an index; null: there is none, or the interface is closed, as `*error` says.
const ToolEventKind* event_at(const ToolAccess& access, int index, int* error)
{
    const auto events = object::tool_events();
    *error = access.is_open() ? MPI_T_ERR_INVALID_INDEX : MPI_T_ERR_NOT_INITIALIZED;
    return access.is_open() && is_index(index, events.size())
               ? &events[static_cast<std::size_t>(index)]
               : nullptr;
}

/// What the caller passed. MPI_INFO_NULL and what is none are no hints.
object::Info hints_from(ToolAccess& access, MPI_Info info)
{
    const auto* const found = access.part.handles.find<object::Info>(info);
    return found != nullptr ? *found : object::Info{};
}

/// Calls `act(access, registration)` where the interface is open and the handle is one.
template <typename Act>
int act_on(MPI_T_event_registration handle, Act&& act)
{
    ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    EventRegistration* const found = find_owned(access.tools().registrations, handle);
    return found != nullptr && !found->is_freed ? act(access, *found) : MPI_T_ERR_INVALID_HANDLE;
}

const ToolEventInstance* instance_of(MPI_T_event_instance instance)
{
    return reinterpret_cast<const ToolEventInstance*>(instance);
}

std::size_t size_of(MPI_Datatype type)
{
    return type == MPI_UINT64_T ? sizeof(std::uint64_t) : sizeof(std::uint32_t);
}

const std::byte* data_of(const ToolEventInstance& instance)
{
    return reinterpret_cast<const std::byte*>(&instance.message);
}

int check_open()
{
    const ToolAccess access;
    return access.is_open() ? MPI_SUCCESS : MPI_T_ERR_NOT_INITIALIZED;
}

}  // namespace

namespace call {

int T_event_get_num(int* num_events)
{
    if (const int error = check_open(); error != MPI_SUCCESS) {
        return error;
    }
    put(static_cast<int>(object::tool_events().size()), num_events);
    return num_events != nullptr ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int T_event_get_info(int event_index, char* name, int* name_len, int* verbosity,
                     MPI_Datatype array_of_datatypes[], MPI_Aint array_of_displacements[],
                     int* num_elements, MPI_T_enum* enumtype, MPI_Info* info, char* desc,
                     int* desc_len, int* bind)
{
    ToolAccess access;
    int error = MPI_SUCCESS;
    const ToolEventKind* const kind = event_at(access, event_index, &error);
    if (kind == nullptr) {
        return error;
    }
    put_text(kind->name, name, name_len);
    put_text(kind->about, desc, desc_len);
    put<int>(MPI_T_VERBOSITY_USER_DETAIL, verbosity);
    if (num_elements != nullptr) {
        const std::size_t room = *num_elements > 0 ? static_cast<std::size_t>(*num_elements) : 0;
        for (std::size_t i = 0; i < std::min(room, kind->elements.size()); ++i) {
            if (array_of_datatypes != nullptr) {
                array_of_datatypes[i] = kind->elements[i].type;
            }
            if (array_of_displacements != nullptr) {
                array_of_displacements[i] = kind->elements[i].displacement;
            }
        }
        *num_elements = static_cast<int>(kind->elements.size());
    }
    put(MPI_T_ENUM_NULL, enumtype);
    put<int>(MPI_T_BIND_NO_OBJECT, bind);
    return info != nullptr ? give_info(access, {}, info) : MPI_SUCCESS;
}

int T_event_get_index(const char* name, int* event_index)
{
    if (const int error = check_open(); error != MPI_SUCCESS) {
        return error;
    }
    if (name == nullptr || event_index == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    const int index = find_named(object::tool_events(), name);
    if (index < 0) {
        return MPI_T_ERR_INVALID_NAME;
    }
    *event_index = index;
    return MPI_SUCCESS;
}

int T_event_handle_alloc(int event_index, void* /*obj_handle*/, MPI_Info info,
                         MPI_T_event_registration* event_registration)
{
    ToolAccess access;
    int error = MPI_SUCCESS;
    const ToolEventKind* const kind = event_at(access, event_index, &error);
    if (kind == nullptr) {
        return error;
    }
    if (event_registration == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    auto made = std::make_unique<EventRegistration>();
    made->kind = kind;
    made->hints = hints_from(access, info);
    *event_registration = reinterpret_cast<MPI_T_event_registration>(made.get());
    access.tools().registrations.push_back(std::move(made));
    return MPI_SUCCESS;
}

int T_event_handle_free(MPI_T_event_registration event_registration, void* user_data,
                        MPI_T_event_free_cb_function* free_cb_function)
{
    const int error = act_on(event_registration, [](ToolAccess& access, EventRegistration& found) {
        if (access.tools().delivering != 0) {
            found.is_freed = true;
        } else {
            erase_owned(access.tools().registrations, &found);
        }
        return MPI_SUCCESS;
    });
    if (error == MPI_SUCCESS && free_cb_function != nullptr) {
        free_cb_function(event_registration, MPI_T_CB_REQUIRE_NONE, user_data);
    }
    return error;
}

int T_event_handle_set_info(MPI_T_event_registration event_registration, MPI_Info info)
{
    return act_on(event_registration, [&](ToolAccess& access, EventRegistration& found) {
        found.hints = hints_from(access, info);
        return MPI_SUCCESS;
    });
}

int T_event_handle_get_info(MPI_T_event_registration event_registration, MPI_Info* info_used)
{
    return act_on(event_registration, [&](ToolAccess& access, EventRegistration& found) {
        return info_used != nullptr ? give_info(access, found.hints, info_used) : MPI_T_ERR_INVALID;
    });
}

int T_event_register_callback(MPI_T_event_registration event_registration,
                              MPI_T_cb_safety cb_safety, MPI_Info info, void* user_data,
                              MPI_T_event_cb_function* event_cb_function)
{
    const int place = place_of(cb_safety);
    if (place < 0) {
        return MPI_T_ERR_INVALID;
    }
    const int error = act_on(event_registration, [&](ToolAccess& access, EventRegistration& found) {
        static const object::PerformanceVariable* const wakes =
            &object::performance_variables()[static_cast<std::size_t>(
                find_named(object::performance_variables(), "agent_wake_ups"))];
        if (!found.has_callback()) {
            found.wakes_told = object::read_now(access.rank, *wakes);
        }
        found.callbacks[static_cast<std::size_t>(place)] = {event_cb_function, user_data,
                                                            hints_from(access, info)};
        return MPI_SUCCESS;
    });
    if (error == MPI_SUCCESS && event_cb_function != nullptr) {
        observe_for_tools();
    }
    return error;
}

int T_event_callback_set_info(MPI_T_event_registration event_registration,
                              MPI_T_cb_safety cb_safety, MPI_Info info)
{
    const int place = place_of(cb_safety);
    if (place < 0) {
        return MPI_T_ERR_INVALID;
    }
    return act_on(event_registration, [&](ToolAccess& access, EventRegistration& found) {
        found.callbacks[static_cast<std::size_t>(place)].hints = hints_from(access, info);
        return MPI_SUCCESS;
    });
}

int T_event_callback_get_info(MPI_T_event_registration event_registration,
                              MPI_T_cb_safety cb_safety, MPI_Info* info_used)
{
    const int place = place_of(cb_safety);
    if (place < 0 || info_used == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    return act_on(event_registration, [&](ToolAccess& access, EventRegistration& found) {
        return give_info(access, found.callbacks[static_cast<std::size_t>(place)].hints, info_used);
    });
}

int T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                MPI_T_event_dropped_cb_function* dropped_cb_function)
{
    return act_on(event_registration, [&](ToolAccess& /*access*/, EventRegistration& found) {
        found.dropped = dropped_cb_function;
        return MPI_SUCCESS;
    });
}

int T_event_read(MPI_T_event_instance event_instance, int element_index, void* buffer)
{
    const ToolEventInstance* const instance = instance_of(event_instance);
    if (instance == nullptr || buffer == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    if (!is_index(element_index, instance->kind->elements.size())) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    const EventElement& element = instance->kind->elements[static_cast<std::size_t>(element_index)];
    std::memcpy(buffer, data_of(*instance) + element.displacement, size_of(element.type));
    return MPI_SUCCESS;
}

int T_event_copy(MPI_T_event_instance event_instance, void* buffer)
{
    const ToolEventInstance* const instance = instance_of(event_instance);
    if (instance == nullptr || buffer == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    for (const EventElement& element : instance->kind->elements) {
        std::memcpy(static_cast<std::byte*>(buffer) + element.displacement,
                    data_of(*instance) + element.displacement, size_of(element.type));
    }
    return MPI_SUCCESS;
}

int T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count* event_timestamp)
{
    const ToolEventInstance* const instance = instance_of(event_instance);
    if (instance == nullptr || event_timestamp == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    *event_timestamp = instance->timestamp_ns;
    return MPI_SUCCESS;
}

int T_event_get_source(MPI_T_event_instance event_instance, int* source_index)
{
    if (event_instance == nullptr || source_index == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    *source_index = 0;
    return MPI_SUCCESS;
}

int T_source_get_num(int* num_sources)
{
    if (const int error = check_open(); error != MPI_SUCCESS) {
        return error;
    }
    put(1, num_sources);
    return num_sources != nullptr ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int T_source_get_info(int source_index, char* name, int* name_len, char* desc, int* desc_len,
                      MPI_T_source_order* ordering, MPI_Count* ticks_per_second_out,
                      MPI_Count* max_ticks, MPI_Info* info)
{
    ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    if (source_index != 0) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    put_text("rank", name, name_len);
    put_text("What came up in this rank, in order, by the clock of its node.", desc, desc_len);
    put(MPI_T_SOURCE_ORDERED, ordering);
    put(ticks_per_second, ticks_per_second_out);
    put(ticks_max, max_ticks);
    return info != nullptr ? give_info(access, {}, info) : MPI_SUCCESS;
}

int T_source_get_timestamp(int source_index, MPI_Count* timestamp)
{
    if (const int error = check_open(); error != MPI_SUCCESS) {
        return error;
    }
    if (source_index != 0) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    if (timestamp == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    *timestamp = platform::monotonic_ns();
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

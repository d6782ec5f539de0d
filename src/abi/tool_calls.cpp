// SPDX-License-Identifier: Apache-2.0
// The tool information interface: start and end, control variables and their enumerations
// (MPI-5.0 sections 15.3.4 to 15.3.6).
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "abi/tool_access.hpp"
#include "abi_calls.hpp"
#include "config/knobs.hpp"
#include "object/tool.hpp"

namespace headway::abi {
namespace {

using config::KnobRow;
using config::KnobType;
using object::ControlHandle;

constexpr std::span<const KnobRow> rows = config::knob_table;
/// Characters of a variable that is a path, with the zero at the end.
constexpr int text_bytes = 4096;

const KnobRow* row_of(MPI_T_enum enumeration)
{
    const auto* const given = reinterpret_cast<const KnobRow*>(enumeration);
    for (const KnobRow& row : rows) {
        if (&row == given && row.type == KnobType::choice) {
            return &row;
        }
    }
    return nullptr;
}

MPI_Datatype type_of(const KnobRow& row)
{
    switch (row.type) {
        case KnobType::choice:
            return MPI_INT;
        case KnobType::text:
            return MPI_CHAR;
        default:
            return MPI_UINT64_T;
    }
}

MPI_T_enum enum_of(const KnobRow& row)
{
    return row.type == KnobType::choice ? reinterpret_cast<MPI_T_enum>(const_cast<KnobRow*>(&row))
                                        : MPI_T_ENUM_NULL;
}

/// Until the process has read the settings every rank may still be given its own; afterwards only
/// what each rank reads for itself may change.
int scope_of(const KnobRow& row)
{
    return row.is_late ? MPI_T_SCOPE_LOCAL : MPI_T_SCOPE_ALL_EQ;
}

int verbosity_of(const KnobRow& row)
{
    return row.group == config::KnobGroup::diagnostics ? MPI_T_VERBOSITY_USER_DETAIL
                                                       : MPI_T_VERBOSITY_TUNER_BASIC;
}

void read_value(const KnobRow& row, const config::Knobs& knobs, void* buf)
{
    if (row.type == KnobType::text) {
        const std::string_view text = row.load_text(knobs);
        const std::size_t length = std::min<std::size_t>(text.size(), text_bytes - 1);
        std::memcpy(buf, text.data(), length);
        static_cast<char*>(buf)[length] = '\0';
        return;
    }
    const std::uint64_t value = row.load(knobs);
    if (row.type == KnobType::choice) {
        const int index = static_cast<int>(value);
        std::memcpy(buf, &index, sizeof index);
        return;
    }
    std::memcpy(buf, &value, sizeof value);
}

/// Before any process has read the settings.
int write_early(object::ToolPart& tools, const KnobRow& row, const void* buf)
{
    if (row.type == KnobType::text) {
        const auto* const text = static_cast<const char*>(buf);
        tools.texts_set[&row].assign(text, ::strnlen(text, text_bytes - 1));
        return MPI_SUCCESS;
    }
    std::uint64_t value = 0;
    if (row.type == KnobType::choice) {
        int index = 0;
        std::memcpy(&index, buf, sizeof index);
        value = static_cast<std::uint64_t>(index);
    } else {
        std::memcpy(&value, buf, sizeof value);
    }
    if (!config::takes_value(row, value)) {
        return MPI_T_ERR_INVALID;
    }
    tools.values_set[&row] = value;
    return MPI_SUCCESS;
}

int write_late(object::RankAccess& rank, const KnobRow& row, const void* buf)
{
    if (!row.is_late) {
        return MPI_T_ERR_CVAR_SET_NOT_NOW;
    }
    std::uint64_t value = 0;
    std::memcpy(&value, buf, sizeof value);
    if (!config::takes_value(row, value)) {
        return MPI_T_ERR_INVALID;
    }
    return object::set_late_knob(rank, row, value) ? MPI_SUCCESS : MPI_T_ERR_CVAR_SET_NOT_NOW;
}

/// The row behind a handle whose value goes to or comes from `buffer`; null: there is no such row,
/// no buffer, or the interface is closed, as `*error` says.
const KnobRow* row_behind(MPI_T_cvar_handle handle, const void* buffer, int* error)
{
    ToolAccess access;
    const ControlHandle* const found = find_owned(access.tools().controls, handle);
    if (!access.is_open()) {
        *error = MPI_T_ERR_NOT_INITIALIZED;
    } else if (found == nullptr) {
        *error = MPI_T_ERR_INVALID_HANDLE;
    } else if (buffer == nullptr) {
        *error = MPI_T_ERR_INVALID;
    } else {
        return found->row;
    }
    return nullptr;
}

}  // namespace

namespace call {

int T_init_thread(int required, int* provided)
{
    if (provided == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    if (required != MPI_THREAD_SINGLE && required != MPI_THREAD_FUNNELED &&
        required != MPI_THREAD_SERIALIZED && required != MPI_THREAD_MULTIPLE) {
        return MPI_T_ERR_INVALID;
    }
    ToolAccess access;
    ++access.tools().users;
    *provided = MPI_THREAD_MULTIPLE;
    return MPI_SUCCESS;
}

int T_finalize()
{
    ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    if (--access.tools().users == 0) {
        access.tools().controls.clear();
        access.tools().sessions.clear();
        object::count_what_is_wanted(access.rank, access.tools());
        for (const auto& registration : access.tools().registrations) {
            registration->is_freed = true;
        }
        if (access.tools().delivering == 0) {
            access.tools().registrations.clear();
        }
    }
    return MPI_SUCCESS;
}

int T_cvar_get_num(int* num_cvar)
{
    const ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    put(static_cast<int>(rows.size()), num_cvar);
    return num_cvar != nullptr ? MPI_SUCCESS : MPI_T_ERR_INVALID;
}

int T_cvar_get_info(int cvar_index, char* name, int* name_len, int* verbosity,
                    MPI_Datatype* datatype, MPI_T_enum* enumtype, char* desc, int* desc_len,
                    int* bind, int* scope)
{
    const ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    if (!is_index(cvar_index, rows.size())) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    const KnobRow& row = rows[static_cast<std::size_t>(cvar_index)];
    put_text(row.name, name, name_len);
    put_text(row.about, desc, desc_len);
    put(verbosity_of(row), verbosity);
    put(type_of(row), datatype);
    put(enum_of(row), enumtype);
    put<int>(MPI_T_BIND_NO_OBJECT, bind);
    put(scope_of(row), scope);
    return MPI_SUCCESS;
}

int T_cvar_get_index(const char* name, int* cvar_index)
{
    const ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    if (name == nullptr || cvar_index == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    const int index = find_named(rows, name);
    if (index < 0) {
        return MPI_T_ERR_INVALID_NAME;
    }
    *cvar_index = index;
    return MPI_SUCCESS;
}

int T_cvar_handle_alloc(int cvar_index, void* /*obj_handle*/, MPI_T_cvar_handle* handle, int* count)
{
    ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    if (!is_index(cvar_index, rows.size())) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    if (handle == nullptr) {
        return MPI_T_ERR_INVALID;
    }
    const KnobRow& row = rows[static_cast<std::size_t>(cvar_index)];
    auto& controls = access.tools().controls;
    controls.push_back(std::make_unique<ControlHandle>(ControlHandle{&row}));
    *handle = reinterpret_cast<MPI_T_cvar_handle>(controls.back().get());
    put(row.type == KnobType::text ? text_bytes : 1, count);
    return MPI_SUCCESS;
}

int T_cvar_handle_free(MPI_T_cvar_handle* handle)
{
    ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    ControlHandle* const found =
        handle != nullptr ? find_owned(access.tools().controls, *handle) : nullptr;
    if (found == nullptr) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    erase_owned(access.tools().controls, found);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

int T_cvar_read(MPI_T_cvar_handle handle, void* buf)
{
    int error = MPI_SUCCESS;
    const KnobRow* const row = row_behind(handle, buf, &error);
    if (row == nullptr) {
        return error;
    }
    read_value(*row, object::knobs_in_effect(object::current_rank()), buf);
    return MPI_SUCCESS;
}

int T_cvar_write(MPI_T_cvar_handle handle, const void* buf)
{
    int error = MPI_SUCCESS;
    const KnobRow* const row = row_behind(handle, buf, &error);
    if (row == nullptr) {
        return error;
    }
    if (object::RankAccess* const rank = object::current_rank(); rank != nullptr) {
        return write_late(*rank, *row, buf);
    }
    ToolAccess access;
    return write_early(access.tools(), *row, buf);
}

int T_enum_get_info(MPI_T_enum enumtype, int* num, char* name, int* name_len)
{
    const ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    const KnobRow* const row = row_of(enumtype);
    if (row == nullptr) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    put(static_cast<int>(config::choices_of(*row).size()), num);
    put_text(row->name, name, name_len);
    return MPI_SUCCESS;
}

int T_enum_get_item(MPI_T_enum enumtype, int index, int* value, char* name, int* name_len)
{
    const ToolAccess access;
    if (!access.is_open()) {
        return MPI_T_ERR_NOT_INITIALIZED;
    }
    const KnobRow* const row = row_of(enumtype);
    if (row == nullptr) {
        return MPI_T_ERR_INVALID_HANDLE;
    }
    const auto words = config::choices_of(*row);
    if (!is_index(index, words.size())) {
        return MPI_T_ERR_INVALID_INDEX;
    }
    put(index, value);
    put_text(words[static_cast<std::size_t>(index)], name, name_len);
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

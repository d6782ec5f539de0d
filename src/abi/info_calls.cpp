// SPDX-License-Identifier: Apache-2.0
// Info objects (MPI-5.0 chapter 10).
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "abi/any_time.hpp"
#include "abi/check.hpp"
#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/info.hpp"
#include "object/startup.hpp"

namespace headway::abi {

using object::Info;

namespace {

/// The object behind an info that may be changed; null, and the call failed, for others.
Info* own_info(Call& call, MPI_Info info)
{
    if (info == MPI_INFO_NULL) {
        call.fail(MPI_ERR_INFO, "the info is MPI_INFO_NULL; make one with MPI_Info_create");
        return nullptr;
    }
    if (info == MPI_INFO_ENV) {
        call.fail(MPI_ERR_INFO, "MPI_INFO_ENV cannot be changed; copy it with MPI_Info_dup");
        return nullptr;
    }
    Info* const found = find_any_time<Info>(call, info);
    if (found == nullptr) {
        call.fail(MPI_ERR_INFO, "the info (0x%zx) was freed, or is none",
                  static_cast<std::size_t>(object::bits_of(info)));
    }
    return found;
}

/// MPI_SUCCESS where the key can be one.
int check_key(Call& call, const char* key)
{
    const std::size_t length = ::strnlen(key, MPI_MAX_INFO_KEY);
    if (length == 0 || length == MPI_MAX_INFO_KEY) {
        return call.fail(MPI_ERR_INFO_KEY, "a key has 1 to %d characters, this one %s",
                         MPI_MAX_INFO_KEY - 1, length == 0 ? "none" : "more");
    }
    return MPI_SUCCESS;
}

int check_value(Call& call, const char* value)
{
    if (::strnlen(value, MPI_MAX_INFO_VAL) == MPI_MAX_INFO_VAL) {
        return call.fail(MPI_ERR_INFO_VALUE, "the value has more than %d characters",
                         MPI_MAX_INFO_VAL - 1);
    }
    return MPI_SUCCESS;
}

/// Looks a key up. `found` is null where it is not there.
int look_up(Call& call, MPI_Info info, const char* key, const std::string** found)
{
    const Info* const object = readable_info(call, info);
    if (object == nullptr) {
        return MPI_ERR_INFO;
    }
    if (const int error = check_key(call, key); error != MPI_SUCCESS) {
        return error;
    }
    *found = object->find(key);
    return MPI_SUCCESS;
}

/// At most `room` characters and the zero after them.
void copy_text(std::string_view text, std::size_t room, char* to)
{
    const std::size_t length = std::min(text.size(), room);
    std::memcpy(to, text.data(), length);
    to[length] = '\0';
}

}  // namespace

const Info* readable_info(Call& call, MPI_Info info)
{
    if (info != MPI_INFO_ENV) {
        return own_info(call, info);
    }
    const object::RankAccess* rank = call.rank_or_null();
    if (rank == nullptr || rank->phase == object::Phase::before_init) {
        call.fail(MPI_ERR_INFO,
                  "MPI_INFO_ENV has no entries before MPI_Init; "
                  "MPI_Info_create_env may be called before");
        return nullptr;
    }
    return &rank_of(call).environment_info();
}

int make_info(Call& call, Info entries, MPI_Info* info)
{
    auto made = std::make_unique<Info>(std::move(entries));
    object::AnyTimePart& part = object::any_time_part(call.rank_or_null());
    if (!acquire_any_time(call, part, made.get(), info)) {
        return MPI_ERR_INTERN;
    }
    static_cast<void>(made.release());
    return MPI_SUCCESS;
}

Info hints_of(Call& call, MPI_Info info)
{
    const AnyTimeAccess access(call);
    const Info* const object = info != MPI_INFO_NULL ? readable_info(call, info) : nullptr;
    return object != nullptr ? *object : Info{};
}

namespace call {

int Info_create(Call& call, MPI_Info* info)
{
    return make_info(call, {}, info);
}

int Info_create_env(Call& call, int argc, char* argv[], MPI_Info* info)
{
    object::RankAccess* const rank = call.rank_or_null();
    const auto describe_own = [rank] {
        return rank != nullptr ? object::as_rank(*rank).describe_own_program()
                               : object::describe_program();
    };
    Info entries =
        argc > 0 && argv != nullptr ? object::describe_program(argc, argv) : describe_own();
    if (rank != nullptr && rank->phase != object::Phase::before_init) {
        for (const auto& [key, value] : rank_of(call).environment_info().entries()) {
            if (entries.find(key) == nullptr) {
                entries.set(key, value);
            }
        }
    } else if (const auto ranks = object::rank_count_before_init(rank); ranks) {
        entries.set("maxprocs", std::to_string(*ranks));
    }
    return make_info(call, std::move(entries), info);
}

int Info_dup(Call& call, MPI_Info info, MPI_Info* newinfo)
{
    const AnyTimeAccess access(call);
    const Info* const object = readable_info(call, info);
    return object != nullptr ? make_info(call, *object, newinfo) : MPI_ERR_INFO;
}

int Info_free(Call& call, MPI_Info* info)
{
    const AnyTimeAccess access(call);
    Info* const object = own_info(call, *info);
    if (object == nullptr) {
        return MPI_ERR_INFO;
    }
    access.part.pool.release(*info);
    delete object;
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}

int Info_set(Call& call, MPI_Info info, const char* key, const char* value)
{
    const AnyTimeAccess access(call);
    Info* const object = own_info(call, info);
    if (object == nullptr) {
        return MPI_ERR_INFO;
    }
    if (const int error = check_key(call, key); error != MPI_SUCCESS) {
        return error;
    }
    if (const int error = check_value(call, value); error != MPI_SUCCESS) {
        return error;
    }
    object->set(key, value);
    return MPI_SUCCESS;
}

int Info_delete(Call& call, MPI_Info info, const char* key)
{
    const AnyTimeAccess access(call);
    Info* const object = own_info(call, info);
    if (object == nullptr) {
        return MPI_ERR_INFO;
    }
    if (const int error = check_key(call, key); error != MPI_SUCCESS) {
        return error;
    }
    if (!object->erase(key)) {
        return call.fail(MPI_ERR_INFO_NOKEY, "the info has no key '%s'", key);
    }
    return MPI_SUCCESS;
}

int Info_get(Call& call, MPI_Info info, const char* key, int valuelen, char* value, int* flag)
{
    const AnyTimeAccess access(call);
    const std::string* found = nullptr;
    if (const int error = look_up(call, info, key, &found); error != MPI_SUCCESS) {
        return error;
    }
    if (valuelen < 0) {
        return call.fail(MPI_ERR_ARG, "valuelen = %d is negative", valuelen);
    }
    *flag = found != nullptr ? 1 : 0;
    if (found != nullptr) {
        copy_text(*found, static_cast<std::size_t>(valuelen), value);
    }
    return MPI_SUCCESS;
}

int Info_get_string(Call& call, MPI_Info info, const char* key, int* buflen, char* value, int* flag)
{
    const AnyTimeAccess access(call);
    const std::string* found = nullptr;
    if (const int error = look_up(call, info, key, &found); error != MPI_SUCCESS) {
        return error;
    }
    if (*buflen < 0 || (*buflen > 0 && value == nullptr)) {
        return call.fail(MPI_ERR_ARG, "buflen = %d does not describe the buffer", *buflen);
    }
    *flag = found != nullptr ? 1 : 0;
    if (found != nullptr) {
        // The length counts the zero at the end (MPI-5.0 section 10.1).
        if (*buflen > 0) {
            copy_text(*found, static_cast<std::size_t>(*buflen) - 1, value);
        }
        *buflen = static_cast<int>(found->size()) + 1;
    }
    return MPI_SUCCESS;
}

int Info_get_valuelen(Call& call, MPI_Info info, const char* key, int* valuelen, int* flag)
{
    const AnyTimeAccess access(call);
    const std::string* found = nullptr;
    if (const int error = look_up(call, info, key, &found); error != MPI_SUCCESS) {
        return error;
    }
    *flag = found != nullptr ? 1 : 0;
    if (found != nullptr) {
        *valuelen = static_cast<int>(found->size());
    }
    return MPI_SUCCESS;
}

int Info_get_nkeys(Call& call, MPI_Info info, int* nkeys)
{
    const AnyTimeAccess access(call);
    const Info* const object = readable_info(call, info);
    if (object == nullptr) {
        return MPI_ERR_INFO;
    }
    *nkeys = static_cast<int>(object->entries().size());
    return MPI_SUCCESS;
}

int Info_get_nthkey(Call& call, MPI_Info info, int n, char* key)
{
    const AnyTimeAccess access(call);
    const Info* const object = readable_info(call, info);
    if (object == nullptr) {
        return MPI_ERR_INFO;
    }
    const std::size_t count = object->entries().size();
    if (n < 0 || static_cast<std::size_t>(n) >= count) {
        return call.fail(MPI_ERR_ARG, "n = %d is outside the info's %zu keys", n, count);
    }
    copy_text(object->entries()[static_cast<std::size_t>(n)].first, MPI_MAX_INFO_KEY - 1, key);
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

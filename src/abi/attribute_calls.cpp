// SPDX-License-Identifier: Apache-2.0
// Attributes and names of communicators and datatypes (MPI-5.0 sections 7.7 and 7.8).
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/attribute.hpp"
#include "object/datatype.hpp"

namespace headway::abi {
namespace {

using object::Communicator;
using object::Keyed;

bool is_predefined_key(int keyval)
{
    return (keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) ||
           (keyval >= MPI_WIN_BASE && keyval <= MPI_WIN_MODEL);
}

int fail_for_key(Call& call, int keyval)
{
    return call.fail(MPI_ERR_KEYVAL, "%d is no key for attributes of such objects%s", keyval,
                     is_predefined_key(keyval)      ? " that can be changed"
                     : keyval == MPI_KEYVAL_INVALID ? " but MPI_KEYVAL_INVALID"
                                                    : "; it was freed, or is of another kind");
}

template <typename Handle>
int create_key(Call& call, Keyed keyed,
               typename object::AttributeFunctions<Handle>::Copy* copy_function,
               typename object::AttributeFunctions<Handle>::Delete* delete_function, int* keyval,
               void* extra_state)
{
    *keyval =
        rank_of(call).keyvals().create<Handle>(keyed, copy_function, delete_function, extra_state);
    return MPI_SUCCESS;
}

int free_key(Call& call, Keyed keyed, int* keyval)
{
    object::KeyvalTable& keyvals = rank_of(call).keyvals();
    if (!keyvals.exists(keyed, *keyval)) {
        return fail_for_key(call, *keyval);
    }
    keyvals.free(*keyval);
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

int say_callback(Call& call, int code)
{
    return code == MPI_SUCCESS ? MPI_SUCCESS
                               : call.fail(code, "a callback of the attribute answered %d", code);
}

}  // namespace

namespace call {

int Comm_create_keyval(Call& call, MPI_Comm_copy_attr_function* copy_function,
                       MPI_Comm_delete_attr_function* delete_function, int* keyval,
                       void* extra_state)
{
    return create_key<MPI_Comm>(call, Keyed::communicator, copy_function, delete_function, keyval,
                                extra_state);
}

int Comm_free_keyval(Call& call, int* keyval)
{
    return free_key(call, Keyed::communicator, keyval);
}

int Type_create_keyval(Call& call, MPI_Type_copy_attr_function* copy_function,
                       MPI_Type_delete_attr_function* delete_function, int* keyval,
                       void* extra_state)
{
    return create_key<MPI_Datatype>(call, Keyed::datatype, copy_function, delete_function, keyval,
                                    extra_state);
}

int Type_free_keyval(Call& call, int* keyval)
{
    return free_key(call, Keyed::datatype, keyval);
}

int Win_create_keyval(Call& call, MPI_Win_copy_attr_function* copy_function,
                      MPI_Win_delete_attr_function* delete_function, int* keyval, void* extra_state)
{
    return create_key<MPI_Win>(call, Keyed::window, copy_function, delete_function, keyval,
                               extra_state);
}

int Win_free_keyval(Call& call, int* keyval)
{
    return free_key(call, Keyed::window, keyval);
}

int Comm_set_attr(Call& call, Communicator* comm, int keyval, void* attribute_val)
{
    const auto key = rank_of(call).keyvals().find(Keyed::communicator, keyval);
    if (key == nullptr) {
        return fail_for_key(call, keyval);
    }
    return say_callback(
        call, object::set_attribute(comm->attributes(), comm->handle(), key, attribute_val));
}

int Comm_get_attr(Call& call, Communicator* comm, int keyval, void* attribute_val, int* flag)
{
    object::Rank& rank = rank_of(call);
    const void* value = nullptr;
    if (is_predefined_key(keyval)) {
        if (keyval > MPI_UNIVERSE_SIZE) {
            return fail_for_key(call, keyval);
        }
        value = rank.predefined_attribute(keyval);
        *flag = value != nullptr ? 1 : 0;
    } else {
        if (!rank.keyvals().exists(Keyed::communicator, keyval)) {
            return fail_for_key(call, keyval);
        }
        const auto* const found = comm->attributes().find(keyval);
        *flag = found != nullptr ? 1 : 0;
        value = found != nullptr ? found->value : nullptr;
    }
    if (*flag != 0) {
        std::memcpy(attribute_val, &value, sizeof value);
    }
    return MPI_SUCCESS;
}

int Comm_delete_attr(Call& call, Communicator* comm, int keyval)
{
    if (!rank_of(call).keyvals().exists(Keyed::communicator, keyval)) {
        return fail_for_key(call, keyval);
    }
    if (comm->attributes().find(keyval) == nullptr) {
        return call.fail(MPI_ERR_OTHER, "the communicator has no attribute with key %d", keyval);
    }
    return say_callback(call, object::delete_attribute(comm->attributes(), comm->handle(), keyval));
}

int Type_set_attr(Call& call, MPI_Datatype datatype, int keyval, void* attribute_val)
{
    object::Rank& rank = rank_of(call);
    const auto key = rank.keyvals().find(Keyed::datatype, keyval);
    if (key == nullptr) {
        return fail_for_key(call, keyval);
    }
    object::AttributeSet& attributes = object::notes_of(rank, datatype).attributes;
    return say_callback(call, object::set_attribute(attributes, datatype, key, attribute_val));
}

int Type_get_attr(Call& call, MPI_Datatype datatype, int keyval, void* attribute_val, int* flag)
{
    object::Rank& rank = rank_of(call);
    if (!rank.keyvals().exists(Keyed::datatype, keyval)) {
        return fail_for_key(call, keyval);
    }
    const auto* const found = object::notes_of(rank, datatype).attributes.find(keyval);
    *flag = found != nullptr ? 1 : 0;
    if (found != nullptr) {
        std::memcpy(attribute_val, &found->value, sizeof found->value);
    }
    return MPI_SUCCESS;
}

int Type_delete_attr(Call& call, MPI_Datatype datatype, int keyval)
{
    object::Rank& rank = rank_of(call);
    if (!rank.keyvals().exists(Keyed::datatype, keyval)) {
        return fail_for_key(call, keyval);
    }
    object::AttributeSet& attributes = object::notes_of(rank, datatype).attributes;
    if (attributes.find(keyval) == nullptr) {
        return call.fail(MPI_ERR_OTHER, "the datatype has no attribute with key %d", keyval);
    }
    return say_callback(call, object::delete_attribute(attributes, datatype, keyval));
}

int Type_set_name(Call& call, MPI_Datatype datatype, const char* type_name)
{
    object::notes_of(rank_of(call), datatype).name =
        std::string(type_name, ::strnlen(type_name, MPI_MAX_OBJECT_NAME - 1));
    return MPI_SUCCESS;
}

int Type_get_name(Call& call, MPI_Datatype datatype, char* type_name, int* resultlen)
{
    const char* const known = datatype_name(object::bits_of(datatype));
    const std::string name =
        object::notes_of(rank_of(call), datatype).name.value_or(known != nullptr ? known : "");
    std::memcpy(type_name, name.c_str(), name.size() + 1);
    *resultlen = static_cast<int>(name.size());
    return MPI_SUCCESS;
}

int Comm_set_name(Call& /*call*/, Communicator* comm, const char* comm_name)
{
    comm->set_name({comm_name, ::strnlen(comm_name, MPI_MAX_OBJECT_NAME - 1)});
    return MPI_SUCCESS;
}

int Comm_get_name(Call& /*call*/, Communicator* comm, char* comm_name, int* resultlen)
{
    // The null handle has a name too (MPI-5.0 section 7.8).
    const std::string_view name =
        comm != nullptr ? std::string_view(comm->name()) : std::string_view("MPI_COMM_NULL");
    std::memcpy(comm_name, name.data(), name.size());
    comm_name[name.size()] = '\0';
    *resultlen = static_cast<int>(name.size());
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

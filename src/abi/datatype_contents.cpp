// SPDX-License-Identifier: Apache-2.0
// How a datatype was made (MPI-5.0 section 5.1.13).
#include <algorithm>

#include "abi/message_calls.hpp"
#include "abi_calls.hpp"

namespace headway::abi {
namespace {

struct Room {
    const char* name;
    MPI_Count given;
    std::size_t needed;
};

/// The record of a derived type whose contents fit; null, and the call failed, otherwise.
const object::TypeRecord* record_of(Call& call, MPI_Datatype datatype)
{
    const auto* const derived = object::find_derived_datatype(call.rank(), datatype);
    if (derived == nullptr) {
        call.fail(MPI_ERR_TYPE,
                  "a predefined datatype has no contents; look at its envelope first");
        return nullptr;
    }
    if (derived->record->is_large && !call.is_large()) {
        call.fail(MPI_ERR_TYPE,
                  "the datatype was made with counts of MPI_Count; call MPI_Type_get_contents_c");
        return nullptr;
    }
    return derived->record.get();
}

/// A handle for what a type was made of: new and the caller's where it is derived.
MPI_Datatype make_handle(object::Rank& rank, const object::TypeSource& source)
{
    if (source.derived == nullptr) {
        return source.predefined;
    }
    const auto permanent = std::find_if(
        rank.fortran_types().begin(), rank.fortran_types().end(), [&](const auto& entry) {
            return object::find_derived_datatype(rank, entry.second)->record == source.derived;
        });
    return permanent != rank.fortran_types().end() ? permanent->second
                                                   : object::make_datatype(rank, source.derived);
}

}  // namespace

namespace call {

int Type_get_envelope(Call& call, MPI_Datatype datatype, MPI_Count* num_integers,
                      MPI_Count* num_addresses, MPI_Count* num_large_counts,
                      MPI_Count* num_datatypes, int* combiner)
{
    static const object::TypeRecord named;
    const auto* const derived = object::find_derived_datatype(call.rank(), datatype);
    const object::TypeRecord& record = derived != nullptr ? *derived->record : named;
    *num_integers = static_cast<MPI_Count>(record.integers.size());
    *num_addresses = static_cast<MPI_Count>(record.addresses.size());
    if (num_large_counts != nullptr) {
        *num_large_counts = static_cast<MPI_Count>(record.counts.size());
    }
    *num_datatypes = static_cast<MPI_Count>(record.sources.size());
    *combiner = record.combiner;
    return MPI_SUCCESS;
}

int Type_get_contents(Call& call, MPI_Datatype datatype, MPI_Count max_integers,
                      MPI_Count max_addresses, MPI_Count max_large_counts, MPI_Count max_datatypes,
                      int array_of_integers[], MPI_Aint array_of_addresses[],
                      MPI_Count array_of_large_counts[], MPI_Datatype array_of_datatypes[])
{
    const object::TypeRecord* const record = record_of(call, datatype);
    if (record == nullptr) {
        return MPI_ERR_TYPE;
    }
    const Room rooms[] = {{"max_integers", max_integers, record->integers.size()},
                          {"max_addresses", max_addresses, record->addresses.size()},
                          {"max_large_counts", max_large_counts, record->counts.size()},
                          {"max_datatypes", max_datatypes, record->sources.size()}};
    for (const Room& room : rooms) {
        if (static_cast<std::size_t>(room.given) < room.needed) {
            return call.fail(MPI_ERR_ARG,
                             "argument %s is %lld, but there are %zu entries; ask "
                             "MPI_Type_get_envelope for the number",
                             room.name, static_cast<long long>(room.given), room.needed);
        }
    }
    std::copy(record->integers.begin(), record->integers.end(), array_of_integers);
    std::copy(record->addresses.begin(), record->addresses.end(), array_of_addresses);
    std::copy(record->counts.begin(), record->counts.end(), array_of_large_counts);
    object::Rank& rank = rank_of(call);
    std::transform(record->sources.begin(), record->sources.end(), array_of_datatypes,
                   [&](const object::TypeSource& source) { return make_handle(rank, source); });
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

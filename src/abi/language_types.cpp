// SPDX-License-Identifier: Apache-2.0
// Datatypes found by what a language's type can hold (MPI-5.0 sections 19.1.5 and 6.9.4).
#include <limits>
#include <utility>

#include "abi/message_calls.hpp"
#include "abi_calls.hpp"

namespace headway::abi {
namespace {

/// A Fortran type by decimal digits and decimal exponent range.
struct NumberFormat {
    int precision;
    int range;
    MPI_Datatype real;
    MPI_Datatype complex;
};

const NumberFormat number_formats[] = {
    {6, 37, MPI_REAL4, MPI_COMPLEX8},
    {15, 307, MPI_REAL8, MPI_COMPLEX16},
    {33, 4931, MPI_REAL16, MPI_COMPLEX32},
};

const std::pair<int, MPI_Datatype> integer_ranges[] = {
    {2, MPI_INTEGER1},  {4, MPI_INTEGER2},   {9, MPI_INTEGER4},
    {18, MPI_INTEGER8}, {38, MPI_INTEGER16},
};

/// The unnamed predefined type with what was asked for; made once.
int answer(Call& call, int combiner, int precision, int range, MPI_Datatype same_as,
           MPI_Datatype* newtype)
{
    object::Rank& rank = rank_of(call);
    MPI_Datatype& known = rank.fortran_types()
                              .try_emplace({combiner, precision, range}, MPI_DATATYPE_NULL)
                              .first->second;
    if (known == MPI_DATATYPE_NULL) {
        auto record = std::make_shared<object::TypeRecord>();
        const object::Datatype& type = type_of(call, same_as);
        record->combiner = combiner;
        record->integers.push_back(combiner == MPI_COMBINER_F90_INTEGER ? range : precision);
        if (combiner != MPI_COMBINER_F90_INTEGER) {
            record->integers.push_back(range);
        }
        record->layout = type.layout;
        record->kind = type.kind;
        known = object::make_datatype(rank, std::move(record), true);
    }
    *newtype = known;
    return known != MPI_DATATYPE_NULL
               ? MPI_SUCCESS
               : call.fail(MPI_ERR_NO_MEM, "too many MPI objects are alive; free some");
}

int fail_for_range(Call& call, int precision, int range)
{
    return call.fail(MPI_ERR_ARG, "no type of this machine has precision p = %d and range r = %d",
                     precision, range);
}

int answer_number(Call& call, int combiner, int p, int r, MPI_Datatype* newtype)
{
    const int digits = p == MPI_UNDEFINED ? 0 : p;
    const int exponent = r == MPI_UNDEFINED ? 0 : r;
    if (digits < 0 || exponent < 0 || (p == MPI_UNDEFINED && r == MPI_UNDEFINED)) {
        return fail_for_range(call, p, r);
    }
    for (const NumberFormat& format : number_formats) {
        if (digits <= format.precision && exponent <= format.range) {
            return answer(call, combiner, p, r,
                          combiner == MPI_COMBINER_F90_REAL ? format.real : format.complex,
                          newtype);
        }
    }
    return fail_for_range(call, p, r);
}

struct SizedType {
    int type_class;
    int size;
    MPI_Datatype datatype;
};

const SizedType sized_types[] = {
    {MPI_TYPECLASS_INTEGER, 1, MPI_INTEGER1},   {MPI_TYPECLASS_INTEGER, 2, MPI_INTEGER2},
    {MPI_TYPECLASS_INTEGER, 4, MPI_INTEGER4},   {MPI_TYPECLASS_INTEGER, 8, MPI_INTEGER8},
    {MPI_TYPECLASS_INTEGER, 16, MPI_INTEGER16}, {MPI_TYPECLASS_REAL, 4, MPI_REAL4},
    {MPI_TYPECLASS_REAL, 8, MPI_REAL8},         {MPI_TYPECLASS_REAL, 16, MPI_REAL16},
    {MPI_TYPECLASS_COMPLEX, 8, MPI_COMPLEX8},   {MPI_TYPECLASS_COMPLEX, 16, MPI_COMPLEX16},
    {MPI_TYPECLASS_COMPLEX, 32, MPI_COMPLEX32},
};

struct PairType {
    MPI_Datatype value;
    MPI_Datatype index;
    MPI_Datatype pair;
};

const PairType pair_types[] = {
    {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
    {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
    {MPI_LONG, MPI_INT, MPI_LONG_INT},
    {MPI_INT, MPI_INT, MPI_2INT},
    {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
    {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
    {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
    {MPI_REAL, MPI_REAL, MPI_2REAL},
    {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
};

}  // namespace

namespace call {

int Type_create_f90_real(Call& call, int p, int r, MPI_Datatype* newtype)
{
    return answer_number(call, MPI_COMBINER_F90_REAL, p, r, newtype);
}

int Type_create_f90_complex(Call& call, int p, int r, MPI_Datatype* newtype)
{
    return answer_number(call, MPI_COMBINER_F90_COMPLEX, p, r, newtype);
}

int Type_create_f90_integer(Call& call, int r, MPI_Datatype* newtype)
{
    for (const auto& [range, datatype] : integer_ranges) {
        if (r >= 0 && r <= range) {
            return answer(call, MPI_COMBINER_F90_INTEGER, 0, r, datatype, newtype);
        }
    }
    return call.fail(MPI_ERR_ARG, "no integer of this machine has range r = %d", r);
}

int Type_match_size(Call& call, int typeclass, int size, MPI_Datatype* datatype)
{
    for (const SizedType& type : sized_types) {
        if (type.type_class == typeclass && type.size == size) {
            *datatype = type.datatype;
            return MPI_SUCCESS;
        }
    }
    return call.fail(MPI_ERR_ARG, "no type of class %d has %d bytes here", typeclass, size);
}

int Type_get_value_index(Call& /*call*/, MPI_Datatype value_type, MPI_Datatype index_type,
                         MPI_Datatype* pair_type)
{
    *pair_type = MPI_DATATYPE_NULL;
    for (const PairType& type : pair_types) {
        if (type.value == value_type && type.index == index_type) {
            *pair_type = type.pair;
        }
    }
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

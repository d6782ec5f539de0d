// SPDX-License-Identifier: Apache-2.0
//
// Predefined datatypes and operators against the C language's own sizes.
#include <gtest/gtest.h>

#include <complex>
#include <cstdint>
#include <cwchar>

#include "data/reduce.hpp"
#include "object/datatype.hpp"
#include "object/handle.hpp"
#include "object/operator.hpp"

namespace headway::object {
namespace {

struct NamedType {
    MPI_Datatype handle;
    std::size_t size_bytes;
};

TEST(Datatype, SizesAreThoseOfTheLanguages)
{
    const NamedType known[] = {
        {MPI_CHAR, 1},
        {MPI_SIGNED_CHAR, 1},
        {MPI_UNSIGNED_CHAR, 1},
        {MPI_BYTE, 1},
        {MPI_PACKED, 1},
        {MPI_WCHAR, sizeof(wchar_t)},
        {MPI_SHORT, sizeof(short)},
        {MPI_UNSIGNED_SHORT, sizeof(short)},
        {MPI_INT, sizeof(int)},
        {MPI_UNSIGNED, sizeof(int)},
        {MPI_LONG, sizeof(long)},
        {MPI_UNSIGNED_LONG, sizeof(long)},
        {MPI_LONG_LONG, sizeof(long long)},
        {MPI_UNSIGNED_LONG_LONG, sizeof(long long)},
        {MPI_FLOAT, sizeof(float)},
        {MPI_DOUBLE, sizeof(double)},
        {MPI_LONG_DOUBLE, sizeof(long double)},
        {MPI_C_BOOL, 1},
        {MPI_INT8_T, 1},
        {MPI_INT16_T, 2},
        {MPI_INT32_T, 4},
        {MPI_INT64_T, 8},
        {MPI_UINT8_T, 1},
        {MPI_UINT16_T, 2},
        {MPI_UINT32_T, 4},
        {MPI_UINT64_T, 8},
        {MPI_AINT, sizeof(MPI_Aint)},
        {MPI_COUNT, sizeof(MPI_Count)},
        {MPI_OFFSET, sizeof(MPI_Offset)},
        {MPI_C_FLOAT_COMPLEX, sizeof(std::complex<float>)},
        {MPI_C_DOUBLE_COMPLEX, sizeof(std::complex<double>)},
        {MPI_C_LONG_DOUBLE_COMPLEX, sizeof(std::complex<long double>)},
        {MPI_CXX_BOOL, sizeof(bool)},
        {MPI_CXX_FLOAT_COMPLEX, 8},
        {MPI_CXX_DOUBLE_COMPLEX, 16},
        {MPI_CXX_LONG_DOUBLE_COMPLEX, sizeof(std::complex<long double>)},
        {MPI_INTEGER, 4},
        {MPI_REAL, 4},
        {MPI_DOUBLE_PRECISION, 8},
        {MPI_COMPLEX, 8},
        {MPI_DOUBLE_COMPLEX, 16},
        {MPI_LOGICAL, 4},
        {MPI_CHARACTER, 1},
        {MPI_INTEGER1, 1},
        {MPI_INTEGER2, 2},
        {MPI_INTEGER4, 4},
        {MPI_INTEGER8, 8},
        {MPI_REAL4, 4},
        {MPI_REAL8, 8},
        {MPI_COMPLEX8, 8},
        {MPI_COMPLEX16, 16},
    };
    for (const NamedType& each : known) {
        const Datatype* type = find_predefined_datatype(each.handle);
        ASSERT_NE(type, nullptr) << bits_of(each.handle);
        EXPECT_EQ(type->size_bytes, each.size_bytes) << bits_of(each.handle);
        EXPECT_EQ(type->extent_bytes, static_cast<std::int64_t>(each.size_bytes))
            << bits_of(each.handle);
        EXPECT_TRUE(type->is_dense) << bits_of(each.handle);
        EXPECT_EQ(type->layout->signature->elements(), 1U) << bits_of(each.handle);
    }
}

template <typename Value, typename Index>
void check_pair(MPI_Datatype handle)
{
    struct Pair {
        Value value;
        Index index;
    };
    const Datatype* type = find_predefined_datatype(handle);
    ASSERT_NE(type, nullptr);
    EXPECT_EQ(type->size_bytes, sizeof(Value) + sizeof(Index));
    EXPECT_EQ(type->extent_bytes, static_cast<std::int64_t>(sizeof(Pair)));
    EXPECT_EQ(type->is_dense, sizeof(Value) + sizeof(Index) == sizeof(Pair));
    EXPECT_EQ(type->layout->signature->bytes_of(1), sizeof(Value));
    EXPECT_NE(data::reduce_kernel(data::ReduceOperator::max_location, type->kind), nullptr);
}

TEST(Datatype, PairsAreTheStructsOfTheStandard)
{
    check_pair<float, int>(MPI_FLOAT_INT);
    check_pair<double, int>(MPI_DOUBLE_INT);
    check_pair<long, int>(MPI_LONG_INT);
    check_pair<int, int>(MPI_2INT);
    check_pair<short, int>(MPI_SHORT_INT);
    check_pair<long double, int>(MPI_LONG_DOUBLE_INT);
    check_pair<int, int>(MPI_2INTEGER);
    check_pair<float, float>(MPI_2REAL);
    check_pair<double, double>(MPI_2DOUBLE_PRECISION);
}

TEST(Datatype, WhatIsNoneIsNull)
{
    EXPECT_EQ(find_predefined_datatype(MPI_DATATYPE_NULL), nullptr);
    for (const HandleBits bits : {HandleBits{0}, HandleBits{0x101}, HandleBits{0x1FF},
                                  HandleBits{0x300}, HandleBits{1} << 40}) {
        EXPECT_EQ(find_predefined_datatype(handle_from<MPI_Datatype>(bits)), nullptr);
    }
}

TEST(Operator, PredefinedOnesAreTold)
{
    using data::ReduceOperator;
    const MPI_Op known[] = {MPI_MAX,  MPI_MIN,  MPI_SUM, MPI_PROD, MPI_LAND,   MPI_LOR,
                            MPI_LXOR, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    const ReduceOperator expected[] = {
        ReduceOperator::max,         ReduceOperator::min,          ReduceOperator::sum,
        ReduceOperator::product,     ReduceOperator::logical_and,  ReduceOperator::logical_or,
        ReduceOperator::logical_xor, ReduceOperator::bitwise_and,  ReduceOperator::bitwise_or,
        ReduceOperator::bitwise_xor, ReduceOperator::max_location, ReduceOperator::min_location};
    for (std::size_t i = 0; i < std::size(known); ++i) {
        EXPECT_EQ(find_predefined_operator(known[i]), expected[i]) << i;
    }
    for (const MPI_Op other : {MPI_OP_NULL, MPI_REPLACE, MPI_NO_OP}) {
        EXPECT_EQ(find_predefined_operator(other), std::nullopt);
    }
}

}  // namespace
}  // namespace headway::object

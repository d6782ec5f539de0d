// SPDX-License-Identifier: Apache-2.0
#include "data/reduce.hpp"

#include <array>
#include <complex>
#include <cstring>
#include <type_traits>

namespace headway::data {

namespace {

// Elements are read and written by memcpy: user buffers of pair types and packed Fortran commons
// need not be aligned. Compilers turn it into plain vector loads.
template <typename T>
T load(const std::byte* from) noexcept
{
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

template <typename T, typename Combine>
void combine_all(const void* in, void* inout, std::size_t count, Combine combine) noexcept
{
    const auto* source = static_cast<const std::byte*>(in);
    auto* target = static_cast<std::byte*>(inout);
    for (std::size_t i = 0; i < count; ++i) {
        const T result = combine(load<T>(source + i * sizeof(T)), load<T>(target + i * sizeof(T)));
        std::memcpy(target + i * sizeof(T), &result, sizeof(T));
    }
}

// Unsigned arithmetic for sums and products of integers: overflow wraps instead of being
// undefined, and int8 does not promote. uint16 products would promote to int and overflow it,
// so narrow kinds compute in 32 bits.
template <typename T>
using Wrapping = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;

template <typename T>
constexpr bool is_arithmetic_integer = std::is_integral_v<T>;

struct Max {
    template <typename T>
    static T apply(T a, T b) { return a < b ? b : a; }
};
struct Min {
    template <typename T>
    static T apply(T a, T b) { return b < a ? b : a; }
};
struct Sum {
    template <typename T>
    static T apply(T a, T b)
    {
        if constexpr (is_arithmetic_integer<T>) {
            return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
        }
        else {
            return a + b;
        }
    }
};
struct Product {
    template <typename T>
    static T apply(T a, T b)
    {
        if constexpr (is_arithmetic_integer<T>) {
            return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
        }
        else {
            return a * b;
        }
    }
};
struct LogicalAnd {
    template <typename T>
    static T apply(T a, T b) { return static_cast<T>(a != T{} && b != T{}); }
};
struct LogicalOr {
    template <typename T>
    static T apply(T a, T b) { return static_cast<T>(a != T{} || b != T{}); }
};
struct LogicalXor {
    template <typename T>
    static T apply(T a, T b) { return static_cast<T>((a != T{}) != (b != T{})); }
};
struct BitwiseAnd {
    template <typename T>
    static T apply(T a, T b) { return static_cast<T>(a & b); }
};
struct BitwiseOr {
    template <typename T>
    static T apply(T a, T b) { return static_cast<T>(a | b); }
};
struct BitwiseXor {
    template <typename T>
    static T apply(T a, T b) { return static_cast<T>(a ^ b); }
};

template <typename Value, typename Index>
struct Pair {
    Value value;
    Index index;
};

// On a tie the lower index wins (MPI-5.0 section 6.9.4).
struct MaxLocation {
    template <typename T>
    static T apply(T a, T b)
    {
        if (a.value == b.value) {
            return a.index < b.index ? a : b;
        }
        return a.value > b.value ? a : b;
    }
};
struct MinLocation {
    template <typename T>
    static T apply(T a, T b)
    {
        if (a.value == b.value) {
            return a.index < b.index ? a : b;
        }
        return a.value < b.value ? a : b;
    }
};

template <typename Operator, typename T>
void kernel(const void* in, void* inout, std::size_t count) noexcept
{
    combine_all<T>(in, inout, count, [](T a, T b) { return Operator::template apply<T>(a, b); });
}

constexpr auto kind_count = static_cast<std::size_t>(ElementKind::count);
constexpr auto operator_count = static_cast<std::size_t>(ReduceOperator::count);
using Row = std::array<ReduceKernel, kind_count>;

template <typename T, typename Operator>
constexpr void set(Row& row, ElementKind kind)
{
    row[static_cast<std::size_t>(kind)] = &kernel<Operator, T>;
}

template <typename Operator>
constexpr void set_integers(Row& row)
{
    set<std::int8_t, Operator>(row, ElementKind::int8);
    set<std::int16_t, Operator>(row, ElementKind::int16);
    set<std::int32_t, Operator>(row, ElementKind::int32);
    set<std::int64_t, Operator>(row, ElementKind::int64);
    set<std::uint8_t, Operator>(row, ElementKind::uint8);
    set<std::uint16_t, Operator>(row, ElementKind::uint16);
    set<std::uint32_t, Operator>(row, ElementKind::uint32);
    set<std::uint64_t, Operator>(row, ElementKind::uint64);
}

template <typename Operator>
constexpr void set_floats(Row& row)
{
    set<float, Operator>(row, ElementKind::float32);
    set<double, Operator>(row, ElementKind::float64);
    set<long double, Operator>(row, ElementKind::float_long);
}

template <typename Operator>
constexpr void set_complex(Row& row)
{
    set<std::complex<float>, Operator>(row, ElementKind::complex32);
    set<std::complex<double>, Operator>(row, ElementKind::complex64);
    set<std::complex<long double>, Operator>(row, ElementKind::complex_long);
}

template <typename Operator>
constexpr void set_logicals(Row& row)
{
    set<std::uint8_t, Operator>(row, ElementKind::logical8);
    set<std::uint16_t, Operator>(row, ElementKind::logical16);
    set<std::uint32_t, Operator>(row, ElementKind::logical32);
    set<std::uint64_t, Operator>(row, ElementKind::logical64);
}

template <typename Operator>
constexpr void set_pairs(Row& row)
{
    set<Pair<float, int>, Operator>(row, ElementKind::pair_float_int);
    set<Pair<double, int>, Operator>(row, ElementKind::pair_double_int);
    set<Pair<long, int>, Operator>(row, ElementKind::pair_long_int);
    set<Pair<int, int>, Operator>(row, ElementKind::pair_int_int);
    set<Pair<short, int>, Operator>(row, ElementKind::pair_short_int);
    set<Pair<long double, int>, Operator>(row, ElementKind::pair_long_double_int);
    set<Pair<float, float>, Operator>(row, ElementKind::pair_float_float);
    set<Pair<double, double>, Operator>(row, ElementKind::pair_double_double);
}

template <typename Operator>
constexpr Row ordered_row()
{
    Row row{};
    set_integers<Operator>(row);
    set_floats<Operator>(row);
    return row;
}

template <typename Operator>
constexpr Row arithmetic_row()
{
    Row row = ordered_row<Operator>();
    set_complex<Operator>(row);
    return row;
}

template <typename Operator>
constexpr Row logical_row()
{
    Row row{};
    set_integers<Operator>(row);
    set_logicals<Operator>(row);
    return row;
}

template <typename Operator>
constexpr Row bitwise_row()
{
    Row row{};
    set_integers<Operator>(row);
    set<std::uint8_t, Operator>(row, ElementKind::byte);
    return row;
}

template <typename Operator>
constexpr Row location_row()
{
    Row row{};
    set_pairs<Operator>(row);
    return row;
}

// Indexed by ReduceOperator, in its order.
constexpr std::array<Row, operator_count> kernels = {
    ordered_row<Max>(),         ordered_row<Min>(),        arithmetic_row<Sum>(),
    arithmetic_row<Product>(),  logical_row<LogicalAnd>(), logical_row<LogicalOr>(),
    logical_row<LogicalXor>(),  bitwise_row<BitwiseAnd>(), bitwise_row<BitwiseOr>(),
    bitwise_row<BitwiseXor>(),  location_row<MaxLocation>(), location_row<MinLocation>(),
};

}  // namespace

ReduceKernel reduce_kernel(ReduceOperator op, ElementKind kind) noexcept
{
    return kernels[static_cast<std::size_t>(op)][static_cast<std::size_t>(kind)];
}

}  // namespace headway::data

// SPDX-License-Identifier: Apache-2.0
#include "data/reduce.hpp"

#include <array>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "platform/cpu.hpp"

namespace headway::data {

namespace {

// Types of 16 bytes that Fortran has; C++ has them, under these names, where the platform does.
#if defined(__SIZEOF_INT128__)
#define HEADWAY_HAS_INT128 1
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;
#endif
#if defined(__SIZEOF_FLOAT128__)
#define HEADWAY_HAS_FLOAT128 1
__extension__ using Float128 = __float128;
#elif __LDBL_MANT_DIG__ == 113
#define HEADWAY_HAS_FLOAT128 1
using Float128 = long double;
#endif

template <typename Value, typename Index>
struct Pair {
    Value value;
    Index index;
};

// Elements are read and written by memcpy: packed elements need not be aligned. Compilers turn it
// into plain vector loads.
template <typename T>
struct Stored {
    static constexpr std::size_t bytes = sizeof(T);

    static T load(const std::byte* from) noexcept
    {
        T value;
        std::memcpy(&value, from, bytes);
        return value;
    }
    static void store(std::byte* to, const T& value) noexcept { std::memcpy(to, &value, bytes); }
};

template <typename Value, typename Index>
struct Stored<Pair<Value, Index>> {
    static constexpr std::size_t bytes = sizeof(Value) + sizeof(Index);

    static Pair<Value, Index> load(const std::byte* from) noexcept
    {
        return {Stored<Value>::load(from), Stored<Index>::load(from + sizeof(Value))};
    }
    static void store(std::byte* to, const Pair<Value, Index>& pair) noexcept
    {
        Stored<Value>::store(to, pair.value);
        Stored<Index>::store(to + sizeof(Value), pair.index);
    }
};

// Part of its caller, so that it is compiled for the processor that the caller is for.
template <typename Operator, typename T>
[[gnu::always_inline]] inline void combine_all(const void* lower, const void* upper, void* result,
                                               std::size_t count) noexcept
{
    using Element = Stored<T>;
    const auto* first = static_cast<const std::byte*>(lower);
    const auto* second = static_cast<const std::byte*>(upper);
    auto* target = static_cast<std::byte*>(result);
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = i * Element::bytes;
        Element::store(target + at, Operator::template apply<T>(Element::load(first + at),
                                                                Element::load(second + at)));
    }
}

// Unsigned arithmetic for sums and products of integers: overflow wraps instead of being
// undefined, and int8 does not promote. uint16 products would promote to int and overflow it,
// so narrow kinds compute in 32 bits.
template <typename T>
struct WrappingFor {
    using Type = std::conditional_t<(sizeof(T) < 4), std::uint32_t, std::make_unsigned_t<T>>;
};
template <typename T>
constexpr bool is_arithmetic_integer = std::is_integral_v<T>;
#if defined(HEADWAY_HAS_INT128)
template <>
struct WrappingFor<Int128> {
    using Type = Uint128;
};
template <>
constexpr bool is_arithmetic_integer<Int128> = true;
#endif
template <typename T>
using Wrapping = typename WrappingFor<T>::Type;

struct Max {
    template <typename T>
    static T apply(T a, T b)
    {
        return a < b ? b : a;
    }
};
struct Min {
    template <typename T>
    static T apply(T a, T b)
    {
        return b < a ? b : a;
    }
};
struct Sum {
    template <typename T>
    static T apply(T a, T b)
    {
        if constexpr (is_arithmetic_integer<T>) {
            return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
        } else {
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
        } else {
            return a * b;
        }
    }
};
struct LogicalAnd {
    template <typename T>
    static T apply(T a, T b)
    {
        return static_cast<T>(a != T{} && b != T{});
    }
};
struct LogicalOr {
    template <typename T>
    static T apply(T a, T b)
    {
        return static_cast<T>(a != T{} || b != T{});
    }
};
struct LogicalXor {
    template <typename T>
    static T apply(T a, T b)
    {
        return static_cast<T>((a != T{}) != (b != T{}));
    }
};
struct BitwiseAnd {
    template <typename T>
    static T apply(T a, T b)
    {
        return static_cast<T>(a & b);
    }
};
struct BitwiseOr {
    template <typename T>
    static T apply(T a, T b)
    {
        return static_cast<T>(a | b);
    }
};
struct BitwiseXor {
    template <typename T>
    static T apply(T a, T b)
    {
        return static_cast<T>(a ^ b);
    }
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
void kernel(const void* lower, const void* upper, void* result, std::size_t count) noexcept
{
    combine_all<Operator, T>(lower, upper, result, count);
}

#if defined(__x86_64__)
// Without fused multiply and add, which rounds otherwise.
template <typename Operator, typename T>
[[gnu::target("avx2")]] void wide_kernel(const void* lower, const void* upper, void* result,
                                         std::size_t count) noexcept
{
    combine_all<Operator, T>(lower, upper, result, count);
}
#else
template <typename Operator, typename T>
constexpr ReduceKernel wide_kernel = &kernel<Operator, T>;
#endif

struct Kernels {
    ReduceKernel plain = nullptr;
    ReduceKernel wide = nullptr;
};

constexpr auto kind_count = static_cast<std::size_t>(ElementKind::count);
constexpr auto operator_count = static_cast<std::size_t>(ReduceOperator::count);
using Row = std::array<Kernels, kind_count>;

template <typename T, typename Operator>
constexpr void set(Row& row, ElementKind kind)
{
    row[static_cast<std::size_t>(kind)] = {kernel<Operator, T>, wide_kernel<Operator, T>};
}

template <typename Operator>
constexpr void set_integers(Row& row)
{
    set<std::int8_t, Operator>(row, ElementKind::int8);
    set<std::int16_t, Operator>(row, ElementKind::int16);
    set<std::int32_t, Operator>(row, ElementKind::int32);
    set<std::int64_t, Operator>(row, ElementKind::int64);
#if defined(HEADWAY_HAS_INT128)
    set<Int128, Operator>(row, ElementKind::int128);
#endif
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
#if defined(HEADWAY_HAS_FLOAT128)
    set<Float128, Operator>(row, ElementKind::float128);
#endif
}

template <typename Operator>
constexpr void set_complex(Row& row)
{
    set<std::complex<float>, Operator>(row, ElementKind::complex32);
    set<std::complex<double>, Operator>(row, ElementKind::complex64);
    set<std::complex<long double>, Operator>(row, ElementKind::complex_long);
#if defined(HEADWAY_HAS_FLOAT128)
    set<std::complex<Float128>, Operator>(row, ElementKind::complex128);
#endif
}

template <typename Operator>
constexpr void set_logicals(Row& row)
{
    set<std::uint8_t, Operator>(row, ElementKind::logical8);
    set<std::uint16_t, Operator>(row, ElementKind::logical16);
    set<std::uint32_t, Operator>(row, ElementKind::logical32);
    set<std::uint64_t, Operator>(row, ElementKind::logical64);
#if defined(HEADWAY_HAS_INT128)
    set<Uint128, Operator>(row, ElementKind::logical128);
#endif
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
    ordered_row<Max>(),        ordered_row<Min>(),          arithmetic_row<Sum>(),
    arithmetic_row<Product>(), logical_row<LogicalAnd>(),   logical_row<LogicalOr>(),
    logical_row<LogicalXor>(), bitwise_row<BitwiseAnd>(),   bitwise_row<BitwiseOr>(),
    bitwise_row<BitwiseXor>(), location_row<MaxLocation>(), location_row<MinLocation>(),
};

}  // namespace

ReduceKernel reduce_kernel(ReduceOperator op, ElementKind kind, KernelWidth width) noexcept
{
    static const bool is_wide = platform::has_wide_registers();
    const Kernels& found = kernels[static_cast<std::size_t>(op)][static_cast<std::size_t>(kind)];
    return is_wide && width == KernelWidth::widest ? found.wide : found.plain;
}

}  // namespace headway::data

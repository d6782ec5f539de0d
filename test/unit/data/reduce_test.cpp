// SPDX-License-Identifier: Apache-2.0
//
// Every operator on every kind of element, beside a naive oracle that works on one element at a
// time, in buffers that are not aligned. What the standard does not allow has no kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "data/reduce.hpp"

namespace headway::data {
namespace {

using Op = ReduceOperator;
using Kind = ElementKind;

constexpr int operator_count = static_cast<int>(Op::count);

template <typename Value, typename Index>
struct [[gnu::packed]] Pair {
    Value value;
    Index index;
    bool operator==(const Pair&) const = default;
};

/// Integers and bytes. Wide enough for the exact result, which is then cut to the type.
template <typename T>
struct IntegerOracle {
    using Element = T;
    static Element draw(std::mt19937& dice)
    {
        const T corners[] = {
            0, 1, static_cast<T>(-1), std::numeric_limits<T>::max(), std::numeric_limits<T>::min(),
            2, 85};
        const auto some = dice();
        return some % 3 == 0 ? static_cast<T>(std::uint64_t{dice()} << 32 | dice())
                             : corners[some / 3 % std::size(corners)];
    }
    static bool allows(Op op) { return op != Op::max_location && op != Op::min_location; }
    static T combine(Op op, T a, T b)
    {
        const auto wide_a = static_cast<unsigned __int128>(a);
        const auto wide_b = static_cast<unsigned __int128>(b);
        switch (op) {
            case Op::max:
                return std::max(a, b);
            case Op::min:
                return std::min(a, b);
            case Op::sum:
                return static_cast<T>(wide_a + wide_b);
            case Op::product:
                return static_cast<T>(wide_a * wide_b);
            case Op::logical_and:
                return static_cast<T>(a && b);
            case Op::logical_or:
                return static_cast<T>(a || b);
            case Op::logical_xor:
                return static_cast<T>(!a != !b);
            case Op::bitwise_and:
                return static_cast<T>(wide_a & wide_b);
            case Op::bitwise_or:
                return static_cast<T>(wide_a | wide_b);
            case Op::bitwise_xor:
                return static_cast<T>(wide_a ^ wide_b);
            default:
                return T{};
        }
    }
};

struct ByteOracle : IntegerOracle<std::uint8_t> {
    static bool allows(Op op)
    {
        return op == Op::bitwise_and || op == Op::bitwise_or || op == Op::bitwise_xor;
    }
};

template <typename T>
struct LogicalOracle : IntegerOracle<T> {
    static bool allows(Op op)
    {
        return op == Op::logical_and || op == Op::logical_or || op == Op::logical_xor;
    }
};

/// Small whole numbers: every result is exact, so equality is the right question.
template <typename T>
struct FloatOracle {
    using Element = T;

    static Element draw(std::mt19937& dice)
    {
        return static_cast<T>(static_cast<int>(dice() % 2001) - 1000) / 4;
    }
    static bool allows(Op op)
    {
        return op == Op::max || op == Op::min || op == Op::sum || op == Op::product;
    }
    static T combine(Op op, T a, T b)
    {
        switch (op) {
            case Op::max:
                return std::max(a, b);
            case Op::min:
                return std::min(a, b);
            case Op::sum:
                return a + b;
            default:
                return a * b;
        }
    }
};

template <typename T>
struct ComplexOracle {
    using Element = std::complex<T>;

    static Element draw(std::mt19937& dice)
    {
        return {FloatOracle<T>::draw(dice), FloatOracle<T>::draw(dice)};
    }
    static bool allows(Op op) { return op == Op::sum || op == Op::product; }
    static Element combine(Op op, Element a, Element b)
    {
        if (op == Op::sum) {
            return {a.real() + b.real(), a.imag() + b.imag()};
        }
        return {a.real() * b.real() - a.imag() * b.imag(),
                a.real() * b.imag() + a.imag() * b.real()};
    }
};

/// Few values and indices: ties are frequent.
template <typename Value, typename Index>
struct PairOracle {
    using Element = Pair<Value, Index>;

    static Element draw(std::mt19937& dice)
    {
        return {static_cast<Value>(static_cast<int>(dice() % 5) - 2),
                static_cast<Index>(dice() % 7)};
    }
    static bool allows(Op op) { return op == Op::max_location || op == Op::min_location; }
    static Element combine(Op op, Element a, Element b)
    {
        if (a.value == b.value) {
            return a.index < b.index ? a : b;
        }
        return (a.value > b.value) == (op == Op::max_location) ? a : b;
    }
};

/// INTEGER16: beside the common rules, what 64 bits cannot show.
struct WideIntegerOracle {
    __extension__ using Element = __int128;

    static Element draw(std::mt19937& dice)
    {
        const auto high = static_cast<Element>(static_cast<std::int32_t>(dice()));
        const auto low = static_cast<Element>(dice());
        return dice() % 4 == 0 ? Element{0} : high * (Element{1} << 70) + low;
    }
    static bool allows(Op op) { return op != Op::max_location && op != Op::min_location; }
    static Element combine(Op op, Element a, Element b)
    {
        __extension__ using Bits = unsigned __int128;
        switch (op) {
            case Op::max:
                return a > b ? a : b;
            case Op::min:
                return a < b ? a : b;
            case Op::sum:
                return static_cast<Element>(static_cast<Bits>(a) + static_cast<Bits>(b));
            case Op::product:
                return static_cast<Element>(static_cast<Bits>(a) * static_cast<Bits>(b));
            case Op::logical_and:
                return a != 0 && b != 0;
            case Op::logical_or:
                return a != 0 || b != 0;
            case Op::logical_xor:
                return (a != 0) != (b != 0);
            case Op::bitwise_and:
                return a & b;
            case Op::bitwise_or:
                return a | b;
            case Op::bitwise_xor:
                return a ^ b;
            default:
                return 0;
        }
    }
};

template <typename T>
std::vector<T> read(const std::vector<std::byte>& bytes, std::size_t offset, std::size_t count)
{
    std::vector<T> all(count);
    if (count != 0) {
        std::memcpy(all.data(), bytes.data() + offset, count * sizeof(T));
    }
    return all;
}

/// In the place of the upper operand, and where neither of them is.
template <typename Oracle>
void check_kernel(Op op, Kind kind, KernelWidth width)
{
    using T = typename Oracle::Element;
    const ReduceKernel kernel = reduce_kernel(op, kind, width);
    ASSERT_NE(kernel, nullptr);
    std::mt19937 dice(static_cast<unsigned>(op) * 100 + static_cast<unsigned>(kind));
    for (const std::size_t count : {0U, 1U, 2U, 7U, 64U, 1001U}) {
        for (const std::size_t offset : {0U, 1U, 5U}) {
            std::vector<std::byte> in(offset + count * sizeof(T) + 16, std::byte{0xA5});
            std::vector<std::byte> inout = in;
            std::vector<T> expected;
            for (std::size_t i = 0; i < count; ++i) {
                const T a = Oracle::draw(dice);
                const T b = Oracle::draw(dice);
                std::memcpy(in.data() + offset + i * sizeof(T), &a, sizeof(T));
                std::memcpy(inout.data() + offset + i * sizeof(T), &b, sizeof(T));
                expected.push_back(Oracle::combine(op, a, b));
            }
            const std::vector<std::byte> in_before = in;
            const std::vector<std::byte> upper = inout;
            std::vector<std::byte> result(inout.size(), std::byte{0xA5});
            kernel(in.data() + offset, inout.data() + offset, result.data() + offset, count);
            ASSERT_EQ(inout, upper);
            kernel(in.data() + offset, inout.data() + offset, inout.data() + offset, count);
            ASSERT_EQ(in, in_before);
            ASSERT_TRUE(read<T>(result, offset, count) == expected);
            ASSERT_TRUE(read<T>(inout, offset, count) == expected)
                << "operator " << static_cast<int>(op) << " kind " << static_cast<int>(kind)
                << " count " << count << " offset " << offset;
            const std::vector<std::byte> guard(16, std::byte{0xA5});
            ASSERT_TRUE(std::equal(guard.begin(), guard.end(), inout.end() - 16));
            ASSERT_TRUE(
                std::equal(inout.begin(), inout.begin() + static_cast<int>(offset), guard.begin()));
        }
    }
}

template <typename Oracle>
void check_kind(Kind kind)
{
    for (int i = 0; i < operator_count; ++i) {
        const auto op = static_cast<Op>(i);
        if (Oracle::allows(op)) {
            check_kernel<Oracle>(op, kind, KernelWidth::plain);
            check_kernel<Oracle>(op, kind, KernelWidth::widest);
        } else {
            EXPECT_EQ(reduce_kernel(op, kind), nullptr)
                << "operator " << i << " kind " << static_cast<int>(kind);
        }
    }
}

TEST(Reduce, Integers)
{
    check_kind<IntegerOracle<std::int8_t>>(Kind::int8);
    check_kind<IntegerOracle<std::int16_t>>(Kind::int16);
    check_kind<IntegerOracle<std::int32_t>>(Kind::int32);
    check_kind<IntegerOracle<std::int64_t>>(Kind::int64);
    check_kind<WideIntegerOracle>(Kind::int128);
    check_kind<IntegerOracle<std::uint8_t>>(Kind::uint8);
    check_kind<IntegerOracle<std::uint16_t>>(Kind::uint16);
    check_kind<IntegerOracle<std::uint32_t>>(Kind::uint32);
    check_kind<IntegerOracle<std::uint64_t>>(Kind::uint64);
}

TEST(Reduce, Floats)
{
    check_kind<FloatOracle<float>>(Kind::float32);
    check_kind<FloatOracle<double>>(Kind::float64);
    check_kind<FloatOracle<long double>>(Kind::float_long);
}

TEST(Reduce, ComplexNumbers)
{
    check_kind<ComplexOracle<float>>(Kind::complex32);
    check_kind<ComplexOracle<double>>(Kind::complex64);
    check_kind<ComplexOracle<long double>>(Kind::complex_long);
}

TEST(Reduce, LogicalsAndBytes)
{
    check_kind<LogicalOracle<std::uint8_t>>(Kind::logical8);
    check_kind<LogicalOracle<std::uint16_t>>(Kind::logical16);
    check_kind<LogicalOracle<std::uint32_t>>(Kind::logical32);
    check_kind<LogicalOracle<std::uint64_t>>(Kind::logical64);
    check_kind<ByteOracle>(Kind::byte);
}

TEST(Reduce, Pairs)
{
    check_kind<PairOracle<float, int>>(Kind::pair_float_int);
    check_kind<PairOracle<double, int>>(Kind::pair_double_int);
    check_kind<PairOracle<long, int>>(Kind::pair_long_int);
    check_kind<PairOracle<int, int>>(Kind::pair_int_int);
    check_kind<PairOracle<short, int>>(Kind::pair_short_int);
    check_kind<PairOracle<long double, int>>(Kind::pair_long_double_int);
    check_kind<PairOracle<float, float>>(Kind::pair_float_float);
    check_kind<PairOracle<double, double>>(Kind::pair_double_double);
}

TEST(Reduce, CharactersHaveNoArithmetic)
{
    for (int i = 0; i < operator_count; ++i) {
        EXPECT_EQ(reduce_kernel(static_cast<Op>(i), Kind::none), nullptr);
    }
}

}  // namespace
}  // namespace headway::data

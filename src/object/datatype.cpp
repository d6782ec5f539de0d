// SPDX-License-Identifier: Apache-2.0
#include "object/datatype.hpp"

#include <array>
#include <cstddef>
#include <cwchar>

#include "object/handle.hpp"

namespace headway::object {

namespace {

using data::ElementKind;

constexpr std::size_t type_count = datatype_limit - datatype_first;
using TypeTable = std::array<Datatype, type_count>;

template <typename T>
constexpr ElementKind integer_kind()
{
    constexpr bool is_signed = static_cast<T>(-1) < static_cast<T>(0);
    switch (sizeof(T)) {
        case 1:
            return is_signed ? ElementKind::int8 : ElementKind::uint8;
        case 2:
            return is_signed ? ElementKind::int16 : ElementKind::uint16;
        case 4:
            return is_signed ? ElementKind::int32 : ElementKind::uint32;
        default:
            return is_signed ? ElementKind::int64 : ElementKind::uint64;
    }
}

template <typename Value, typename Index>
struct PairLayout {
    Value value;
    Index index;
};

/// Fills the table handle by handle. The size comes from the handle table of the ABI; here stand
/// the kinds and the extents that differ from the size.
class TableBuilder {
  public:
    TypeTable build()
    {
        fill_sizes();
        set_c_integers();
        set_floats();
        set_logicals();
        set_fortran();
        set_pairs();
        return table_;
    }

  private:
    Datatype& at(MPI_Datatype handle) { return table_[bits_of(handle) - datatype_first]; }
    void set(MPI_Datatype handle, ElementKind kind) { at(handle).kind = kind; }

    template <typename Value, typename Index>
    void set_pair(MPI_Datatype handle, ElementKind kind)
    {
        at(handle).kind = kind;
        at(handle).extent_bytes = sizeof(PairLayout<Value, Index>);
        at(handle).value_bytes = sizeof(Value);
    }

    void fill_sizes()
    {
        for (std::size_t i = 0; i < type_count; ++i) {
            if (const int bytes = predefined_sizes[i]; bytes > 0) {
                table_[i].size_bytes = static_cast<std::uint16_t>(bytes);
                table_[i].extent_bytes = static_cast<std::uint16_t>(bytes);
            }
        }
    }

    void set_c_integers()
    {
        set(MPI_SHORT, integer_kind<short>());
        set(MPI_INT, integer_kind<int>());
        set(MPI_LONG, integer_kind<long>());
        set(MPI_LONG_LONG, integer_kind<long long>());
        set(MPI_UNSIGNED_SHORT, integer_kind<unsigned short>());
        set(MPI_UNSIGNED, integer_kind<unsigned>());
        set(MPI_UNSIGNED_LONG, integer_kind<unsigned long>());
        set(MPI_UNSIGNED_LONG_LONG, integer_kind<unsigned long long>());
        set(MPI_SIGNED_CHAR, ElementKind::int8);
        set(MPI_UNSIGNED_CHAR, ElementKind::uint8);
        set(MPI_INT8_T, ElementKind::int8);
        set(MPI_INT16_T, ElementKind::int16);
        set(MPI_INT32_T, ElementKind::int32);
        set(MPI_INT64_T, ElementKind::int64);
        set(MPI_UINT8_T, ElementKind::uint8);
        set(MPI_UINT16_T, ElementKind::uint16);
        set(MPI_UINT32_T, ElementKind::uint32);
        set(MPI_UINT64_T, ElementKind::uint64);
        set(MPI_AINT, integer_kind<MPI_Aint>());
        set(MPI_COUNT, integer_kind<MPI_Count>());
        set(MPI_OFFSET, integer_kind<MPI_Offset>());
        set(MPI_BYTE, ElementKind::byte);
    }

    void set_floats()
    {
        set(MPI_FLOAT, ElementKind::float32);
        set(MPI_DOUBLE, ElementKind::float64);
        set(MPI_LONG_DOUBLE, ElementKind::float_long);
        set(MPI_C_FLOAT_COMPLEX, ElementKind::complex32);
        set(MPI_C_DOUBLE_COMPLEX, ElementKind::complex64);
        set(MPI_C_LONG_DOUBLE_COMPLEX, ElementKind::complex_long);
        set(MPI_CXX_FLOAT_COMPLEX, ElementKind::complex32);
        set(MPI_CXX_DOUBLE_COMPLEX, ElementKind::complex64);
        set(MPI_CXX_LONG_DOUBLE_COMPLEX, ElementKind::complex_long);
    }

    void set_logicals()
    {
        set(MPI_C_BOOL, ElementKind::logical8);
        set(MPI_CXX_BOOL, ElementKind::logical8);
        set(MPI_LOGICAL, ElementKind::logical32);
        set(MPI_LOGICAL1, ElementKind::logical8);
        set(MPI_LOGICAL2, ElementKind::logical16);
        set(MPI_LOGICAL4, ElementKind::logical32);
        set(MPI_LOGICAL8, ElementKind::logical64);
        set(MPI_LOGICAL16, ElementKind::logical128);
    }

    void set_fortran()
    {
        set(MPI_INTEGER, ElementKind::int32);
        set(MPI_INTEGER1, ElementKind::int8);
        set(MPI_INTEGER2, ElementKind::int16);
        set(MPI_INTEGER4, ElementKind::int32);
        set(MPI_INTEGER8, ElementKind::int64);
        set(MPI_INTEGER16, ElementKind::int128);
        set(MPI_REAL, ElementKind::float32);
        set(MPI_REAL4, ElementKind::float32);
        set(MPI_REAL8, ElementKind::float64);
        set(MPI_REAL16, ElementKind::float128);
        set(MPI_DOUBLE_PRECISION, ElementKind::float64);
        set(MPI_COMPLEX, ElementKind::complex32);
        set(MPI_COMPLEX8, ElementKind::complex32);
        set(MPI_COMPLEX16, ElementKind::complex64);
        set(MPI_COMPLEX32, ElementKind::complex128);
        set(MPI_DOUBLE_COMPLEX, ElementKind::complex64);
    }

    void set_pairs()
    {
        set_pair<float, int>(MPI_FLOAT_INT, ElementKind::pair_float_int);
        set_pair<double, int>(MPI_DOUBLE_INT, ElementKind::pair_double_int);
        set_pair<long, int>(MPI_LONG_INT, ElementKind::pair_long_int);
        set_pair<int, int>(MPI_2INT, ElementKind::pair_int_int);
        set_pair<short, int>(MPI_SHORT_INT, ElementKind::pair_short_int);
        set_pair<long double, int>(MPI_LONG_DOUBLE_INT, ElementKind::pair_long_double_int);
        set_pair<int, int>(MPI_2INTEGER, ElementKind::pair_int_int);
        set_pair<float, float>(MPI_2REAL, ElementKind::pair_float_float);
        set_pair<double, double>(MPI_2DOUBLE_PRECISION, ElementKind::pair_double_double);
    }

    TypeTable table_{};
};

}  // namespace

const Datatype* find_datatype(MPI_Datatype handle) noexcept
{
    // Facts of the platform, the same for every rank; built when the first type is asked for.
    static const TypeTable table = TableBuilder().build();
    const HandleBits index = bits_of(handle) - datatype_first;
    if (index >= type_count || table[index].size_bytes == 0) {
        return nullptr;
    }
    return &table[index];
}

}  // namespace headway::object

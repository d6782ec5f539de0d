// SPDX-License-Identifier: Apache-2.0
#include "object/datatype.hpp"

#include <array>
#include <cstddef>
#include <span>

#include "object/rank.hpp"

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
struct PairOf {
    Value value;
    Index index;
};

data::BasicType basic_of(MPI_Datatype handle)
{
    const HandleBits bits = bits_of(handle);
    return {static_cast<std::uint16_t>(bits),
            static_cast<std::uint16_t>(predefined_sizes[bits - datatype_first])};
}

/// Complex numbers are aligned as their parts are, all others as their size says.
std::int64_t alignment_of(const Datatype& type)
{
    const auto size = static_cast<std::int64_t>(type.size_bytes);
    const bool is_complex =
        type.kind >= ElementKind::complex32 && type.kind <= ElementKind::complex128;
    return is_complex ? size / 2 : size;
}

/// Fills the table handle by handle. The size comes from the handle table of the ABI; here stand
/// the kinds, and the places of the parts of pairs.
class TableBuilder {
  public:
    TypeTable build()
    {
        set_c_integers();
        set_floats();
        set_logicals();
        set_fortran();
        set_sizes();
        set_pairs();
        return std::move(table_);
    }

  private:
    Datatype& at(MPI_Datatype handle) { return table_[bits_of(handle) - datatype_first]; }
    void set(MPI_Datatype handle, ElementKind kind) { at(handle).kind = kind; }

    template <typename Value, typename Index>
    void set_pair(MPI_Datatype handle, ElementKind kind, MPI_Datatype value, MPI_Datatype index)
    {
        using Pair = PairOf<Value, Index>;
        const data::BasicPart parts[] = {
            {basic_of(value), 0, alignof(Value)},
            {basic_of(index), offsetof(Pair, index), alignof(Index)},
        };
        set_layout(at(handle), data::make_basic(parts));
        set(handle, kind);
    }

    static void set_layout(Datatype& type, data::Layout::Pointer layout)
    {
        type.layout = std::move(layout);
        type.take_numbers();
    }

    void set_sizes()
    {
        for (std::size_t i = 0; i < type_count; ++i) {
            if (predefined_sizes[i] > 0) {
                Datatype& type = table_[i];
                type.size_bytes = static_cast<std::uint64_t>(predefined_sizes[i]);
                const auto handle = handle_from<MPI_Datatype>(datatype_first + i);
                const data::BasicPart whole{basic_of(handle), 0, alignment_of(type)};
                set_layout(type, data::make_basic(std::span(&whole, 1)));
            }
        }
    }

    void set_c_integers()
    {
        set(MPI_SHORT, integer_kind<short>());
        set(MPI_INT, integer_kind<int>());
        set(MPI_LONG, integer_kind<long>());
        set(MPI_LONG_LONG_INT, integer_kind<long long>());
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
        set(MPI_C_COMPLEX, ElementKind::complex32);
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
        set_pair<float, int>(MPI_FLOAT_INT, ElementKind::pair_float_int, MPI_FLOAT, MPI_INT);
        set_pair<double, int>(MPI_DOUBLE_INT, ElementKind::pair_double_int, MPI_DOUBLE, MPI_INT);
        set_pair<long, int>(MPI_LONG_INT, ElementKind::pair_long_int, MPI_LONG, MPI_INT);
        set_pair<int, int>(MPI_2INT, ElementKind::pair_int_int, MPI_INT, MPI_INT);
        set_pair<short, int>(MPI_SHORT_INT, ElementKind::pair_short_int, MPI_SHORT, MPI_INT);
        set_pair<long double, int>(MPI_LONG_DOUBLE_INT, ElementKind::pair_long_double_int,
                                   MPI_LONG_DOUBLE, MPI_INT);
        set_pair<int, int>(MPI_2INTEGER, ElementKind::pair_int_int, MPI_INTEGER, MPI_INTEGER);
        set_pair<float, float>(MPI_2REAL, ElementKind::pair_float_float, MPI_REAL, MPI_REAL);
        set_pair<double, double>(MPI_2DOUBLE_PRECISION, ElementKind::pair_double_double,
                                 MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION);
    }

    TypeTable table_{};
};

}  // namespace

void Datatype::take_numbers()
{
    size_bytes = layout->size_bytes();
    extent_bytes = layout->extent;
    first_byte = layout->data.begin;
    is_dense = layout->is_dense();
    is_run = layout->size_bytes() == 0 || layout->program.view().is_run();
}

const Datatype* predefined_datatypes() noexcept
{
    // Facts of the platform, the same for every rank; built when the first type is asked for, and
    // left to the end of the process, which may come while threads still run.
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): without memory for it the job ends
    static const TypeTable& table = *new TypeTable(TableBuilder().build());
    return table.data();
}

DerivedDatatype::DerivedDatatype(std::shared_ptr<const TypeRecord> made) : record(std::move(made))
{
    layout = record->layout;
    kind = record->kind;
    take_numbers();
}

MPI_Datatype make_datatype(Rank& rank, std::shared_ptr<const TypeRecord> record, bool is_committed)
{
    auto type = std::make_unique<DerivedDatatype>(std::move(record));
    type->is_committed = is_committed;
    const auto handle = rank.pool().acquire<MPI_Datatype>(type.get());
    if (bits_of(handle) == 0) {
        return MPI_DATATYPE_NULL;
    }
    (void)type.release();
    return handle;
}

void drop_datatype(Rank& rank, MPI_Datatype handle)
{
    DerivedDatatype* const type = find_derived_datatype(rank, handle);
    // (1) acq_rel, pairs with itself: who drops the last one is behind all that others did.
    if (type->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        rank.pool().release(handle);
        delete type;
    }
}

TypeSource source_of(const RankAccess& rank, MPI_Datatype handle)
{
    const DerivedDatatype* derived = find_derived_datatype(rank, handle);
    return derived != nullptr ? TypeSource{MPI_DATATYPE_NULL, derived->record}
                              : TypeSource{handle, nullptr};
}

TypeNotes& notes_of(Rank& rank, MPI_Datatype handle)
{
    DerivedDatatype* derived = find_derived_datatype(rank, handle);
    return derived != nullptr ? derived->notes : rank.predefined_type_notes()[bits_of(handle)];
}

data::ExternalForm external_form_of(data::BasicType basic)
{
    using Number = data::ExternalForm::Number;
    const auto handle = handle_from<MPI_Datatype>(HandleBits{basic.id});
    const std::uint16_t bytes = basic.size_bytes;
    if (handle == MPI_LONG || handle == MPI_UNSIGNED_LONG) {
        return {bytes, 4, 1,
                handle == MPI_LONG ? Number::signed_integer : Number::unsigned_integer};
    }
    if (handle == MPI_WCHAR) {
        return {bytes, 2, 1, Number::unsigned_integer};
    }
    const auto half = static_cast<std::uint16_t>(bytes / 2);
    switch (find_predefined_datatype(handle)->kind) {
        case ElementKind::float_long:
            return {bytes, 16, 1, Number::long_double};
        case ElementKind::complex_long:
            return {half, 16, 2, Number::long_double};
        case ElementKind::complex32:
        case ElementKind::complex64:
        case ElementKind::complex128:
            return {half, half, 2, Number::same};
        default:
            return {bytes, bytes, 1, Number::same};
    }
}

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
// Datatypes (MPI-5.0 chapter 5). Predefined ones are facts of the platform; those that the program
// makes belong to one rank and are behind handles of its table.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "data/element.hpp"
#include "data/external32.hpp"
#include "data/layout.hpp"
#include "mpi.h"
#include "object/attribute.hpp"
#include "object/handle.hpp"
#include "object/rank_access.hpp"

namespace headway::object {

class Rank;

/// What communication knows of a datatype. The numbers are those of the layout, in reach.
struct Datatype {
    std::uint64_t size_bytes = 0;   ///< bytes of data in an element; on the wire it has no gaps
    std::int64_t extent_bytes = 0;  ///< from one element of an array to the next
    std::int64_t first_byte = 0;    ///< where the data begins, counted from the element's address
    bool is_dense = true;           ///< any number of elements is one run of bytes
    bool is_run = true;             ///< one element is
    /// Of predefined types, with or without a name.
    data::ElementKind kind = data::ElementKind::none;
    data::Layout::Pointer layout;

    /// Requires `layout`.
    void take_numbers();
    /// `count` elements are one run of bytes, `first_byte` behind the address of the first.
    bool is_one_run(std::uint64_t count) const noexcept
    {
        return is_dense || (count == 1 && is_run);
    }
};

/// The types behind the handles from `datatype_first` on, `datatype_limit - datatype_first` of
/// them; one without a layout is none: the standard has no such handle, or this platform lacks the
/// language type. Never changed; any thread.
const Datatype* predefined_datatypes() noexcept;

/// The type behind a predefined handle, or null.
inline const Datatype* find_predefined_datatype(const Datatype* predefined,
                                                MPI_Datatype handle) noexcept
{
    const HandleBits index = bits_of(handle) - datatype_first;
    return index < datatype_limit - datatype_first && predefined[index].layout != nullptr
               ? &predefined[index]
               : nullptr;
}
inline const Datatype* find_predefined_datatype(MPI_Datatype handle) noexcept
{
    return find_predefined_datatype(predefined_datatypes(), handle);
}

/// How a basic type of a signature is written in external32.
data::ExternalForm external_form_of(data::BasicType basic);

struct TypeRecord;

/// A datatype that another one was made of.
struct TypeSource {
    MPI_Datatype predefined = MPI_DATATYPE_NULL;  ///< where `derived` is null
    std::shared_ptr<const TypeRecord> derived;
};

/// How a derived type was made, and what came of it. Never changed; shared by all types that are
/// duplicates or are made of it.
struct TypeRecord {
    int combiner = MPI_COMBINER_NAMED;
    /// Counts came as MPI_Count: they stand in `counts`, and MPI_Type_get_contents_c has to ask.
    bool is_large = false;
    std::vector<int> integers;
    std::vector<MPI_Aint> addresses;
    std::vector<MPI_Count> counts;
    std::vector<TypeSource> sources;
    data::Layout::Pointer layout;
    /// Only of types that MPI_Type_create_f90_... answers: predefined ones without a name.
    data::ElementKind kind = data::ElementKind::none;
};

/// What a program hangs on a datatype.
struct TypeNotes {
    std::optional<std::string> name;
    AttributeSet attributes;
};

/// A datatype that the program made. The rank's threads, under its lock.
struct DerivedDatatype : Datatype {
    explicit DerivedDatatype(std::shared_ptr<const TypeRecord> made);

    /// Predefined without a name; cannot be freed.
    bool is_permanent() const noexcept { return kind != data::ElementKind::none; }

    std::shared_ptr<const TypeRecord> record;
    bool is_committed = false;
    /// MPI_Type_free was called. The handle stays for reductions under way, whose functions get it.
    bool is_freed = false;
    TypeNotes notes;
    // One for the program, one for each such reduction, of any instance. Any thread of the rank.
    std::atomic<int> references{1};
};

inline DerivedDatatype* find_derived_datatype(const RankAccess& rank, MPI_Datatype handle) noexcept
{
    return rank.handles->find<DerivedDatatype>(handle);
}

/// The datatype behind any handle of this rank, or null.
inline const Datatype* find_datatype(const RankAccess& rank, MPI_Datatype handle) noexcept
{
    if (is_predefined(bits_of(handle))) [[likely]] {
        return find_predefined_datatype(rank.predefined_datatypes, handle);
    }
    return find_derived_datatype(rank, handle);
}

/// A handle for a new datatype; MPI_DATATYPE_NULL: the handle table is full.
MPI_Datatype make_datatype(Rank& rank, std::shared_ptr<const TypeRecord> record,
                           bool is_committed = false);
/// Drops a reference; with the last one the handle ends. Requires a live derived one without
/// attributes. Communication that uses it goes on.
void drop_datatype(Rank& rank, MPI_Datatype handle);

/// What another type that is made of this one has to remember. Requires a live handle.
TypeSource source_of(const RankAccess& rank, MPI_Datatype handle);

/// Name and attributes, also of predefined types, which keep them per rank.
TypeNotes& notes_of(Rank& rank, MPI_Datatype handle);

}  // namespace headway::object

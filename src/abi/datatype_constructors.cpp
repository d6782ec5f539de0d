// SPDX-License-Identifier: Apache-2.0
// Constructors of datatypes (MPI-5.0 sections 5.1.2 and 5.1.7): repetitions, blocks, new bounds,
// duplicates. Those for arrays are in array_constructors.cpp.
#include <vector>

#include "abi/datatype_record.hpp"
#include "abi_calls.hpp"

namespace headway::abi {
namespace {

using data::Layout;
using data::LayoutBlock;
using object::CountArray;

const Layout& layout_of(Call& call, MPI_Datatype datatype)
{
    return *type_of(call, datatype).layout;
}

Layout::Pointer vector_layout(const Layout& element, MPI_Count count, MPI_Count blocklength,
                              MPI_Count stride_bytes)
{
    return data::make_vector(static_cast<std::uint64_t>(count),
                             static_cast<std::uint64_t>(blocklength), stride_bytes, element);
}

/// Blocks of one element type. `length_of` and `displacement_of` answer for a block; the latter in
/// units of `unit` bytes.
template <typename LengthOf, typename DisplacementOf>
Layout::Pointer blocks_layout(const Layout& element, MPI_Count count, std::int64_t unit,
                              const LengthOf& length_of, const DisplacementOf& displacement_of)
{
    std::vector<LayoutBlock> blocks(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        blocks[i].layout = &element;
        blocks[i].length = static_cast<std::uint64_t>(length_of(i));
        if (__builtin_mul_overflow(displacement_of(i), unit, &blocks[i].displacement)) {
            return nullptr;
        }
    }
    return data::make_struct(blocks);
}

// Blocks are described by lists of counts or of addresses, or by one value for all. Displacements
// are counts of elements or addresses.

auto entries_of(const CountArray& values)
{
    return [&values](std::size_t i) { return values[i]; };
}

auto entries_of(const MPI_Count addresses[])
{
    return [addresses](std::size_t i) { return addresses[i]; };
}

auto entries_of(MPI_Count value)
{
    return [value](std::size_t) { return value; };
}

void write_down(RecordWriter& record, const CountArray& values, MPI_Count count)
{
    record.counts(values, count);
}

void write_down(RecordWriter& record, const MPI_Count addresses[], MPI_Count count)
{
    record.addresses(addresses, count);
}

void write_down(RecordWriter& record, MPI_Count value, MPI_Count)
{
    record.count(value);
}

std::int64_t unit_of(const CountArray&, const Layout& element)
{
    return element.extent;
}

std::int64_t unit_of(const MPI_Count[], const Layout&)
{
    return 1;
}

template <typename Lengths, typename Displacements>
int make_blocks(Call& call, int combiner, MPI_Count count, const Lengths& lengths,
                const Displacements& displacements, MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    const Layout& element = layout_of(call, oldtype);
    RecordWriter record(call, combiner);
    record.count(count);
    write_down(record, lengths, count);
    write_down(record, displacements, count);
    return record.source(oldtype).make(
        blocks_layout(element, count, unit_of(displacements, element), entries_of(lengths),
                      entries_of(displacements)),
        newtype);
}

}  // namespace

namespace call {

int Type_contiguous(Call& call, MPI_Count count, MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    return RecordWriter(call, MPI_COMBINER_CONTIGUOUS)
        .count(count)
        .source(oldtype)
        .make(vector_layout(layout_of(call, oldtype), 1, count, 0), newtype);
}

int Type_vector(Call& call, MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    const Layout& element = layout_of(call, oldtype);
    std::int64_t stride_bytes = 0;
    const bool is_too_far = __builtin_mul_overflow(stride, element.extent, &stride_bytes);
    return RecordWriter(call, MPI_COMBINER_VECTOR)
        .count(count)
        .count(blocklength)
        .count(stride)
        .source(oldtype)
        .make(is_too_far ? nullptr : vector_layout(element, count, blocklength, stride_bytes),
              newtype);
}

int Type_create_hvector(Call& call, MPI_Count count, MPI_Count blocklength, MPI_Count stride,
                        MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    return RecordWriter(call, MPI_COMBINER_HVECTOR)
        .count(count)
        .count(blocklength)
        .address(stride)
        .source(oldtype)
        .make(vector_layout(layout_of(call, oldtype), count, blocklength, stride), newtype);
}

int Type_indexed(Call& call, MPI_Count count, CountArray array_of_blocklengths,
                 CountArray array_of_displacements, MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    return make_blocks(call, MPI_COMBINER_INDEXED, count, array_of_blocklengths,
                       array_of_displacements, oldtype, newtype);
}

int Type_create_hindexed(Call& call, MPI_Count count, CountArray array_of_blocklengths,
                         const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                         MPI_Datatype* newtype)
{
    return make_blocks(call, MPI_COMBINER_HINDEXED, count, array_of_blocklengths,
                       array_of_displacements, oldtype, newtype);
}

int Type_create_indexed_block(Call& call, MPI_Count count, MPI_Count blocklength,
                              CountArray array_of_displacements, MPI_Datatype oldtype,
                              MPI_Datatype* newtype)
{
    return make_blocks(call, MPI_COMBINER_INDEXED_BLOCK, count, blocklength, array_of_displacements,
                       oldtype, newtype);
}

int Type_create_hindexed_block(Call& call, MPI_Count count, MPI_Count blocklength,
                               const MPI_Count array_of_displacements[], MPI_Datatype oldtype,
                               MPI_Datatype* newtype)
{
    return make_blocks(call, MPI_COMBINER_HINDEXED_BLOCK, count, blocklength,
                       array_of_displacements, oldtype, newtype);
}

int Type_create_struct(Call& call, MPI_Count count, CountArray array_of_blocklengths,
                       const MPI_Count array_of_displacements[],
                       const MPI_Datatype array_of_types[], MPI_Datatype* newtype)
{
    RecordWriter record(call, MPI_COMBINER_STRUCT);
    record.count(count)
        .counts(array_of_blocklengths, count)
        .addresses(array_of_displacements, count);
    std::vector<LayoutBlock> blocks(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        blocks[i] = {&layout_of(call, array_of_types[i]), array_of_displacements[i],
                     static_cast<std::uint64_t>(array_of_blocklengths[i])};
        record.source(array_of_types[i]);
    }
    return record.make(data::make_struct(blocks), newtype);
}

int Type_create_resized(Call& call, MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent,
                        MPI_Datatype* newtype)
{
    return RecordWriter(call, MPI_COMBINER_RESIZED)
        .address(lb)
        .address(extent)
        .source(oldtype)
        .make(data::make_resized(layout_of(call, oldtype), lb, extent), newtype);
}

int Type_dup(Call& call, MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    const auto* const old = object::find_derived_datatype(call.rank(), oldtype);
    const bool is_committed = old == nullptr || old->is_committed;
    MPI_Datatype made = MPI_DATATYPE_NULL;
    const int error = RecordWriter(call, MPI_COMBINER_DUP)
                          .source(oldtype)
                          .make(type_of(call, oldtype).layout, &made);
    if (error != MPI_SUCCESS) {
        return error;
    }
    object::Rank& rank = rank_of(call);
    object::DerivedDatatype& copy = *object::find_derived_datatype(rank, made);
    copy.is_committed = is_committed;
    const int code = object::copy_attributes(object::notes_of(rank, oldtype).attributes, oldtype,
                                             copy.notes.attributes);
    if (code != MPI_SUCCESS) {
        static_cast<void>(object::delete_attributes(copy.notes.attributes, made));
        object::drop_datatype(rank, made);
        return call.fail(code, "the copy callback of an attribute answered %d", code);
    }
    *newtype = made;
    return MPI_SUCCESS;
}

}  // namespace call
}  // namespace headway::abi

// SPDX-License-Identifier: Apache-2.0
// Datatypes for parts of arrays (MPI-5.0 sections 5.1.3 and 5.1.4).
#include <algorithm>
#include <optional>
#include <vector>

#include "abi/datatype_record.hpp"
#include "abi_calls.hpp"
#include "data/array_layout.hpp"

namespace headway::abi {
namespace {

using data::DealtDimension;
using data::SubarrayDimension;
using object::CountArray;

/// MPI_SUCCESS if order and number of dimensions can be used.
int check_shape(Call& call, int ndims, int order)
{
    if (ndims < 1) {
        return call.fail(MPI_ERR_ARG, "argument ndims is %d; an array has at least 1 dimension",
                         ndims);
    }
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN) {
        return call.fail(MPI_ERR_ARG, "argument order is %d; use MPI_ORDER_C or MPI_ORDER_FORTRAN",
                         order);
    }
    return MPI_SUCCESS;
}

/// The builders want the dimension first that varies fastest.
template <typename Dimension>
void put_fastest_first(std::vector<Dimension>& dimensions, int order)
{
    if (order == MPI_ORDER_C) {
        std::reverse(dimensions.begin(), dimensions.end());
    }
}

/// How a dimension of a distributed array is dealt out, as the caller names it.
struct Distribution {
    int dimension = 0;
    MPI_Count size = 0;
    int kind = MPI_DISTRIBUTE_NONE;
    int argument = MPI_DISTRIBUTE_DFLT_DARG;
    int processes = 1;
    int coordinate = 0;
};

int fail_for_distribution(Call& call, const Distribution& given)
{
    return call.fail(MPI_ERR_ARG,
                     "dimension %d (%lld elements, distribution %d, argument %d, %d processes) "
                     "cannot be distributed like that",
                     given.dimension, static_cast<long long>(given.size), given.kind,
                     given.argument, given.processes);
}

/// None where the arguments contradict each other.
std::optional<DealtDimension> dealt(const Distribution& given)
{
    const bool is_default = given.argument == MPI_DISTRIBUTE_DFLT_DARG;
    if (given.size < 1 || (!is_default && given.argument < 1)) {
        return std::nullopt;
    }
    DealtDimension result{given.size, 1, given.processes, given.coordinate};
    switch (given.kind) {
        case MPI_DISTRIBUTE_NONE:
            result.block = given.size;
            return given.processes == 1 ? std::optional(result) : std::nullopt;
        case MPI_DISTRIBUTE_BLOCK:
            result.block = is_default ? (given.size + given.processes - 1) / given.processes
                                      : MPI_Count{given.argument};
            // A block distribution deals once round.
            return (given.size + result.block - 1) / result.block <= given.processes
                       ? std::optional(result)
                       : std::nullopt;
        case MPI_DISTRIBUTE_CYCLIC:
            result.block = is_default ? 1 : MPI_Count{given.argument};
            return result;
        default:
            return std::nullopt;
    }
}

/// Place of a process in the grid of `psizes`, which is in C order whatever the array's is.
std::vector<int> coordinates_of(int rank, const int psizes[], int ndims)
{
    std::vector<int> coordinates(static_cast<std::size_t>(ndims));
    for (std::size_t i = coordinates.size(); i-- > 0;) {
        coordinates[i] = rank % psizes[i];
        rank /= psizes[i];
    }
    return coordinates;
}

int check_grid(Call& call, int size, int rank, const int psizes[], int ndims)
{
    MPI_Count processes = 1;
    for (int i = 0; i < ndims; ++i) {
        if (psizes[i] < 1 || __builtin_mul_overflow(processes, psizes[i], &processes)) {
            return call.fail(MPI_ERR_ARG, "entry %d of argument array_of_psizes is %d", i,
                             psizes[i]);
        }
    }
    if (processes != size) {
        return call.fail(MPI_ERR_ARG, "the grid of array_of_psizes has %lld processes, size is %d",
                         static_cast<long long>(processes), size);
    }
    if (rank < 0 || rank >= size) {
        return call.fail(MPI_ERR_RANK, "argument rank is %d; use 0 to %d", rank, size - 1);
    }
    return MPI_SUCCESS;
}

}  // namespace

namespace call {

int Type_create_subarray(Call& call, int ndims, CountArray array_of_sizes,
                         CountArray array_of_subsizes, CountArray array_of_starts, int order,
                         MPI_Datatype oldtype, MPI_Datatype* newtype)
{
    if (const int error = check_shape(call, ndims, order); error != MPI_SUCCESS) {
        return error;
    }
    std::vector<SubarrayDimension> dimensions(static_cast<std::size_t>(ndims));
    for (std::size_t i = 0; i < dimensions.size(); ++i) {
        const SubarrayDimension part{array_of_sizes[i], array_of_subsizes[i], array_of_starts[i]};
        if (part.part_size < 1 || part.part_size > part.size ||
            part.start > part.size - part.part_size) {
            return call.fail(MPI_ERR_ARG,
                             "dimension %zu has %lld elements; a part of %lld from %lld on is not "
                             "within",
                             i, static_cast<long long>(part.size),
                             static_cast<long long>(part.part_size),
                             static_cast<long long>(part.start));
        }
        dimensions[i] = part;
    }
    put_fastest_first(dimensions, order);
    return RecordWriter(call, MPI_COMBINER_SUBARRAY)
        .integer(ndims)
        .counts(array_of_sizes, ndims)
        .counts(array_of_subsizes, ndims)
        .counts(array_of_starts, ndims)
        .integer(order)
        .source(oldtype)
        .make(data::make_subarray(dimensions, *type_of(call, oldtype).layout), newtype);
}

int Type_create_darray(Call& call, int size, int rank, int ndims, CountArray array_of_gsizes,
                       const int array_of_distribs[], const int array_of_dargs[],
                       const int array_of_psizes[], int order, MPI_Datatype oldtype,
                       MPI_Datatype* newtype)
{
    int error = check_shape(call, ndims, order);
    if (error == MPI_SUCCESS) {
        error = check_grid(call, size, rank, array_of_psizes, ndims);
    }
    if (error != MPI_SUCCESS) {
        return error;
    }
    const std::vector<int> coordinates = coordinates_of(rank, array_of_psizes, ndims);
    std::vector<DealtDimension> dimensions;
    for (std::size_t i = 0; i < coordinates.size(); ++i) {
        const Distribution given{static_cast<int>(i), array_of_gsizes[i], array_of_distribs[i],
                                 array_of_dargs[i],   array_of_psizes[i], coordinates[i]};
        const auto dimension = dealt(given);
        if (!dimension) {
            return fail_for_distribution(call, given);
        }
        dimensions.push_back(*dimension);
    }
    put_fastest_first(dimensions, order);
    return RecordWriter(call, MPI_COMBINER_DARRAY)
        .integer(size)
        .integer(rank)
        .integer(ndims)
        .counts(array_of_gsizes, ndims)
        .integers(array_of_distribs, ndims)
        .integers(array_of_dargs, ndims)
        .integers(array_of_psizes, ndims)
        .integer(order)
        .source(oldtype)
        .make(data::make_dealt_array(dimensions, *type_of(call, oldtype).layout), newtype);
}

}  // namespace call
}  // namespace headway::abi

// SPDX-License-Identifier: Apache-2.0
#include "object/operator.hpp"

#include <utility>

#include "object/handle.hpp"

namespace headway::object {

void drop_operator(UserOperator* op)
{
    // (1) acq_rel, pairs with itself: who drops the last one is behind all that others did.
    if (op->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete op;
    }
}

std::optional<data::ReduceOperator> find_predefined_operator(MPI_Op handle) noexcept
{
    using data::ReduceOperator;
    static const std::pair<MPI_Op, ReduceOperator> known[] = {
        {MPI_SUM, ReduceOperator::sum},
        {MPI_MAX, ReduceOperator::max},
        {MPI_MIN, ReduceOperator::min},
        {MPI_PROD, ReduceOperator::product},
        {MPI_LAND, ReduceOperator::logical_and},
        {MPI_LOR, ReduceOperator::logical_or},
        {MPI_LXOR, ReduceOperator::logical_xor},
        {MPI_BAND, ReduceOperator::bitwise_and},
        {MPI_BOR, ReduceOperator::bitwise_or},
        {MPI_BXOR, ReduceOperator::bitwise_xor},
        {MPI_MAXLOC, ReduceOperator::max_location},
        {MPI_MINLOC, ReduceOperator::min_location},
    };
    for (const auto& [candidate, op] : known) {
        if (candidate == handle) {
            return op;
        }
    }
    return std::nullopt;
}

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
// Operators of reductions (MPI-5.0 section 6.9.5).
#include "abi/message_calls.hpp"
#include "abi_calls.hpp"
#include "object/operator.hpp"

namespace headway::abi::call {

int Op_create(Call& call, EitherFunction<MPI_User_function, MPI_User_function_c> user_fn,
              int commute, MPI_Op* op)
{
    auto* made = new object::UserOperator{user_fn.narrow, user_fn.wide, commute != 0};
    *op = rank_of(call).pool().acquire<MPI_Op>(made);
    return MPI_SUCCESS;
}

int Op_free(Call& call, MPI_Op* op)
{
    auto* user = call.rank().handles->find<object::UserOperator>(*op);
    if (user == nullptr) {
        return call.fail(MPI_ERR_OP, "a predefined operator cannot be freed");
    }
    rank_of(call).pool().release(*op);
    *op = MPI_OP_NULL;
    object::drop_operator(user);
    return MPI_SUCCESS;
}

int Op_commutative(Call& call, MPI_Op op, int* commute)
{
    const auto* user = call.rank().handles->find<object::UserOperator>(op);
    // Of the predefined ones only MPI_REPLACE is not commutative (MPI-5.0 section 12.3.4).
    *commute = user != nullptr ? (user->is_commutative ? 1 : 0) : (op != MPI_REPLACE ? 1 : 0);
    return MPI_SUCCESS;
}

}  // namespace headway::abi::call

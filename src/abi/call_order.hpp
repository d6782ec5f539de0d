// SPDX-License-Identifier: Apache-2.0
// What HEADWAY_CHECK=collectives asks of every call that is collective.
#pragma once

#include "abi/message_calls.hpp"
#include "base/diagnostics.hpp"
#include "object/call_order.hpp"
#include "object/collective.hpp"
#include "object/process.hpp"

namespace headway::abi {

/// The slow half of check_order(). `number`: the call's on its communicator, from 1 on.
[[gnu::cold]] int compare_order(Call& call, object::Communicator& comm,
                                const object::CollectiveCall* collective, std::uint64_t* number);

/// Fails where another member has made another call of its turn. `collective`: null for calls that
/// make or free communicators.
inline int check_order(Call& call, object::Communicator& comm,
                       const object::CollectiveCall* collective = nullptr)
{
    if (!base::has_diagnostics || rank_of(call).process().call_order() == nullptr) [[likely]] {
        return MPI_SUCCESS;
    }
    std::uint64_t number = 0;
    return compare_order(call, comm, collective, &number);
}

}  // namespace headway::abi

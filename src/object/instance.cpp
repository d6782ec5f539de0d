// SPDX-License-Identifier: Apache-2.0
#include "object/instance.hpp"

#include "object/message.hpp"
#include "object/rank.hpp"
#include "object/request.hpp"

namespace headway::object {

Instance* instance_of(RankAccess& rank, MPI_Comm comm) noexcept
{
    const Communicator* const found = find_communicator(rank, comm);
    return found != nullptr ? &found->instance() : rank.first_instance;
}

Instance* instance_of(RankAccess& rank, MPI_Comm comm, int tag) noexcept
{
    const Communicator* const found = find_communicator(rank, comm);
    return found != nullptr ? &found->instance_for(tag) : rank.first_instance;
}

Instance* instance_of(RankAccess& access, const MPI_Request* requests, int count) noexcept
{
    Rank& rank = as_rank(access);
    for (int i = 0; requests != nullptr && i < count; ++i) {
        if (const engine::Op* const op = find_request(rank, requests[i]); op != nullptr) {
            return &rank.instance_of(*op);
        }
    }
    return rank.first_instance;
}

Instance* instance_of(RankAccess& rank, const MPI_Message* message) noexcept
{
    const Message* const found =
        message != nullptr ? find_message(as_rank(rank), *message) : nullptr;
    return found != nullptr ? found->instance : rank.first_instance;
}

}  // namespace headway::object

// SPDX-License-Identifier: Apache-2.0
#include "object/message.hpp"

#include "object/rank.hpp"

namespace headway::object {

MPI_Message make_message(Instance& instance, Communicator& communicator,
                         protocol::Unexpected* found)
{
    auto* message = new Message{found, &communicator, &instance};
    const auto handle = instance.pool->acquire<MPI_Message>(message);
    if (bits_of(handle) == 0) {
        delete message;
        return MPI_MESSAGE_NULL;
    }
    communicator.add_reference();
    return handle;
}

Message* find_message(const Rank& rank, MPI_Message handle) noexcept
{
    return rank.handles->find<Message>(handle);
}

void finish_message(MPI_Message* handle, Message* message)
{
    message->instance->pool->release(*handle);
    *handle = MPI_MESSAGE_NULL;
    message->communicator->drop_reference();
    delete message;
}

}  // namespace headway::object

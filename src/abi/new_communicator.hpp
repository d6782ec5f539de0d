// SPDX-License-Identifier: Apache-2.0
// What the calls that make communicators share.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "abi/message_calls.hpp"

namespace headway::abi {

/// Whether a new communicator of this rank can have the context that its members agreed on; nothing
/// stands for an exhausted node heap, 0 for a leader that has none left. Returns the class.
int check_context(Call& call, std::optional<std::uint32_t> context);

/// The communicator that a call makes: gone again unless the call comes to its end.
class NewCommunicator {
  public:
    /// Null inside, and the call failed, where the node heap is exhausted. The error handler is the
    /// parent's.
    NewCommunicator(Call& call, const object::Communicator& parent, std::uint32_t context,
                    const std::vector<int>& members);
    NewCommunicator(Call& call, const object::Communicator& parent, std::uint32_t context,
                    const object::TwoGroups& groups);
    /// Of the same groups as `parent`.
    NewCommunicator(Call& call, const object::Communicator& parent, std::uint32_t context);
    ~NewCommunicator();
    NewCommunicator(const NewCommunicator&) = delete;
    NewCommunicator& operator=(const NewCommunicator&) = delete;

    object::Communicator* get() const noexcept { return made_; }
    MPI_Comm release() noexcept { return std::exchange(made_, nullptr)->handle(); }

  private:
    void take_parent(Call& call, const object::Communicator& parent);

    object::Communicator* made_;
};

/// Makes the communicator of which this rank is a member, once its context is settled.
int create_communicator(Call& call, const object::Communicator& parent,
                        std::optional<std::uint32_t> context, const std::vector<int>& members,
                        MPI_Comm* newcomm,
                        std::shared_ptr<const object::Topology> topology = nullptr);
int create_communicator(Call& call, const object::Communicator& parent,
                        std::optional<std::uint32_t> context, const object::TwoGroups& groups,
                        MPI_Comm* newcomm);

/// A number for the string by which processes that make a communicator from a group know each
/// other. Strings that differ may give one number: what is told apart by it keeps its order anyway.
int tag_of_text(const char* text) noexcept;

/// Makes a communicator of a group without a parent; only its members call. `tag` tells it from
/// others under way. The error handler is MPI_ERRORS_ARE_FATAL.
int create_from_group(Call& call, const object::Group& group, int tag, MPI_Comm* newcomm);

/// MPI_Comm_split, whose new communicator gets a topology.
int split_communicator(Call& call, object::Communicator& comm, int color, int key,
                       MPI_Comm* newcomm,
                       const std::shared_ptr<const object::Topology>& topology = nullptr);
/// The same within a call whose turn has been checked (check_order).
int split_in_turn(Call& call, object::Communicator& comm, int color, int key, MPI_Comm* newcomm,
                  const std::shared_ptr<const object::Topology>& topology = nullptr);

}  // namespace headway::abi

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include <mpi.h>

#include "config/knobs.hpp"
#include "object/handle.hpp"

namespace headway::object {

struct RankAccess;

/// What happens when a call fails. The predefined three are `predefined_error_handler()`; others
/// live behind handles and stay while an object has them.
class ErrorHandler {
  public:
    enum class Action : std::uint8_t { fatal, abort, give_back, user };
    /// Which objects may have it; the predefined ones suit all.
    enum class Suits : std::uint8_t { all, communicator, window, file, session };

    constexpr ErrorHandler(Action action, HandleBits handle_bits) noexcept
        : action_(action), handle_bits_(handle_bits)
    {
    }
    explicit ErrorHandler(MPI_Comm_errhandler_function* function) noexcept
        : action_(Action::user), suits_(Suits::communicator), communicator_function_(function)
    {
    }
    explicit ErrorHandler(MPI_Session_errhandler_function* function) noexcept
        : action_(Action::user), suits_(Suits::session), session_function_(function)
    {
    }

    Action action() const noexcept { return action_; }
    Suits suits() const noexcept { return suits_; }
    bool is_for(Suits objects) const noexcept { return suits_ == Suits::all || suits_ == objects; }
    /// Requires a user's handler for communicators.
    MPI_Comm_errhandler_function* communicator_function() const noexcept
    {
        return communicator_function_;
    }
    /// Requires a user's handler for sessions.
    MPI_Session_errhandler_function* session_function() const noexcept { return session_function_; }

    /// Handles that users hold of this object: all are one value, valid until the last is freed.
    /// Requires the lock of the rank's AnyTimePart.
    int user_handles = 0;

    MPI_Errhandler handle() const noexcept { return handle_from<MPI_Errhandler>(handle_bits_); }
    void set_handle(MPI_Errhandler handle) noexcept { handle_bits_ = bits_of(handle); }

    /// One reference for the user's handle and one for each object that has it. The predefined
    /// ones are not counted. Any thread.
    void add_reference() noexcept
    {
        // relaxed: whoever adds one holds one.
        references_.fetch_add(1, std::memory_order_relaxed);
    }
    /// True when it was the last: the caller then destroys it.
    bool drop_reference() noexcept
    {
        // (3) acq_rel, pairs with itself: the last one sees what the others did before.
        return references_.fetch_sub(1, std::memory_order_acq_rel) == 1;
    }

  private:
    Action action_;
    Suits suits_ = Suits::all;
    HandleBits handle_bits_ = 0;
    union {
        MPI_Comm_errhandler_function* communicator_function_ = nullptr;
        MPI_Session_errhandler_function* session_function_;
    };
    std::atomic<std::uint32_t> references_{1};
};

/// MPI_ERRORS_ARE_FATAL, _ABORT or _RETURN as objects, shared by all ranks of the process and never
/// changed; null for anything else.
ErrorHandler* predefined_error_handler(HandleBits bits) noexcept;

/// What predefined communicators have at first, and errors meet that belong to no object (MPI-5.0
/// section 9.3); `rank`: null where MPI is not initialized.
ErrorHandler* initial_error_handler(RankAccess* rank);
/// The word by which mpiexec is told of it.
std::string_view name_of_handler(config::InitialErrhandlerChoice choice) noexcept;

}  // namespace headway::object
